'use strict'

// A stream of a log that another worker has open, as an async iterator of batches.

const { failure } = require('./errors')
const { unpackError } = require('./packed')

/** Batches that the worker may send ahead. */
const AHEAD = 4

/** @template T */
class RemoteIterator {
  /**
   * @param {any} connection
   * @param {{ type: 'stream', target?: string, options: any }} message that starts it
   * @param {(batch: any) => T} unpack
   * @param {{ signal?: AbortSignal, hasSeqs: boolean }} options signal: ends it with its reason. hasSeqs: seqs are given
   */
  constructor (connection, message, unpack, { signal, hasSeqs }) {
    this.connection = connection
    this.message = message
    this.unpack = unpack
    this.signal = signal
    this.hasSeqs = hasSeqs
    /** The id of the log that the seqs of the batch given last are of. @type {string | null} */
    this.logId = null
    /** Of the record given last; null: none was. @type {number | null} */
    this.last = null
    /** Number of records given. */
    this.given = 0
    /** Batches that came, and nobody has asked for, with the id of the log when they did. @type {Array<{ batch: any, logId: string }>} */
    this.batches = []
    /** Calls of `next` to be answered. @type {Array<{ resolve: (result: IteratorResult<T, undefined>) => void, reject: (reason: any) => void }>} */
    this.pending = []
    this.isEnded = false
    /** Why it ended, until a caller was told. @type {{ reason: any } | null} */
    this.failure = null
    this.onabort = () => this.stop({ reason: signal?.reason })
    this.id = 0
    if (signal?.aborted) this.finish({ reason: signal.reason })
    else if (connection.failure !== null) this.finish({ reason: connection.failure })
    else this.start()
  }

  start () {
    const { connection, signal } = this
    this.id = ++connection.lastId
    connection.tell({ ...this.message, id: this.id, credit: AHEAD })
    connection.streams.set(this.id, this)
    signal?.addEventListener('abort', this.onabort, { once: true })
  }

  /** Continues in another worker, after the record given last. */
  restart () {
    const { connection, id, message, last } = this
    this.batches = []
    if (last === null) return connection.tell({ ...message, id, credit: AHEAD })
    if (this.logId !== connection.state.id) return this.fail(compacted())
    const { type, options } = message
    const { reverse, limit } = options
    if (limit > 0 && this.given >= limit) {
      this.finish(null)
      return this.answer()
    }
    // of the log: a cursor would start after what was committed
    connection.tell({ type, id, credit: AHEAD, options: { ...options, [reverse ? 'lt' : 'gt']: last, limit: limit > 0 ? limit - this.given : limit } })
  }

  /** @param {any} message */
  receive ({ batch, end, error }) {
    if (batch !== undefined) this.batches.push({ batch, logId: this.connection.state.id })
    if (end) this.finish(error === undefined ? null : { reason: unpackError(error) })
    this.answer()
  }

  /** @param {any} reason */
  fail (reason) {
    this.finish({ reason })
    this.answer()
  }

  /** @returns {Promise<IteratorResult<T, undefined>>} */
  next () {
    return new Promise((resolve, reject) => {
      this.pending.push({ resolve, reject })
      this.answer()
    })
  }

  /** @returns {Promise<IteratorResult<T, undefined>>} */
  async return () {
    this.stop(null)
    return { value: undefined, done: true }
  }

  [Symbol.asyncIterator] () {
    return this
  }

  answer () {
    while (this.pending.length > 0 && (this.batches.length > 0 || this.isEnded)) {
      const { resolve, reject } = /** @type {any} */ (this.pending.shift())
      try {
        resolve(this.take())
      } catch (err) {
        if (!this.isEnded) this.stop(null)
        reject(err)
      }
    }
  }

  /** @returns {IteratorResult<T, undefined>} */
  take () {
    const { batches, failure: ended, connection } = this
    if (batches.length > 0) {
      const { batch, logId } = /** @type {any} */ (batches.shift())
      this.logId = logId
      this.mustBeCurrent()
      this.last = batch.seqs.at(-1)
      this.given += batch.seqs.length
      if (!this.isEnded) connection.tell({ type: 'credit', id: this.id })
      return { value: this.unpack(batch), done: false }
    }
    this.failure = null
    if (ended !== null) throw ended.reason
    return { value: undefined, done: true }
  }

  /**
   * A seq is never given beside another `id` of the log than its own.
   * @throws flumelog:compacted
   */
  mustBeCurrent () {
    if (!this.hasSeqs || this.logId === this.connection.state.id) return
    throw compacted()
  }

  /** @param {{ reason: any } | null} failure */
  stop (failure) {
    this.batches = []
    if (this.isEnded) return
    this.connection.tell({ type: 'stop', id: this.id })
    this.finish(failure)
    this.answer()
  }

  /** @param {{ reason: any } | null} failure */
  finish (failure) {
    if (this.isEnded) return
    this.isEnded = true
    this.failure = failure
    this.connection.streams.delete(this.id)
    this.signal?.removeEventListener('abort', this.onabort)
  }
}

function compacted () {
  return failure('flumelog:compacted', 'the log has been compacted, and these records were sent before, with the seqs that they had: start the stream again')
}

module.exports = { RemoteIterator }
