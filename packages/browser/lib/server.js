'use strict'

// The worker's side of a log that a page has opened: does what messages ask for, in their order. See client.js.

const { open } = require('./log')
const { exportFiles, importFiles, removeLog, listLogs } = require('./files')
const { later } = require('./later')
const more = require('./more')
const { Packer, unpack, buffersOf, packError } = require('./packed')

/** Calls without an open log. @type {Record<string, (...args: any[]) => Promise<any>>} */
const FUNCTIONS = { exportFiles, importFiles, removeLog, listLogs }
/** Reads that give bytes, of which a message would copy the whole block. @type {Record<string, (log: any, seq: number) => Promise<any>>} */
const BYTES = {
  getBytes: async (log, seq) => new Uint8Array(await log.get(seq)),
  async getPreviousBytes (log, seq) {
    const { seq: found, value } = await log.getPrevious(seq)
    return { seq: found, value: new Uint8Array(value) }
  }
}

/** Calls of the log that need nothing of the other file: see more.js. */
const FIRST = new Set([...Object.keys(BYTES), 'close', 'drained', 'sync'])

class Server {
  /** @param {{ postMessage: (message: any, transferred?: any[]) => void }} page */
  constructor (page) {
    this.page = page
    /** @type {any} */
    this.log = null
    /** Cursors that are open, by their names. @type {Map<string, any>} */
    this.cursors = new Map()
    /** Streams that are open, by their ids. @type {Map<number, RemoteStream>} */
    this.streams = new Map()
    /** The state that the page was told last. @type {any} */
    this.told = null
    /** Settled when the calls have started that wait for the other file; null: none does. @type {Promise<void> | null} */
    this.loading = null
    /** Calls that can be aborted, by their ids. @type {Map<number, AbortController>} */
    this.aborts = new Map()
  }

  /** What the page knows of the log without asking. */
  get state () {
    const { log } = this
    return log && { since: log.since.value, start: log.start, id: log.id, blockSize: log.blockSize, role: log.role, cursors: new Map(Array.from(this.cursors, ([name, { seq }]) => [name, seq])) }
  }

  /** What the page has not been told of that: mostly nothing but `since`, or nothing. */
  takeNews () {
    const { state, told } = this
    this.told = state
    if (state === null || told === null || !isSame(state, told)) return { state }
    return state.since === told.since ? {} : { since: state.since }
  }

  /** @param {any} message */
  receive (message) {
    if (message.type === 'append') this.append(message)
    else if (message.type === 'stream') this.stream(message)
    else if (message.type === 'credit') this.streams.get(message.id)?.addCredit()
    else if (message.type === 'stop') this.streams.get(message.id)?.stop()
    else if (message.type === 'abort') this.aborts.get(message.id)?.abort()
    else this.answer(message.id, this.call(message))
  }

  /**
   * @param {number} id
   * @param {Promise<any>} result
   */
  answer (id, result) {
    result.then(
      result => this.page.postMessage({ id, result, ...this.takeNews() }),
      err => this.page.postMessage({ id, error: packError(err), ...this.takeNews() })
    ).finally(() => this.aborts.delete(id))
  }

  /** @param {any} message */
  async call ({ id, type, target, args, hasSignal, hasProgress, cursors }) {
    if (type === 'open') return this.open(args[0], args[1], cursors)
    const isFirst = target === undefined && FIRST.has(type)
    if (!isFirst && !more.isLoaded()) await this.loadMore()
    // it comes after the calls before it
    else if (type === 'close' && this.loading !== null) await this.loading
    if (type in FUNCTIONS) return FUNCTIONS[type](...args)
    const on = this.targetOf(target)
    if (hasSignal || hasProgress) {
      const options = args[args.length - 1]
      if (hasSignal) {
        const abort = new AbortController()
        this.aborts.set(id, abort)
        options.signal = abort.signal
      }
      if (hasProgress) options.onProgress = (/** @type {any} */ progress) => this.page.postMessage({ id, progress })
    }
    if (target !== undefined && type === 'close') this.cursors.delete(target)
    return type in BYTES ? BYTES[type](on, args[0]) : on[type](...args)
  }

  loadMore () {
    const loaded = more.load()
    // called after those that wait already
    const loading = this.loading = loaded.catch(() => {}).then(() => { if (this.loading === loading) this.loading = null })
    return loaded
  }

  /** @param {string | undefined} name of a cursor; undefined: the log */
  targetOf (name) {
    if (name === undefined) return this.log
    const cursor = this.log.cursor(name)
    this.cursors.set(name, cursor)
    return cursor
  }

  /**
   * @param {string} name
   * @param {any} options
   * @param {string[]} [cursors] names of those that were open in the worker before
   */
  async open (name, options, cursors = []) {
    if (more.isNeededBy(options) || cursors.length > 0) await more.load()
    this.log = await open(name, options)
    // then, nothing is missing if the network fails, or a new version replaces the files on the server; if it does now, the calls tell
    more.load().catch(() => {})
    // if one cannot be opened, its calls tell
    for (const cursor of cursors) await this.targetOf(cursor).ready().catch(() => {})
    // before any message with a seq from after a compaction
    this.log.onCompact(() => this.page.postMessage(this.takeNews()))
    this.follow()
    return this.log.filename
  }

  /** Tells the page of the last record, once per turn of the event loop, unless an answer has told it. */
  async follow () {
    const { log } = this
    try {
      for await (const since of log.since.changes()) {
        if (since !== this.told?.since) this.page.postMessage(this.takeNews())
        await new Promise(resolve => later(() => resolve(undefined)))
      }
      this.page.postMessage({ ended: null })
    } catch (err) {
      this.page.postMessage({ ended: packError(err) })
    }
  }

  /** @param {any} message calls of `append`, with the records of all of them */
  append ({ id, packed, calls }) {
    const records = unpack(packed)
    /** @type {any[]} */
    const results = new Array(calls.length)
    /** By the number of the call. @type {Array<[number, any]>} */
    const failed = []
    let pending = calls.length
    let first = 0
    calls.forEach((/** @type {{ count: number, options: any }} */ { count, options }, /** @type {number} */ index) => {
      const value = count === -1 ? records[first++] : records.slice(first, first += count)
      const done = (/** @type {any} */ err, /** @type {any} */ seq) => {
        if (err) failed.push([index, packError(err)])
        else results[index] = seq
        if (--pending === 0) this.page.postMessage({ id, results, failed, ...this.takeNews() })
      }
      try {
        this.log.flumelog.append(value, options, done)
      } catch (err) {
        done(err, null)
      }
    })
  }

  /** @param {any} message */
  stream ({ id, target, options, credit }) {
    this.streams.set(id, new RemoteStream(this, id, credit))
    this.streams.get(id)?.run(async () => {
      if (target !== undefined && !more.isLoaded()) await this.loadMore()
      return { iterator: this.targetOf(target).batches(options) }
    })
  }
}

/**
 * @param {any} state
 * @param {any} other
 * @returns {boolean} whether they are the same, but for `since`
 */
function isSame (state, other) {
  for (const name of ['start', 'id', 'blockSize', 'role']) if (state[name] !== other[name]) return false
  if (state.cursors.size !== other.cursors.size) return false
  for (const [name, seq] of state.cursors) if (!other.cursors.has(name) || other.cursors.get(name) !== seq) return false
  return true
}

/** A stream of a page: it sends a batch for each that the page has asked for. */
class RemoteStream {
  /**
   * @param {Server} server
   * @param {number} id
   * @param {number} credit number of batches that the page has room for
   */
  constructor (server, id, credit) {
    this.server = server
    this.id = id
    this.credit = credit
    this.isStopped = false
    /** @type {any} */
    this.iterator = null
    this.wake = () => {}
  }

  addCredit () {
    this.credit++
    this.wake()
  }

  stop () {
    this.isStopped = true
    this.iterator?.return()
    this.wake()
  }

  /** @param {() => Promise<{ iterator: any }>} start which does so at once, unless the other file has to be loaded */
  async run (start) {
    const { id, server: { page, streams } } = this
    try {
      const { iterator } = await start()
      this.iterator = iterator
      if (this.isStopped) iterator.return()
      for await (const batch of this.iterator) {
        if (this.isStopped) break
        const message = packBatch(batch)
        page.postMessage({ id, batch: message.batch }, message.buffers)
        this.credit--
        while (this.credit === 0 && !this.isStopped) await new Promise(resolve => { this.wake = () => resolve(undefined) })
      }
      page.postMessage({ id, end: true })
    } catch (err) {
      page.postMessage({ id, end: true, error: packError(err) })
    } finally {
      streams.delete(id)
    }
  }
}

/** @param {any[]} batch of seqs, or of records with seqs */
function packBatch (batch) {
  if (typeof batch[0] === 'number') {
    const seqs = Float64Array.from(batch)
    return { batch: { seqs }, buffers: [seqs.buffer] }
  }
  const seqs = new Float64Array(batch.length)
  const packer = new Packer()
  const sizes = batch[0].size === undefined ? undefined : new Float64Array(batch.length)
  for (let i = 0; i < batch.length; i++) {
    seqs[i] = batch[i].seq
    packer.add(batch[i].value)
    if (sizes !== undefined) sizes[i] = batch[i].size
  }
  const packed = packer.finish()
  return { batch: { seqs, packed, sizes }, buffers: [seqs.buffer, ...buffersOf(packed)] }
}

/** @param {any} scope of a dedicated worker */
function serve (scope) {
  const server = new Server(scope)
  scope.onmessage = (/** @type {MessageEvent} */ { data }) => server.receive(data)
}

module.exports = { serve }
