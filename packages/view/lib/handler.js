'use strict'

// Answers the requests of a viewer: who may ask, which file or which answer, and how much at a time.

const { format, optionNames } = require('flumelog-random-access-file/blocks')
const errors = require('./errors')
const { assetOf } = require('./assets')
const { Decoder } = require('./decoder')
const { Parameters } = require('./parameters')
const { ANSWERS, LIVE, SCANS } = require('./routes')
const { Rows } = require('./rows')
const { HEADERS, LOOPBACK, cookieName, hasCookie, isToken, mustBeFromHere } = require('./safety')
const { ViewedLog, codeOf } = require('./viewed-log')

/**
 * @typedef {import('http').IncomingMessage} Request
 * @typedef {import('http').ServerResponse} Response
 * @typedef {import('./types').ViewOptions} ViewOptions
 */

const checkNames = optionNames('view', ['prefix', 'token', 'hosts', 'encoding', 'codec', 'time', 'maxScans'])

/** Answers that may be in preparation at a time. */
const MAX_ANSWERS = 64
const MAX_LIVE = 32
const MAX_SCANS = 4
/** Characters of an address. */
const MAX_URL = 8192

/** Status codes by what was wrong; others are 500. @type {Record<string, number>} */
const STATUS = {
  'flumelog:invalid': 400,
  'flumelog:not-found': 404,
  'flumelog:deleted': 404,
  'flumelog:trimmed': 404,
  'flumelog:compacted': 409,
  'flumelog:closed': 503
}

class Handler {
  /**
   * @param {unknown} log
   * @param {ViewOptions} options
   * @throws flumelog:invalid
   */
  constructor (log, options) {
    checkNames(options)
    const { prefix, token, hosts = LOOPBACK, encoding, codec, time, maxScans = MAX_SCANS } = options
    if (prefix !== undefined && (typeof prefix !== 'string' || !/^(\/[\w.~-]+)*$/.test(prefix))) throw errors.invalid(`prefix must be a path such as /log; it is ${format(prefix)}`)
    if (token !== undefined && (typeof token !== 'string' || !/^[\w-]{16,}$/.test(token))) throw errors.invalid('token must be 16 or more letters, digits, - or _')
    if (hosts !== null && !Array.isArray(hosts)) throw errors.invalid(`hosts must be an array of names, or null; it is ${format(hosts)}`)
    if (time !== undefined && typeof time !== 'function') throw errors.invalid(`time must be a function; it is ${format(time)}`)
    if (codec !== undefined && typeof codec?.decode !== 'function') throw errors.invalid(`codec must have a function decode; it is ${format(codec)}`)
    if (!Number.isInteger(maxScans) || maxScans < 1) throw errors.invalid(`maxScans must be an integer of 1 or more; it is ${format(maxScans)}`)
    this.log = new ViewedLog(log)
    this.rows = new Rows(this.log, new Decoder({ encoding, codec: codec ?? this.log.codec ?? undefined, time }))
    this.prefix = prefix
    this.token = token
    this.hosts = hosts
    /** What is running, by kind, and how much may. */
    this.running = { answer: 0, scan: 0, live: 0 }
    this.limits = { answer: MAX_ANSWERS, scan: maxScans, live: MAX_LIVE }
  }

  /**
   * @param {Request} request
   * @param {Response} response
   */
  handle (request, response) {
    // a reader that goes is no error
    response.on('error', () => {})
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
    this.answer(request, response).catch(err => this.refuse(request, response, err))
  }

  /**
   * @param {Request} request
   * @param {Response} response
   */
  async answer (request, response) {
    mustBeFromHere(request, this.hosts)
    const { prefix, path, search } = this.locate(request)
    if (path === '') return redirect(response, `${prefix}/`)
    if (this.token !== undefined && !this.mayEnter(request, response, { prefix, path, search })) return
    const [, name] = /^\/api\/(\w+)$/.exec(path) ?? []
    if (name !== undefined) return await this.answerApi(name, search, request, response)
    const asset = await assetOf(path === '/' ? 'index.html' : path.slice(1))
    if (asset === null) throw errors.refusal(404, 'not-found', 'there is nothing at this address')
    const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding']))
    const content = isZipped ? asset.zipped : asset.content
    response.writeHead(200, { 'content-type': asset.type, 'content-length': content.length, 'cache-control': 'no-cache', vary: 'accept-encoding', ...(isZipped && { 'content-encoding': 'gzip' }) })
    response.end(request.method === 'HEAD' ? undefined : content)
  }

  /**
   * @param {Request & { originalUrl?: string, baseUrl?: string }} request
   * @returns {{ prefix: string, path: string, search: URLSearchParams }} path: below the prefix
   */
  locate ({ url = '/', baseUrl = '' }) {
    if (url.length > MAX_URL) throw errors.refusal(414, 'too-long', `an address must have at most ${MAX_URL} characters`)
    const [path, search] = /** @type {string[]} */ (/^([^?]*)\??(.*)$/s.exec(url)).slice(1)
    const query = new URLSearchParams(search)
    // routers have taken their part of the path away
    if (baseUrl !== '' || this.prefix === undefined) return { prefix: baseUrl, path, search: query }
    if (path !== this.prefix && !path.startsWith(`${this.prefix}/`)) throw errors.refusal(404, 'not-found', 'there is nothing at this address')
    return { prefix: this.prefix, path: path.slice(this.prefix.length), search: query }
  }

  /**
   * @param {Request} request
   * @param {Response} response
   * @param {{ prefix: string, path: string, search: URLSearchParams }} location
   * @returns {boolean} whether the request is to be answered; false: it was
   * @throws what is to be answered
   */
  mayEnter (request, response, { prefix, path, search }) {
    const token = /** @type {string} */ (this.token)
    const given = search.get('token')
    if (path === '/' && given !== null && isToken(given, token)) {
      response.setHeader('set-cookie', `${cookieName(request)}=${token}; HttpOnly; SameSite=Strict; Path=${prefix === '' ? '/' : prefix}`)
      redirect(response, `${prefix}/`)
      return false
    }
    if (hasCookie(request, token)) return true
    throw errors.refusal(403, 'token', 'use the address that flumelog view has printed in its terminal: it ends with ?token=…, without which the log is not shown')
  }

  /**
   * @param {string} name
   * @param {URLSearchParams} search
   * @param {Request} request
   * @param {Response} response
   */
  async answerApi (name, search, request, response) {
    const kind = Object.hasOwn(ANSWERS, name) ? 'answer' : Object.hasOwn(SCANS, name) ? 'scan' : Object.hasOwn(LIVE, name) ? 'live' : null
    if (kind === null) throw errors.refusal(404, 'not-found', 'there is nothing at this address')
    if (request.method === 'HEAD') throw errors.refusal(405, 'method', 'only GET is answered')
    if (this.running[kind] >= this.limits[kind]) {
      response.setHeader('retry-after', '1')
      throw errors.refusal(503, 'busy', kind === 'scan' ? `${this.limits.scan} scans are running: stop one` : 'too many requests at a time')
    }
    this.running[kind]++
    try {
      await this.log.ready()
      await this.rows.detectEncoding()
      const { decoder } = this.rows
      const parameters = new Parameters(search)
      const given = parameters.text('encoding')
      const encoding = given === null ? decoder.encoding ?? 'json' : decoder.check(given)
      const gone = new AbortController()
      response.on('close', () => gone.abort())
      const asked = { rows: this.rows, parameters, encoding, gone: gone.signal }
      if (kind === 'answer') sendJson(response, 200, await ANSWERS[name](asked))
      else await (kind === 'scan' ? SCANS : LIVE)[name](asked, response)
    } finally {
      this.running[kind]--
    }
  }

  /**
   * @param {Request} request
   * @param {Response} response
   * @param {unknown} err
   */
  refuse (request, response, err) {
    // too late for a status: the reader learns that something is missing
    if (response.headersSent) return response.destroy()
    const { status, code } = /** @type {{ status?: number, code?: string }} */ (err)
    const answered = status ?? STATUS[codeOf(err) ?? ''] ?? 500
    const message = this.log.messageOf(err)
    // to be read by somebody who has opened the address
    if (/\btext\/html\b/.test(request.headers.accept ?? '') || !/\/api\//.test(request.url ?? '')) send(response, answered, 'text/plain; charset=utf-8', `${message}\n`)
    else sendJson(response, answered, { code: code ?? 'failed', message })
  }
}

/**
 * @param {Response} response
 * @param {number} status
 * @param {object | string} answer
 */
function sendJson (response, status, answer) {
  send(response, status, 'application/json; charset=utf-8', typeof answer === 'string' ? answer : JSON.stringify(answer))
}

/**
 * @param {Response} response
 * @param {number} status
 * @param {string} type
 * @param {string} body
 */
function send (response, status, type, body) {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' })
  response.end(body)
}

/**
 * @param {Response} response
 * @param {string} address
 */
function redirect (response, address) {
  response.writeHead(302, { location: address, 'cache-control': 'no-store' })
  response.end()
}

module.exports = { Handler }
