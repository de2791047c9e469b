'use strict'

// A log on a page: the interface of flumelog-random-access-file/promises, over messages to the worker that has the log open. See server.js.
//
// Appends of one turn go in one message, with the bytes of all records in one buffer. A stream asks for some batches ahead, and for one more
// with each that the caller has got to, so a slow reader holds the worker back.

const { Packer, unpack, buffersOf, unpackError } = require('./packed')
const { failure } = require('./errors')
const { RemoteIterator } = require('./remote-iterator')
const { RemoteSince } = require('./remote-since')
// @ts-ignore: bundlers can require it
const { startWorker } = require('./start-worker.mjs')

// a byte order mark is a part of a record
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()

/** Bytes of appended records after which a message goes at once. */
const MAX_MESSAGE = 1024 * 1024
/** Records that `appendFrom` appends at a time. */
const APPEND_RECORDS = 1000

/**
 * @typedef {object} Codec of a log on a page, which runs there
 * @property {(value: any) => string | Uint8Array} encode
 * @property {(data: any) => any} decode
 * @property {boolean} [buffer] false: `decode` gets a string in place of a Uint8Array
 */

/** @type {Codec} */
const IDENTITY = { encode: value => value, decode: data => data }
/** @type {Codec} */
const JSON_CODEC = {
  encode (value) {
    const text = JSON.stringify(value)
    if (text === undefined) throw failure('flumelog:invalid', `JSON.stringify cannot encode ${typeof value}`)
    return text
  },
  decode: JSON.parse,
  buffer: false
}

/** @typedef {{ message: any, resolve: (result: any) => void, reject: (reason: any) => void, signal?: AbortSignal, onProgress?: (progress: any) => void }} Call */

/**
 * A worker, and the calls that it has not answered. While the browser has frozen the page, or keeps it in the back/forward cache, there is no
 * worker: a frozen one would keep the log from all other tabs.
 */
class Connection {
  /** @param {any[]} [opening] arguments of the call that opens a log, made again by each worker */
  constructor (opening) {
    this.opening = opening
    /** null: the page is frozen. @type {any} */
    this.worker = null
    /** Messages for the next worker, until it has opened the log; null: there is a worker that has. @type {any[] | null} */
    this.waiting = null
    this.lastId = 0
    /** By their ids. @type {Map<number, Call>} */
    this.calls = new Map()
    /** Streams, by their ids. @type {Map<number, RemoteIterator<any>>} */
    this.streams = new Map()
    /** Why there is no worker any more. @type {any} */
    this.failure = null
    /** What the worker says of the log, besides `since`: `start`, `id`, `blockSize`, `role`, `cursors`. @type {any} */
    this.state = {}
    this.since = new RemoteSince()
    this.stopWatching = watchPage(() => this.suspend(), () => this.resume())
    this.startWorker()
  }

  startWorker () {
    this.worker = startWorker()
    this.worker.onmessage = (/** @type {any} */ { data }) => this.receive(data)
    this.worker.onerror = (/** @type {any} */ event) => {
      event.preventDefault?.()
      this.end(failure('flumelog:failed', `the worker of the log has failed${event.message ? `: ${event.message}` : ', or could not be loaded'}`))
    }
  }

  /** Ends the worker, as a crash would: another tab can have the log at once. */
  suspend () {
    if (this.worker === null) return
    this.worker.onmessage = this.worker.onerror = null
    this.worker.terminate()
    this.worker = null
    /** @type {any[]} */
    const waiting = this.waiting ?? []
    this.waiting = waiting
    const unsent = new Set(waiting.map(({ id }) => id))
    for (const [id, { message, reject }] of this.calls) {
      if (unsent.has(id)) continue
      if (message.type !== 'append' && message.type !== 'reopen') {
        waiting.push(message)
        continue
      }
      // an append cannot be repeated
      this.calls.delete(id)
      if (message.type === 'append') reject(failure('flumelog:unreachable', 'the browser has frozen the page before the append was acknowledged: it was stored once, or not at all'))
    }
  }

  /** Starts another worker, which goes on where that one was ended. */
  resume () {
    if (this.worker !== null) return
    this.startWorker()
    const { opening, state } = this
    // it was not open
    if (state.id === undefined) return this.sendWaiting()
    const id = ++this.lastId
    this.calls.set(id, { message: { type: 'reopen' }, resolve: () => this.sendWaiting(), reject: err => this.end(err) })
    this.worker.postMessage({ type: 'open', id, args: opening, cursors: [...state.cursors.keys()] })
  }

  sendWaiting () {
    /** @type {any[]} */
    const waiting = this.waiting ?? []
    this.waiting = null
    for (const message of waiting) {
      this.worker.postMessage(message)
      if (this.calls.get(message.id)?.signal?.aborted) this.tell({ type: 'abort', id: message.id })
    }
    for (const stream of this.streams.values()) stream.restart()
  }

  /** @param {any} message about a call or a stream that the worker knows */
  tell (message) {
    if (this.waiting === null) this.worker.postMessage(message)
  }

  /** @param {any} message */
  receive (message) {
    const { id, state, since = state?.since } = message
    // what has changed since the last message
    if (state) this.state = state
    if (since !== undefined) this.since.update(since)
    if ('ended' in message) return this.since.end(message.ended === null ? null : unpackError(message.ended))
    const stream = this.streams.get(id)
    if (stream !== undefined) return stream.receive(message)
    const call = this.calls.get(id)
    if (call === undefined) return
    if ('progress' in message) return call.onProgress?.(message.progress)
    this.calls.delete(id)
    if ('error' in message) call.reject(unpackError(message.error))
    else call.resolve('results' in message ? message : message.result)
  }

  /**
   * @param {any} message
   * @param {any[]} [transferred]
   */
  send (message, transferred = []) {
    try {
      if (this.waiting === null) this.worker.postMessage(message, transferred)
      else this.waiting.push(structuredClone(message))
    } catch (err) {
      throw failure('flumelog:invalid', `what is not data cannot be sent to the worker that has the log open: ${/** @type {Error} */ (err).message}`)
    }
  }

  /**
   * @param {any} message
   * @param {any[]} [transferred]
   * @param {{ signal?: AbortSignal, onProgress?: (progress: any) => void }} [options]
   * @returns {Promise<any>}
   */
  async call (message, transferred, { signal, onProgress } = {}) {
    if (this.failure !== null) throw this.failure
    signal?.throwIfAborted()
    const id = ++this.lastId
    const sent = { ...message, id, hasSignal: signal !== undefined, hasProgress: onProgress !== undefined }
    this.send(sent, transferred)
    const abort = () => this.tell({ type: 'abort', id })
    signal?.addEventListener('abort', abort, { once: true })
    try {
      return await new Promise((resolve, reject) => this.calls.set(id, { message: sent, resolve, reject, signal, onProgress }))
    } catch (err) {
      throw signal?.aborted && /** @type {any} */ (err).name !== 'LogError' && /** @type {any} */ (err).code === undefined ? signal.reason : err
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** @param {any} err given to all that wait, and from now on */
  end (err) {
    if (this.failure !== null) return
    this.failure = err
    this.stopWatching()
    this.worker?.terminate()
    for (const { reject } of this.calls.values()) reject(err)
    for (const stream of this.streams.values()) stream.fail(err)
    this.calls.clear()
    this.streams.clear()
    this.since.end(err.code === 'flumelog:closed' ? null : err)
  }
}

/**
 * Calls one function when the browser freezes this page or puts it into the back/forward cache, and another one when the page goes on.
 * @param {() => void} suspend
 * @param {() => void} resume
 * @returns {() => void} ends that
 */
function watchPage (suspend, resume) {
  const ending = new AbortController()
  const { signal } = ending
  const window = /** @type {any} */ (globalThis)
  const { document } = window
  document.addEventListener('freeze', suspend, { signal })
  document.addEventListener('resume', resume, { signal })
  // browsers that do not tell of freezing
  window.addEventListener('pagehide', (/** @type {any} */ { persisted }) => { if (persisted) suspend() }, { signal })
  window.addEventListener('pageshow', resume, { signal })
  return () => ending.abort()
}

/** What a log and a cursor have in common. */
class Readable {
  /**
   * @param {Connection} connection
   * @param {Codec} codec
   * @param {string} [target] the name of a cursor; undefined: the log
   */
  constructor (connection, codec, target) {
    this.connection = connection
    this.codec = codec
    this.target = target
  }

  /** @param {Uint8Array | null} bytes null: the record was deleted */
  decode (bytes) {
    if (bytes === null) return null
    const { codec } = this
    return codec.decode(codec.buffer === false || codec.decode === JSON.parse ? decoder.decode(bytes) : bytes)
  }

  /**
   * The records in arrays, for one `for await` loop.
   * @param {any} [options]
   * @returns {RemoteIterator<any[]>}
   */
  batches ({ signal, ...options } = {}) {
    const { connection, target } = this
    const sent = sendable('stream', options)
    const isOfSeqs = options.values === false
    const hasSeqs = options.seqs !== false
    const unpackBatch = (/** @type {any} */ { seqs, packed, sizes }) => {
      if (isOfSeqs) return Array.from(seqs)
      return unpack(packed).map((bytes, i) => {
        const value = this.decode(bytes)
        if (!hasSeqs) return value
        return sizes === undefined ? { seq: seqs[i], value } : { seq: seqs[i], value, size: sizes[i] }
      })
    }
    return new RemoteIterator(connection, { type: 'stream', target, options: isOfSeqs ? sent : { ...sent, seqs: true } }, unpackBatch, { signal, hasSeqs: isOfSeqs || hasSeqs })
  }

  /**
   * The records, for one `for await` loop.
   * @param {any} [options]
   * @returns {AsyncGenerator<any, void, undefined>}
   */
  stream (options) {
    // now, since `old: false` counts from this call on
    return each(this.batches(options))
  }
}

class RemoteCursor extends Readable {
  /**
   * @param {Connection} connection
   * @param {Codec} codec
   * @param {string} name
   */
  constructor (connection, codec, name) {
    super(connection, codec, name)
    this.name = name
    /** @type {Promise<void> | null} */
    this.closing = null
    /** Its seq when it was closed. @type {number | undefined} */
    this.lastSeq = undefined
  }

  /** The seq of the record that was committed last; -1: none; undefined until it is open. @returns {number | undefined} */
  get seq () {
    return this.closing === null ? this.connection.state.cursors?.get(this.name) : this.lastSeq
  }

  /**
   * @param {string} type
   * @param {any[]} args
   */
  async request (type, ...args) {
    this.mustBeOpen()
    return this.connection.call({ type, target: this.name, args })
  }

  /** To the worker, its name is a cursor that may be opened again. */
  mustBeOpen () {
    if (this.closing !== null) throw failure('flumelog:closed', `the cursor ${this.name} is closed`)
  }

  /** @param {any} [options] */
  batches (options) {
    this.mustBeOpen()
    return super.batches(options)
  }

  /** @returns {Promise<number>} */
  ready () {
    return this.request('ready')
  }

  /**
   * @param {number} seq
   * @param {any} [options]
   * @returns {Promise<void>}
   */
  commit (seq, options = {}) {
    return this.request('commit', seq, sendable('commit', options))
  }

  /** @returns {Promise<void>} */
  close () {
    if (this.closing === null) {
      const closed = this.request('close')
      this.lastSeq = this.seq
      this.closing = closed
    }
    return this.closing
  }

  [Symbol.asyncDispose] () {
    return this.close()
  }
}

class RemoteLog extends Readable {
  /**
   * @param {Connection} connection
   * @param {string} name
   * @param {Codec} codec
   */
  constructor (connection, name, codec) {
    super(connection, codec)
    /** The name passed to `open`. */
    this.filename = name
    /** The seq of the last record, and its changes. */
    this.since = connection.since
    /** Appends that have not been sent. */
    this.packer = new Packer()
    /** @type {Array<{ count: number, options: any, resolve: (seq: any) => void, reject: (reason: any) => void }>} count: -1: one record, not an array */
    this.unsent = []
    /** Messages with appends that have no answer. */
    this.unanswered = 0
    /** The seq of the last record whose append was answered. */
    this.acknowledged = -1
    /** @type {Map<string, RemoteCursor>} */
    this.cursorsByName = new Map()
    /** @type {Promise<void> | null} */
    this.closing = null
  }

  get start () { return this.connection.state.start }
  get id () { return this.connection.state.id }
  get blockSize () { return this.connection.state.blockSize }
  /** As of the last answer of the worker. */
  get role () { return this.connection.state.role }

  /**
   * Any call comes after the appends before it.
   * @param {string} type
   * @param {any[]} args the last one are its options, which may have a signal
   */
  request (type, ...args) {
    const last = args.length - 1
    const { signal, onProgress, ...options } = isOptions(args[last]) ? args[last] : {}
    if (isOptions(args[last])) {
      args[last] = sendable(type, options)
    }
    this.flush()
    return this.connection.call({ type, args }, [], { signal, onProgress })
  }

  /**
   * Appends a record or several.
   * @param {any} value
   * @param {any} [options]
   * @returns {Promise<any>} the seq of the last record
   */
  append (value, options) {
    return new Promise((resolve, reject) => {
      if (this.connection.failure !== null) throw this.connection.failure
      if (typeof options === 'function') throw failure('flumelog:invalid', 'append gives a promise, and takes no callback')
      // the others that go in the same message must not fail with it
      const sent = sendable('append', options)
      const isArray = Array.isArray(value)
      // all of them first: a record that cannot be encoded must not leave those before it
      for (const record of (isArray ? value : [value]).map(record => this.encoded(record))) this.packer.add(record)
      this.unsent.push({ count: isArray ? value.length : -1, options: sent, resolve, reject })
      if (this.packer.size > MAX_MESSAGE) this.flush()
      else if (this.unsent.length === 1) queueMicrotask(() => this.flush())
    })
  }

  /** @param {any} value */
  encoded (value) {
    const data = this.encode(value)
    if (typeof data === 'string' || data instanceof Uint8Array) return data
    throw failure('flumelog:invalid', `a record must be a string or a Uint8Array; it is ${typeof data}`)
  }

  /** @param {any} value */
  encode (value) {
    try {
      return this.codec.encode(value)
    } catch (err) {
      throw failure('flumelog:invalid', `the codec cannot encode the record: ${/** @type {any} */ (err)?.message ?? err}`, { cause: err })
    }
  }

  /** Sends the appends that wait. */
  flush () {
    const { unsent } = this
    if (unsent.length === 0) return
    const packed = this.packer.finish()
    this.unsent = []
    this.packer = new Packer()
    const calls = unsent.map(({ count, options }) => ({ count, options }))
    if (this.unanswered++ === 0) this.acknowledged = /** @type {number} */ (this.since.value)
    this.connection.call({ type: 'append', packed, calls }, buffersOf(packed)).finally(() => this.unanswered--).then(({ results, failed }) => {
      const errors = new Map(failed)
      for (const seq of results.flat()) if (seq !== undefined) this.acknowledged = seq
      unsent.forEach(({ resolve, reject }, index) => errors.has(index) ? reject(unpackError(errors.get(index))) : resolve(results[index]))
    }).catch((err) => { for (const { reject } of unsent) reject(err) })
  }

  /**
   * Appends the records of an iterable, in order: the next ones are read when those before are stored.
   * @param {Iterable<any> | AsyncIterable<any>} records
   * @param {{ sync?: boolean, signal?: AbortSignal }} [options]
   * @returns {Promise<{ records: number, bytes: number, seq: number }>}
   */
  async appendFrom (records, { sync = false, signal } = {}) {
    const stored = { records: 0, bytes: 0, seq: -1 }
    /** @type {Array<string | Uint8Array>} */
    let chunk = []
    const append = async () => {
      if (chunk.length === 0) return
      const lengths = chunk.map(data => typeof data === 'string' ? encoder.encode(data).length : data.length)
      const { packer } = this
      const encoded = chunk
      chunk = []
      stored.seq = await new Promise((resolve, reject) => {
        if (this.connection.failure !== null) throw this.connection.failure
        for (const data of encoded) packer.add(data)
        this.unsent.push({ count: encoded.length, options: undefined, resolve, reject })
        this.flush()
      })
      stored.records += encoded.length
      stored.bytes += lengths.reduce((sum, length) => sum + length, 0)
    }
    try {
      for await (const record of records) {
        signal?.throwIfAborted()
        chunk.push(this.encoded(record))
        if (chunk.length === APPEND_RECORDS) await append()
      }
    } finally {
      // what was read before an error is stored
      await append()
    }
    if (sync) await this.sync()
    return stored
  }

  /** @param {number} seq */
  async get (seq) {
    return this.decode(await this.request('getBytes', seq))
  }

  /** @param {number} seq */
  async getPrevious (seq) {
    const { seq: found, value } = await this.request('getPreviousBytes', seq)
    return { seq: found, value: this.decode(value) }
  }

  /**
   * Binary search in a log whose records are in the order that `compare` defines: each step asks the worker for one record.
   * @param {(value: any, seq: number) => number | bigint} compare
   * @returns {Promise<{ seq: number, value: any }>} the first record for which it is >= 0
   */
  async search (compare) {
    for (;;) {
      const { id } = this
      try {
        const found = await this.searchOnce(compare)
        if (this.id === id) return found
      } catch (err) {
        if (this.id === id) throw err
      }
      // the log was compacted meanwhile, so its seqs are others
    }
  }

  /** @param {(value: any, seq: number) => number | bigint} compare */
  async searchOnce (compare) {
    let found = null
    let low = this.start
    let high = /** @type {number} */ (this.since.value) + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const record = await this.first({ gte: middle, lt: high })
      const order = record === null ? 0 : compare(record.value, record.seq)
      if (typeof order !== 'bigint' && (typeof order !== 'number' || Number.isNaN(order))) throw failure('flumelog:invalid', `compare must return a number; it returned ${typeof order}`)
      if (record !== null && order < 0) low = record.seq + 1
      else high = middle
      if (record !== null && order >= 0) found = record
    }
    if (found === null) throw failure('flumelog:not-found', `${this.filename}: no record is at or after what was searched`)
    return found
  }

  /** @param {any} range */
  async first (range) {
    const { value } = await this.batches({ ...range, limit: 1 }).next()
    return value === undefined ? null : value[0]
  }

  /**
   * @param {any} range
   * @param {(bytes: Uint8Array | null, start: number, end: number, seq: number) => boolean | void} onRecord
   */
  async scan (range, onRecord) {
    if (!isOptions(range)) throw failure('flumelog:invalid', `the options of scan must be an object, not ${range === null ? 'null' : typeof range}`)
    // `reuse` allows memory to be reused, which none is here
    const { reuse, ...options } = range
    const records = new Readable(this.connection, IDENTITY).batches(options)
    for await (const batch of records) for (const { seq, value } of batch) if (onRecord(value, 0, value === null ? 0 : value.length, seq) === false) return
  }

  /** @param {any} options */
  batches (options) {
    this.flush()
    if (options?.old !== false) return super.batches(options)
    // the worker may have acknowledged more by now than the caller knows of
    const { old, ...others } = options
    const last = this.unanswered === 0 ? this.since.value : Math.min(this.acknowledged, /** @type {number} */ (this.since.value))
    return super.batches({ ...others, live: true, reverse: false, gt: Math.max(others.gt ?? -1, /** @type {number} */ (last)) })
  }

  /**
   * @param {string} name
   * @returns {RemoteCursor} the same one until it is closed
   */
  cursor (name) {
    let cursor = this.cursorsByName.get(name)
    if (cursor === undefined || cursor.closing !== null) this.cursorsByName.set(name, cursor = new RemoteCursor(this.connection, this.codec, name))
    return cursor
  }

  cursors () { return this.request('cursors') }
  /** @param {any} seq */
  del (seq) { return this.request('del', seq) }
  /** @param {any} options */
  trim (options) { return this.request('trim', options) }
  /** @param {any} [options] */
  compact (options = {}) { return this.request('compact', options) }
  /** @param {string} target @param {any} [options] */
  backup (target, options = {}) { return this.request('backup', target, options) }
  stats () { return this.request('stats') }
  sync () { return this.request('sync') }
  drained () { return this.request('drained') }

  /** @returns {Promise<void>} everything appended is durable, and the worker has ended */
  close () {
    this.closing ??= this.request('close').finally(() => this.connection.end(failure('flumelog:closed', `${this.filename}: the log is closed`)))
    return this.closing
  }

  [Symbol.asyncDispose] () {
    return this.close()
  }
}

/** @param {any} value */
function isOptions (value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/**
 * @param {string} of
 * @param {any} options
 * @returns {any} a copy that can be sent: a call whose options cannot fails alone
 * @throws flumelog:unsupported, flumelog:invalid
 */
function sendable (of, options) {
  if (isOptions(options)) refuseFunctions(of, options)
  try {
    return structuredClone(options)
  } catch (err) {
    throw failure('flumelog:invalid', `the options of ${of} cannot be sent to the worker that has the log open: ${/** @type {Error} */ (err).message}`)
  }
}

/**
 * @param {string} of
 * @param {object} options
 */
function refuseFunctions (of, options) {
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === 'function') throw failure('flumelog:unsupported', `the option \`${name}\` of ${of} is a function, which cannot be sent to the worker that has the log open: open the log in a worker of your own`)
    // such as `retain`
    if (isOptions(value)) refuseFunctions(`${name} of ${of}`, value)
  }
}

/** @param {RemoteIterator<any[]>} batches */
async function * each (batches) {
  for await (const batch of batches) {
    for (const item of batch) {
      batches.mustBeCurrent()
      yield item
    }
  }
}

/**
 * @param {string} name
 * @param {any} [options]
 * @returns {Promise<RemoteLog>}
 */
async function open (name, { codec: given, ...others } = {}) {
  const options = sendable('open', others)
  const codec = given === 'json' ? JSON_CODEC : given ?? IDENTITY
  if (typeof codec.encode !== 'function' || typeof codec.decode !== 'function') throw failure('flumelog:invalid', 'codec must be \'json\', or an object with the functions encode and decode')
  const connection = new Connection([name, options])
  try {
    await connection.call({ type: 'open', args: connection.opening })
    return new RemoteLog(connection, name, codec)
  } catch (err) {
    connection.end(err)
    throw err
  }
}

/**
 * Calls a function of the worker that needs no open log.
 * @param {string} type
 * @param {any[]} args
 */
async function callOnce (type, ...args) {
  const connection = new Connection()
  try {
    return await connection.call({ type, args })
  } finally {
    connection.end(failure('flumelog:closed', 'the worker has ended'))
  }
}

module.exports = { open, callOnce }
