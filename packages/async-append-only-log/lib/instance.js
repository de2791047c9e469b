'use strict'

// One opening of a file: what its caller has appended and streams. Several may share a store; as with async-append-only-log, each knows of
// its own appends only: its `since` and its live streams do not wait for those of others.

const { format } = require('flumelog-random-access-file/blocks')
const errors = require('./errors')
const { storeFor } = require('./stores')
const { Stream } = require('./stream')
const { WriteProgress } = require('./write-progress')

/** Milliseconds. */
const WRITE_TIMEOUT = 250
const IDENTITY = { encode: (/** @type {any} */ value) => value, decode: (/** @type {any} */ data) => data }

class Instance {
  /**
   * @param {string} filename
   * @param {import('./types').Options<any>} options
   */
  constructor (filename, options) {
    const { writeTimeout } = options
    const codec = options.codec ?? IDENTITY
    if (typeof codec.encode !== 'function' || typeof codec.decode !== 'function') throw errors.invalid('codec must be an object with the functions encode and decode')
    this.codec = codec
    /** null: values are as they are stored. */
    this.decode = codec === IDENTITY ? null : codec.decode
    /** Open streams. @type {Set<Stream>} */
    this.streams = new Set()
    this.store = storeFor(filename, options)
    this.progress = new WriteProgress(this, writeTimeout || WRITE_TIMEOUT)
    this.isClosed = false
    /** Whether appends are errors, while what was appended is stored. */
    this.isEnding = false
    /** Whether all calls are. */
    this.isEnded = false
    this.store.add(this)
  }

  /**
   * The seq after the last record that streams give: more than `since` says, in its block. jitdb relies on getting what it has just
   * appended. -1: they give none.
   */
  get streamEnd () {
    const { store: { records }, progress: { since } } = this
    if (since.value === undefined || since.value < 0) return -1
    const { blockSize } = records.log
    return Math.min(records.log.appendedEnd, (Math.floor((since.value + records.shift) / blockSize) + 1) * blockSize)
  }

  /** Whether a new log is being created, to which nothing was appended yet. */
  get isKnownEmpty () {
    const { isNew, isOpened, hasEarlyAppends } = this.store
    return isNew && !isOpened && !hasEarlyAppends
  }

  /**
   * @param {any} value
   * @returns {Uint8Array}
   * @throws if it cannot be a record
   */
  encoded (value) {
    return this.store.records.checked(this.codec.encode(value))
  }

  /**
   * @param {any} value
   * @param {(err: any, offset: number) => void} cb
   */
  append (value, cb) {
    const { records } = this.store
    const seq = Array.isArray(value) ? this.appendEach(value) : records.append(this.encoded(value))
    if (seq !== -1) this.progress.appended(seq)
    cb(null, seq === -1 ? 0 : seq - records.shift)
  }

  /**
   * @param {any[]} values
   * @returns {number} seq of the last record, -1 if there is none
   */
  appendEach (values) {
    const { records } = this.store
    let seq = -1
    try {
      for (const value of values) seq = records.append(this.encoded(value))
    } catch (err) {
      // those before it are in the log, as with async-append-only-log
      if (seq !== -1) this.progress.appended(seq)
      throw err
    }
    return seq
  }

  /**
   * @param {any} values
   * @param {(err: any, offsets: any) => void} cb
   */
  appendTransaction (values, cb) {
    const { records } = this.store
    if (!Array.isArray(values)) return cb(errors.noArray(), undefined)
    /** @type {any[]} */
    let batch
    try {
      // a codec may use its buffer again
      const encoded = values.map(value => copyOf(this.codec.encode(value)))
      batch = encoded.map(data => records.bytesOf(data))
    } catch (err) {
      return cb(err, undefined)
    }
    const problem = records.problemTogether(batch)
    if (problem !== null) return cb(problem, undefined)
    const seqs = records.appendTransaction(batch)
    if (seqs.length > 0) this.progress.appended(seqs[seqs.length - 1])
    cb(null, seqs.map(seq => seq - records.shift))
  }

  /**
   * @param {number} offset
   * @param {(err: any, value: any) => void} cb
   */
  get (offset, cb) {
    const { store } = this
    const { records } = store
    const data = records === null || this.isEnded ? null : records.dataNow(offset)
    if (data === null) this.whenOpen(/** @type {any} */ (cb), () => this.find(offset, cb))
    else this.giveDecoded(data, cb, (value) => records.log.answer(value, cb))
  }

  /**
   * @param {number} offset
   * @param {(err: any, value: any) => void} cb
   */
  find (offset, cb) {
    this.store.records.get(offset, (err, data) => {
      if (err) cb(err, undefined)
      else this.giveDecoded(data, cb, (value) => cb(null, value))
    })
  }

  /**
   * @param {any} data of a record
   * @param {(err: any, value: any) => void} cb given what the codec throws
   * @param {(value: any) => void} give
   */
  giveDecoded (data, cb, give) {
    let value = data
    try {
      if (this.decode !== null) value = this.decode(data)
    } catch (err) {
      return process.nextTick(cb, err)
    }
    give(value)
  }

  /** @param {import('./types').Done} cb */
  onDrain (cb) {
    const { compaction } = this.store
    if (compaction.isRunning) compaction.queue.push(() => this.store.whenUsable(cb, () => this.onDrain(cb)))
    else this.progress.onDrain(cb)
  }

  /** @param {(err: any, statistics: any) => void} cb */
  stats (cb) {
    this.store.deletions.bytes((err, deletedBytes) => {
      if (err) cb(err, undefined)
      else cb(null, { totalBytes: Math.max(0, this.progress.since.value ?? 0), deletedBytes })
    })
  }

  /** @param {import('./types').Done} cb */
  close (cb) {
    if (this.isClosed) return process.nextTick(cb, null)
    this.isClosed = true
    const { store } = this
    const end = (/** @type {any} */ err) => {
      this.isEnded = true
      for (const stream of [...this.streams]) stream.abort(true)
      store.release(this, (closeErr) => cb(closeErr ?? err ?? null))
    }
    const drain = () => this.onDrain((err) => {
      this.isEnding = true
      if (err) end(err)
      // appended by callbacks of the same drain
      else if (!this.progress.isDrained) drain()
      // one that this call was not put behind, since it was not running yet
      else store.deletions.whenFlushed((err) => store.compaction.isRunning ? drain() : end(err))
    })
    store.whenOpen(() => end(null), drain)
  }

  /**
   * @param {any} cb called if the log cannot be used
   * @param {() => void} run
   */
  whenOpen (cb, run) {
    this.store.whenOpen(cb, () => this.isEnded ? process.nextTick(cb, errors.closed(this.store.filename)) : run())
  }

  /**
   * @param {any} cb called if the log cannot be used
   * @param {() => void} run when records can be appended
   */
  whenAppendable (cb, run) {
    this.store.whenAppendable(cb, () => this.isEnding ? process.nextTick(cb, errors.closed(this.store.filename)) : run())
  }
}

/**
 * @param {string} filename
 * @param {import('./types').Options<any>} options
 * @returns {import('./types').Log<any>} its members, which the caller may replace
 */
function openInstance (filename, options) {
  if (typeof filename !== 'string' || filename === '') throw errors.invalid(`the first argument must be the path of a file; it is ${format(filename)}`)
  const instance = new Instance(filename, options)
  const { store, streams, progress } = instance
  const members = {
    filename,
    since: progress.since,
    compactionProgress: store.compaction.progress,
    streams,
    get: (/** @type {number} */ offset, /** @type {any} */ cb) => instance.get(offset, cb),
    append: (/** @type {any} */ value, /** @type {any} */ cb) => {
      if (store.takesAppends && !instance.isEnding) instance.append(value, cb)
      else instance.whenAppendable(cb, () => instance.append(value, cb))
    },
    appendTransaction: (/** @type {any} */ values, /** @type {any} */ cb) => instance.whenAppendable(cb, () => instance.appendTransaction(values, cb)),
    del: (/** @type {number} */ offset, /** @type {any} */ cb) => instance.whenOpen(cb, () => store.del(offset, cb)),
    onDrain: (/** @type {any} */ cb) => instance.whenOpen(cb, () => instance.onDrain(cb)),
    onDeletesFlushed: (/** @type {any} */ cb) => instance.whenOpen(cb, () => store.deletions.whenFlushed(cb)),
    compact: (/** @type {any} */ cb) => instance.whenOpen(cb, () => store.compaction.compact(cb)),
    stats: (/** @type {any} */ cb) => instance.whenOpen(cb, () => instance.stats(cb)),
    stream: (/** @type {any} */ options) => new Stream(instance, options ?? {}),
    close: (/** @type {any} */ cb) => {
      if (cb !== undefined && cb !== null && typeof cb !== 'function') throw errors.invalid(`the callback must be a function; it is ${format(cb)}`)
      instance.close(cb ?? noop)
    }
  }
  return /** @type {any} */ (Object.defineProperty(members, 'blockSize', { enumerable: true, get: () => store.blockSize }))
}

/** @param {any} data */
function copyOf (data) {
  return data instanceof Uint8Array ? Buffer.from(data) : data
}

function noop () {}

module.exports = { openInstance, Instance }
