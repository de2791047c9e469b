'use strict'

// A log with promises, async iterators and Node.js streams: a thin wrapper of the log
// with callbacks.

const openFlumeLog = require('./index')
const { RecordIterator } = require('./lib/wrappers/iterator')
const { ReadStream, WriteStream } = require('./lib/wrappers/node-streams')

/**
 * @typedef {import('./lib/storage/storage-file').RandomAccessStorage} RandomAccessStorage
 * @typedef {import('./lib/log').AppendOptions} AppendOptions
 * @typedef {import('./lib/read/options').StreamOptions} StreamOptions
 * @typedef {StreamOptions & { signal?: AbortSignal }} IteratorOptions signal: ends the stream with its reason
 * @typedef {StreamOptions & import('./lib/wrappers/node-streams').NodeStreamOptions} ReadStreamOptions
 * @typedef {import('./lib/wrappers/node-streams').NodeStreamOptions & import('./lib/write/sink').SinkOptions} WriteStreamOptions
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/options').Options<T>} Options
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/options').Codec<T>} Codec
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/read/source').LogRecord<T>} LogRecord
 */

/**
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 */
class FlumeLog {
  /** @param {import('./lib/log').FlumeLog<T, A>} log */
  constructor (log) {
    /** The log with callbacks, which has all that is not here. */
    this.flumelog = log
  }

  get filename () {
    return this.flumelog.filename
  }

  /** With `shared`: `'owner'` or `'client'`; null otherwise. */
  get role () {
    return this.flumelog.role
  }

  /**
   * Appends a batch atomically; resolves to the seqs of its records.
   * @overload
   * @param {A | A[]} value
   * @param {AppendOptions & { atomic: true }} options
   * @returns {Promise<number[]>}
   */
  /**
   * Appends a record, or several in a row; resolves to the last one's seq. Errors as for the log with callbacks.
   * @overload
   * @param {A | A[]} value
   * @param {AppendOptions & { atomic?: false }} [options]
   * @returns {Promise<number>}
   */
  /**
   * @param {any} value
   * @param {any} options
   * @returns {Promise<any>}
   */
  append (value, options = {}) {
    return new Promise((resolve, reject) => {
      this.flumelog.append(value, options, (err, seq) => err ? reject(err) : resolve(seq))
    })
  }

  /**
   * @param {number} seq
   * @returns {Promise<T>}
   */
  get (seq) {
    return new Promise((resolve, reject) => {
      this.flumelog.get(seq, (err, value) => err ? reject(err) : resolve(/** @type {T} */ (value)))
    })
  }

  /**
   * The record before the one at `seq`; `seq` may also be the end of the log.
   * @param {number} seq
   * @returns {Promise<LogRecord<T>>}
   */
  getPrevious (seq) {
    return new Promise((resolve, reject) => {
      this.flumelog.getPrevious(seq, (err, value, seq) => err ? reject(err) : resolve(record(seq, value)))
    })
  }

  /**
   * Binary search in a log whose records are in the order that `compare` defines.
   * @param {(value: T, seq: number) => number | bigint} compare
   * @returns {Promise<LogRecord<T>>} the first record for which it is >= 0
   */
  search (compare) {
    return new Promise((resolve, reject) => {
      this.flumelog.search(compare, (err, seq, value) => err ? reject(err) : resolve(record(seq, value)))
    })
  }

  /**
   * @param {number | number[]} seq
   * @returns {Promise<void>}
   */
  del (seq) {
    return new Promise((resolve, reject) => this.flumelog.del(seq, (err) => err ? reject(err) : resolve()))
  }

  /** @returns {import('./lib/log').Stats} as for the log with callbacks */
  stats () {
    return this.flumelog.stats()
  }

  /** @returns {Promise<void>} resolves when everything appended so far is fsynced */
  sync () {
    return new Promise((resolve, reject) => this.flumelog.sync((err) => err ? reject(err) : resolve()))
  }

  /** @returns {Promise<void>} resolves when everything appended is fsynced and the lock is released */
  close () {
    return new Promise((resolve, reject) => this.flumelog.close((err) => err ? reject(err) : resolve()))
  }

  [Symbol.asyncDispose] () {
    return this.close()
  }

  /**
   * The records, for one `for await` loop. Leaving the loop in any way closes the stream.
   * @overload
   * @param {IteratorOptions & { seqs?: true, values?: true }} [options]
   * @returns {RecordIterator<LogRecord<T>>}
   */
  /**
   * @overload
   * @param {IteratorOptions & { values: false }} options
   * @returns {RecordIterator<number>}
   */
  /**
   * @overload
   * @param {IteratorOptions & { seqs: false, values?: true }} options
   * @returns {RecordIterator<T>}
   */
  /**
   * @overload
   * @param {IteratorOptions} [options]
   * @returns {RecordIterator<any>}
   */
  /**
   * @param {IteratorOptions} [options]
   * @returns {RecordIterator<any>}
   */
  stream (options) {
    // now, since `old: false` counts from this call on
    const source = this.flumelog.stream(options ?? {})
    return new RecordIterator(() => source, options?.signal)
  }

  /**
   * The records in arrays, a block at a time, for one `for await` loop: what `stream` gives, with the same options, in less
   * time. No array is empty; a live one has what was acknowledged since the one before.
   * @overload
   * @param {IteratorOptions & { seqs?: true, values?: true }} [options]
   * @returns {RecordIterator<LogRecord<T>[]>}
   */
  /**
   * @overload
   * @param {IteratorOptions & { values: false }} options
   * @returns {RecordIterator<number[]>}
   */
  /**
   * @overload
   * @param {IteratorOptions & { seqs: false, values?: true }} options
   * @returns {RecordIterator<T[]>}
   */
  /**
   * @overload
   * @param {IteratorOptions} [options]
   * @returns {RecordIterator<any[]>}
   */
  /**
   * @param {IteratorOptions} [options]
   * @returns {RecordIterator<any[]>}
   */
  batches (options) {
    // now, since `old: false` counts from this call on
    const source = this.flumelog.batches(options ?? {})
    return new RecordIterator(() => source, options?.signal)
  }

  /**
   * The records as a Node.js stream.
   * @param {ReadStreamOptions} [options]
   * @returns {ReadStream}
   */
  createReadStream (options) {
    const source = this.flumelog.stream(options ?? {})
    return new ReadStream(() => source, options ?? {})
  }

  /**
   * Appends what is written to it, in order. It accepts records ahead of what is stored, up to the log's
   * `highWaterMark`; at `finish` all of them are stored.
   * @param {WriteStreamOptions} [options]
   * @returns {WriteStream}
   */
  createWriteStream (options) {
    return new WriteStream(this.flumelog, options ?? {})
  }
}

/**
 * Opens a log, or creates it; rejects if that fails.
 * @template T
 * @overload
 * @param {string | RandomAccessStorage} file as for the log with callbacks
 * @param {Options<T> & { codec: Codec<T> }} options
 * @returns {Promise<FlumeLog<T>>}
 */
/**
 * Opens a log of Buffers, or creates it.
 * @overload
 * @param {string | RandomAccessStorage} file
 * @param {Options & { codec?: undefined }} [options]
 * @returns {Promise<FlumeLog<Buffer, Uint8Array | string>>}
 */
/**
 * Opens a log of Buffers with a codec, or creates it.
 * @overload
 * @param {string | RandomAccessStorage} file
 * @param {Options} options
 * @returns {Promise<FlumeLog>}
 */
/**
 * @param {any} file
 * @param {any} [options]
 * @returns {Promise<FlumeLog<any>>}
 */
async function open (file, options) {
  const log = openFlumeLog(file, options)
  await new Promise((resolve, reject) => log.onReady((err) => err ? reject(err) : resolve(undefined)))
  return wrap(log)
}

/**
 * Wraps a log that is open, or being opened.
 * @template T, A
 * @param {import('./lib/log').FlumeLog<T, A>} log
 * @returns {FlumeLog<T, A>}
 */
function wrap (log) {
  return new FlumeLog(log)
}

/**
 * @param {any} seq
 * @param {any} value what a callback is given if there is no error
 */
function record (seq, value) {
  return { seq, value }
}

module.exports = { open, wrap, FlumeLog }
