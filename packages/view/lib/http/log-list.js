'use strict'

// Several logs in one server: a list of them, and each below a path of its own.

const fs = require('fs')
const path = require('path')
const { explain, realPath } = require('flumelog-random-access-file/command')
const { assetOf } = require('./assets')
const errors = require('../errors')
const { newTurns } = require('./handler')
const { cursorsOf } = require('../log/numbers')
const { JSON_TYPE, prepare, sendAsset, sendError, writeHead } = require('./responses')
const { mustBeFromHere, mustBeShort, mustHaveToken } = require('./safety')
const { ShownFile } = require('../commands/shown-file')
const { Turns } = require('./turns')
const { codeOf } = require('../log/viewed-log')

/** Each has files that are open, and a cache. */
const MAX_LOGS = 100
/** Requests for the list that wait for an earlier one. */
const MAX_WAITING = 64
/** What the files beside a log add to its name. */
const BESIDE = /\.(meta|cursor-[\w-]+|unfinished|offset-map|cut-\d+|new)(\.|$)/

/**
 * @typedef {{ size: number, written: number, cursors: object[] }} State written: when the file was written last, in milliseconds since 1970
 * @typedef {{ file: string, name: string, address: string, shown: ShownFile, state: State | null, error: unknown }} Entry state: null if it cannot be read
 */

class LogList {
  /**
   * @param {string[]} names of logs, and of folders
   * @param {import('../types').ViewOptions & { token: string, hosts: string[] }} options
   */
  constructor (names, options) {
    this.names = [...new Set(names.map(name => path.resolve(name)))]
    this.options = options
    /** Of all logs together. */
    this.turns = newTurns()
    /** Of the list: it is made once at a time. */
    this.listing = new Turns({ running: 1, waiting: MAX_WAITING })
    /** @type {Entry[]} */
    this.entries = []
    /** Whether there are more than are shown. */
    this.isCut = false
  }

  /** @returns {Promise<void>} looks for the logs; also if some cannot be read: the list says why */
  async open () {
    const files = await this.find()
    /** @type {Entry[]} */
    const entries = []
    const unlisted = new Set(this.entries.map(({ shown }) => shown))
    this.isCut = false
    for (const { file, isNamed } of files) {
      const shown = this.entries.find(entry => entry.file === file)?.shown ?? new ShownFile(file, this.options, this.turns)
      const entry = { file, name: '', address: '', shown, ...await stateOf(shown).then(state => ({ state, error: null }), error => ({ state: null, error })) }
      if (!isNamed && !isLog(entry)) {
        // at once: a folder may have any number of empty files
        await shown.close()
        unlisted.delete(shown)
        continue
      }
      unlisted.add(shown)
      this.isCut = entries.length === MAX_LOGS
      if (this.isCut) break
      entries.push(entry)
      unlisted.delete(shown)
    }
    for (const entry of entries) {
      entry.name = nameOf(entry, entries)
      entry.address = encodeURIComponent(entry.name)
    }
    this.entries = entries
    for (const shown of unlisted) await shown.close()
  }

  /** @returns {Promise<{ file: string, isNamed: boolean }[]>} isNamed: by the caller, and not found in a folder */
  async find () {
    /** @type {Map<string, { file: string, isNamed: boolean }>} */
    const found = new Map()
    for (const name of this.names) {
      // what is no folder, or cannot be looked into, says why when it is opened
      const inside = await fs.promises.readdir(name).catch(() => null)
      if (inside === null) found.set(name, { file: name, isNamed: true })
      for (const base of inside?.sort() ?? []) {
        const file = path.join(name, base)
        const [beside] = BESIDE.exec(base) ?? []
        const isBeside = beside !== undefined && inside?.includes(base.slice(0, base.indexOf(beside)))
        // opening a named pipe would wait for its other end
        if (!found.has(file) && !isBeside && (await fs.promises.stat(file).catch(() => null))?.isFile()) found.set(file, { file, isNamed: false })
      }
    }
    return [...found.values()]
  }

  /**
   * @param {import('http').IncomingMessage} request
   * @param {import('http').ServerResponse} response
   */
  handle (request, response) {
    prepare(response)
    this.answer(request, response).catch(err => sendError(request, response, err, err.message))
  }

  /**
   * @param {import('http').IncomingMessage & { originalUrl?: string }} request
   * @param {import('http').ServerResponse} response
   */
  async answer (request, response) {
    mustBeFromHere(request, this.options.hosts)
    const { url = '/' } = request
    mustBeShort(url)
    const [, address, search] = /** @type {RegExpExecArray} */ (/^([^?]*)\??(.*)$/s.exec(url))
    if (address === '/api/logs') return await this.answerList(new URLSearchParams(search), request, response)
    const [, own] = /^\/([^/]+)/.exec(address) ?? []
    const entry = this.entries.find(({ address }) => address === own)
    const file = address === '/' ? 'logs.html' : address.slice(1)
    // a log may be named as a file of the page is: what is below that name is the log's
    if (entry === undefined || await assetOf(file) !== null) return await sendAsset(request, response, file)
    const handler = await entry.shown.ready().catch(err => {
      mustHaveToken(request, new URLSearchParams(search), this.options.token)
      throw errors.refusal(503, codeOf(err) ?? 'failed', messageOf(err, entry))
    })
    // as routers do, for a handler that is mounted below a path
    request.originalUrl = url
    request.url = url.slice(1 + own.length)
    handler.handle(request, response)
  }

  /**
   * @param {URLSearchParams} search
   * @param {import('http').IncomingMessage} request
   * @param {import('http').ServerResponse} response
   */
  async answerList (search, request, response) {
    if (request.method === 'HEAD') throw errors.refusal(405, 'method', 'only GET is answered')
    mustHaveToken(request, search, this.options.token)
    const wasTaken = await this.listing.take(() => this.open())
    if (!wasTaken) {
      response.setHeader('retry-after', '1')
      throw errors.refusal(503, 'busy', 'too many requests at a time')
    }
    const logs = this.entries.map(entry => ({
      name: entry.name,
      address: `${entry.address}/`,
      ...(entry.state ?? { size: null, written: null, cursors: [] }),
      error: entry.state === null ? messageOf(entry.error, entry) : null
    }))
    const body = JSON.stringify({ logs, isCut: this.isCut })
    writeHead(response, 200, JSON_TYPE, body)
    response.end(body)
  }

  async close () {
    for (const { shown } of this.entries) await shown.close()
  }
}

/**
 * @param {ShownFile} shown
 * @returns {Promise<State>} rejects if it cannot be read
 */
async function stateOf (shown) {
  const { log } = await shown.ready()
  await log.ready()
  const { mtimeMs } = await fs.promises.stat(shown.file)
  return { size: log.end - log.start, written: mtimeMs, cursors: await cursorsOf(log) }
}

/**
 * @param {{ file: string, state: State | null, error: unknown }} entry of a file in a folder
 * @returns {boolean} whether it is a log, or one that cannot be read. An empty file is one only if it has metadata
 */
function isLog ({ file, state, error }) {
  if (state === null) return codeOf(error) !== 'flumelog:not-a-log'
  return state.size > 0 || fs.existsSync(`${file}.meta`)
}

/**
 * @param {{ file: string }} entry
 * @param {{ file: string }[]} entries
 * @returns {string} the base name; as many folders in front of it as tell it from the others
 */
function nameOf ({ file }, entries) {
  const parts = file.split(path.sep)
  let name = parts.pop() ?? file
  while (parts.length > 0 && entries.some(other => other.file !== file && `/${other.file.split(path.sep).join('/')}`.endsWith(`/${name}`))) name = `${parts.pop()}/${name}`
  return name
}

/**
 * @param {unknown} err
 * @param {{ file: string, name: string }} entry
 * @returns {string} without the path of the log, which viewers must not see
 */
function messageOf (err, { file, name }) {
  return explain(err, file).replaceAll(file, name).replaceAll(realPath(file), name)
}

module.exports = { LogList }
