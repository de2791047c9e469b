'use strict'

// Answers the requests of a viewer: who may ask, which file or which answer, and how much at a time.

const { format, optionNames } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')
const { Decoder } = require('../decoding/decoder')
const { written } = require('./events')
const { Parameters } = require('./parameters')
const { ANSWERS, SCANS } = require('./routes')
const { JSON_TYPE, prepare, sendAsset, sendError, writeHead } = require('./responses')
const { Rows } = require('../log/rows')
const { LOOPBACK, mustBeFromHere, mustBeShort, mustHaveToken } = require('./safety')
const { Turns } = require('./turns')
const { ViewedLog } = require('../log/viewed-log')

/**
 * @typedef {import('http').IncomingMessage} Request
 * @typedef {import('http').ServerResponse} Response
 * @typedef {import('../types').ViewOptions} ViewOptions
 */

const checkNames = optionNames('view', ['prefix', 'token', 'hosts', 'encoding', 'codec', 'time', 'maxScans'])

/** Answers that are made at a time, each of some MB at most, and those that wait for that. */
const MAX_ANSWERS = 4
const MAX_WAITING = 64
const MAX_SCANS = 4
/** @typedef {{ answer: Turns, scan: Turns }} AllTurns */

class Handler {
  /**
   * @param {unknown} log
   * @param {ViewOptions} options
   * @param {{ file?: string, turns?: AllTurns }} [place] file: what tells the log's file from others that may take its place; turns: those of all
   *   logs of a list
   * @throws flumelog:invalid
   */
  constructor (log, options, { file, turns } = {}) {
    checkNames(options)
    const { prefix, token, hosts = LOOPBACK, encoding, codec, time, maxScans = MAX_SCANS } = options
    if (prefix !== undefined && (typeof prefix !== 'string' || !/^(\/[\w.~-]+)*$/.test(prefix))) throw errors.invalid(`prefix must be a path such as /log; it is ${format(prefix)}`)
    if (token !== undefined && (typeof token !== 'string' || !/^[\w-]{16,}$/.test(token))) throw errors.invalid('token must be 16 or more letters, digits, - or _')
    if (hosts !== null && !Array.isArray(hosts)) throw errors.invalid(`hosts must be an array of names, or null; it is ${format(hosts)}`)
    if (time !== undefined && typeof time !== 'function') throw errors.invalid(`time must be a function; it is ${format(time)}`)
    if (codec !== undefined && typeof codec?.decode !== 'function') throw errors.invalid(`codec must have a function decode; it is ${format(codec)}`)
    if (!Number.isInteger(maxScans) || maxScans < 1) throw errors.invalid(`maxScans must be an integer of 1 or more; it is ${format(maxScans)}`)
    this.log = new ViewedLog(log, file, turns !== undefined)
    this.rows = new Rows(this.log, new Decoder({ encoding, codec: codec ?? this.log.codec ?? undefined, time }))
    this.prefix = prefix
    this.token = token
    this.hosts = hosts
    this.turns = turns ?? newTurns(maxScans)
  }

  /**
   * @param {Request} request
   * @param {Response} response
   */
  handle (request, response) {
    prepare(response)
    this.answer(request, response).catch(err => sendError(request, response, err, this.log.messageOf(err)))
  }

  /**
   * @param {Request} request
   * @param {Response} response
   */
  async answer (request, response) {
    mustBeFromHere(request, this.hosts)
    const { path, address, search } = this.locate(request)
    // the page's own addresses are relative: without the slash, they would lead elsewhere
    if ((path === '' || path === '/') && !address.endsWith('/')) return redirect(response, `./${address.slice(address.lastIndexOf('/') + 1)}/${search === '' ? '' : `?${search}`}`)
    const [, name] = /^\/api\/(\w+)$/.exec(path) ?? []
    if (name !== undefined) return await this.answerApi(name, new URLSearchParams(search), request, response)
    await sendAsset(request, response, path === '/' ? 'index.html' : path.slice(1))
  }

  /**
   * @param {Request & { originalUrl?: string }} request routers keep in `originalUrl` the address as the browser has asked for it
   * @returns {{ path: string, address: string, search: string }} path: below the prefix; address: all of the path; search: what follows `?`
   */
  locate ({ url = '/', originalUrl = url }) {
    mustBeShort(originalUrl)
    const [path, search] = /** @type {string[]} */ (/^([^?]*)\??(.*)$/s.exec(url)).slice(1)
    const address = originalUrl.replace(/\?.*$/s, '')
    const { prefix = '' } = this
    if (path === prefix || path.startsWith(`${prefix}/`)) return { path: path.slice(prefix.length), address, search }
    // a router has taken its part of the path away
    if (originalUrl !== url) return { path, address, search }
    throw errors.refusal(404, 'not-found', 'there is nothing at this address')
  }

  /**
   * @param {string} name
   * @param {URLSearchParams} search
   * @param {Request} request
   * @param {Response} response
   */
  async answerApi (name, search, request, response) {
    const kind = Object.hasOwn(ANSWERS, name) ? 'answer' : Object.hasOwn(SCANS, name) ? 'scan' : null
    if (kind === null) throw errors.refusal(404, 'not-found', 'there is nothing at this address')
    if (request.method === 'HEAD') throw errors.refusal(405, 'method', 'only GET is answered')
    if (this.token !== undefined) mustHaveToken(request, search, this.token)
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const wasTaken = await this.turns[kind].take(async () => {
      if (gone.signal.aborted) return
      await this.log.ready()
      await this.rows.detectEncoding()
      const { decoder } = this.rows
      const parameters = new Parameters(search)
      const given = parameters.text('encoding')
      const encoding = given === null ? decoder.encoding ?? 'json' : decoder.check(given)
      const asked = { rows: this.rows, parameters, encoding, gone: gone.signal }
      if (kind === 'scan') return await SCANS[name](asked, response)
      const answer = await ANSWERS[name](asked)
      const body = typeof answer === 'string' ? answer : JSON.stringify(answer)
      writeHead(response, 200, JSON_TYPE, body)
      // it takes memory until it is read
      await written(response, body, gone.signal)
      response.end()
    })
    if (wasTaken) return
    response.setHeader('retry-after', '1')
    throw errors.refusal(503, 'busy', kind === 'scan' ? `${this.turns.scan.limits.running} scans are running: stop one` : 'too many requests at a time')
  }
}

/**
 * @param {number} [maxScans]
 * @returns {AllTurns}
 */
function newTurns (maxScans = MAX_SCANS) {
  return { answer: new Turns({ running: MAX_ANSWERS, waiting: MAX_WAITING }), scan: new Turns({ running: maxScans, waiting: 0 }) }
}

/**
 * @param {Response} response
 * @param {string} address
 */
function redirect (response, address) {
  response.writeHead(302, { location: address, 'cache-control': 'no-store' })
  response.end()
}

module.exports = { Handler, newTurns }
