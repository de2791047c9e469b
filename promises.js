// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// A log with promises and async iterators: a thin wrapper of the log with callbacks.

const openFlumeLog = require('./index')
const { promised } = require('./lib/callbacks')
const { invalid } = require('./lib/errors')
const { format } = require('./lib/format-value')
const { logBehind } = require('./lib/log-behind')
const { replace } = require('./lib/replaceable')
const { appendFrom } = require('./lib/wrappers/append-from')
const { Cursor: NamedCursor } = require('./lib/wrappers/cursor')
const { RecordIterator } = require('./lib/wrappers/iterator')
const { mustBeNoCallback, sourceWith } = require('./lib/wrappers/options')
const { Since } = require('./lib/wrappers/since')

const streamOf = sourceWith('stream', ['signal'])
const batchesOf = sourceWith('batches', ['signal'])
/** By the cursor with callbacks, so that a name has one in a log. @type {WeakMap<object, NamedCursor<any>>} */
const namedCursors = new WeakMap()

/**
 * @typedef {import('./lib/types').AppendOptions} AppendOptions
 * @typedef {import('./lib/types').CursorInfo} CursorInfo
 * @typedef {import('./lib/types').CommitOptions} CommitOptions
 * @typedef {import('./lib/types').Stats} Stats
 * @typedef {import('./lib/read/options').StreamOptions} StreamOptions
 * @typedef {import('./lib/read/options').ScanOptions} ScanOptions
 * @typedef {import('./lib/read/options').Skipped} Skipped
 * @typedef {import('./lib/space/retain-options').RetainOptions} RetainOptions
 * @typedef {import('./lib/wrappers/append-from').AppendFromOptions} AppendFromOptions
 * @typedef {import('./lib/types').Stored} Stored
 * @typedef {import('./lib/backup/types').BackupOptions} BackupOptions
 * @typedef {import('./lib/backup/types').BackedUp} BackedUp
 * @typedef {import('./lib/space/types').DeletionRange} DeletionRange
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 * @typedef {object} SignalOptions
 * @property {AbortSignal} [signal] ends the stream with its reason
 * @typedef {StreamOptions & SignalOptions} IteratorOptions
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
 * @template [T=Buffer]
 * @typedef {import('./lib/read/source').SizedRecord<T>} SizedRecord
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/wrappers/cursor').Cursor<T>} Cursor
 */

/**
 * @template I
 * @typedef {import('./lib/types').LogIterator<I>} LogIterator
 */

/**
 * A log with promises and async iterators. What rejects is a `LogError`, or an error passed on unchanged.
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 */
class FlumeLog {
  /** Undefined: a log that another package implements. */
  #log

  /**
   * @param {import('./lib/types').FlumeLog<T, A>} log
   * @throws flumelog:invalid
   */
  constructor (log) {
    if (typeof log?.onReady !== 'function') throw invalid(`wrap takes a log with callbacks; it is ${format(log)}`)
    /** The log with callbacks. */
    this.flumelog = log
    this.#log = logBehind(log)
    /** The path passed to `open`. */
    this.filename = log.filename
    /** The codec that encodes and decodes records. */
    this.codec = log.codec
    /** The seq of the last record (`value`), and its changes: `await log.since.next()`, `for await (const seq of log.since)`. */
    this.since = new Since(log)
  }

  /** In bytes. */
  get blockSize () {
    return this.flumelog.blockSize
  }

  set blockSize (bytes) {
    replace(this, 'blockSize', bytes)
  }

  /** Where the log starts, in bytes: what was before this offset has been trimmed. 0 if nothing was. */
  get start () {
    return this.flumelog.start
  }

  set start (offset) {
    replace(this, 'start', offset)
  }

  /** With `shared`: whether this process writes the file (`'owner'`) or sends its appends to the one that does (`'client'`); null otherwise. */
  get role () {
    return this.flumelog.role
  }

  set role (role) {
    replace(this, 'role', role)
  }

  /** The option; assign to change it, in bytes. `flumelog:invalid` if it is not an integer of 1 or more. */
  get highWaterMark () {
    return this.flumelog.highWaterMark
  }

  set highWaterMark (bytes) {
    this.flumelog.highWaterMark = bytes
  }

  /**
   * Waits until the log is open.
   * @returns {Promise<import('./lib/types').Cut | null>} what recovery truncated, or null. Rejects if the log cannot be opened
   */
  ready () {
    return new Promise((resolve, reject) => this.flumelog.onReady((err, cut) => err ? reject(err) : resolve(cut)))
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
   * @param {AppendOptions & { atomic?: false } | boolean} [options]
   * @returns {Promise<number>}
   */
  /**
   * Appends a record or several, atomically if the option says so.
   * @overload
   * @param {A | A[]} value
   * @param {AppendOptions | boolean} [options]
   * @returns {Promise<number | number[]>}
   */
  /**
   * @param {any} value
   * @param {any} options
   * @returns {Promise<any>}
   */
  append (value, options = {}) {
    return new Promise((resolve, reject) => {
      mustBeNoCallback('append', options)
      this.flumelog.append(value, options, (err, seq) => err ? reject(err) : resolve(seq))
    })
  }

  /**
   * Appends the records of an iterable, in order. It reads no further than the log's `highWaterMark` allows. If that fails, what was
   * read before the error is stored, and the iterable is closed.
   * @param {Iterable<A> | AsyncIterable<A>} records an array, a generator, a Node.js stream in object mode
   * @param {AppendFromOptions} [options]
   * @returns {Promise<Stored>} how much was stored, when all of it is. Rejects with the first error of the log, of the iterable, or of
   *   the signal; `flumelog:closed` if the log is closed first
   */
  appendFrom (records, options) {
    return appendFrom(this.flumelog, records, options)
  }

  /**
   * Reads the record that starts at `seq`. Errors: `flumelog:deleted`; `flumelog:trimmed`; `flumelog:not-found` if no record starts there;
   * `flumelog:invalid` if `seq` is not an integer >= 0; `flumelog:corrupt`.
   * @param {number} seq
   * @returns {Promise<T>}
   */
  get (seq) {
    try {
      // without the functions that the promise below needs, which take longer than the rest
      const value = this.#log?.getNow(seq)
      if (value !== undefined) return Promise.resolve(value)
    } catch (err) {
      return Promise.reject(err)
    }
    return new Promise((resolve, reject) => {
      this.flumelog.get(seq, (err, value) => err ? reject(err) : resolve(value))
    })
  }

  /**
   * Reads the last record before the offset `seq`, skipping deleted ones: `stream({ lt: seq, reverse: true, limit: 1 })`. Errors: those of
   * `stream`; `flumelog:not-found` if there is no earlier record.
   * @param {number} seq
   * @returns {Promise<LogRecord<T>>}
   */
  getPrevious (seq) {
    return new Promise((resolve, reject) => {
      this.flumelog.getPrevious(seq, (err, value, seq) => err ? reject(err) : resolve({ seq, value }))
    })
  }

  /**
   * Binary search in a log whose records are in the order that `compare` defines. Errors: `flumelog:not-found` if there is
   * none; `flumelog:invalid` if `compare` does not return a number; what it throws.
   * @param {(value: T, seq: number) => number | bigint} compare
   * @returns {Promise<LogRecord<T>>} the first record for which it is >= 0
   */
  search (compare) {
    return new Promise((resolve, reject) => {
      this.flumelog.search(compare, (err, seq, value) => err ? reject(err) : resolve({ seq, value }))
    })
  }

  /**
   * Overwrites one or more records, or all in a range of offsets, with zeros. Blocks in which nothing is left are freed. Deleting a
   * deleted record is not an error, nor is an empty range. Errors: `flumelog:not-found`; `flumelog:trimmed`; `flumelog:compacted` if the log
   * was compacted while the call waited; `flumelog:corrupt`; `flumelog:invalid`; `flumelog:read-only`.
   * @param {number | number[] | DeletionRange} seq
   * @returns {Promise<void>}
   */
  del (seq) {
    return new Promise((resolve, reject) => this.flumelog.del(seq, (err) => err ? reject(err) : resolve()))
  }

  /**
   * Removes whole blocks at the head of the log, of which all records are before `options.lt`, and frees their space; offsets stay. The
   * block with the last record stays. Errors: `flumelog:invalid`, `flumelog:read-only`, errors of the operating system.
   * @param {import('./lib/space/types').TrimOptions} options
   * @returns {Promise<number>} where the log starts then
   */
  trim (options) {
    return new Promise((resolve, reject) => this.flumelog.trim(options, (err, start) => err ? reject(err) : resolve(start)))
  }

  /**
   * A named position in the log that survives restarts. This process holds it until the cursor, or the log, is closed; the same name
   * gives the same cursor until then.
   * @param {string} name 1 to 64 letters, digits, `-` or `_`
   * @param {object} [options] of a log in a stream (flumelog-jetstream) only
   * @returns {Cursor<T>}
   * @throws flumelog:invalid for another name
   */
  cursor (name, options) {
    const cursor = /** @type {any} */ (this.flumelog).cursor(name, options)
    const named = namedCursors.get(cursor) ?? new NamedCursor(cursor)
    namedCursors.set(cursor, named)
    return named
  }

  /**
   * Lists the cursors of the log, by name.
   * @returns {Promise<CursorInfo[]>}
   */
  cursors () {
    return new Promise((resolve, reject) => this.flumelog.cursors((err, cursors) => err ? reject(err) : resolve(cursors)))
  }

  /**
   * Copies the log to a file, which is a valid log, or brings an earlier backup up to date: appends what is new, or replaces it if records of
   * it were deleted, trimmed or compacted since. The log can be used meanwhile. Errors as for the log with callbacks.
   * @param {string} target a path; missing parent directories are created
   * @param {BackupOptions} [options]
   * @returns {Promise<BackedUp>} what was done, when it is durable. Rejects with the reason of the signal if that ends it
   */
  backup (target, options = {}) {
    return promised((cb) => {
      mustBeNoCallback('backup', options)
      this.flumelog.backup(target, options, cb)
    })
  }

  /**
   * Zero-copy iteration: nothing is allocated per record.
   * @overload
   * @param {ScanOptions & { deleted?: false }} range
   * @param {import('./lib/types').OnRecord} onRecord called with the bytes of a block, the bounds of the record's data in it, and
   *   its seq; returns false to stop
   * @returns {Promise<void>} rejects with an error of the log, or what `onRecord` throws
   */
  /**
   * The same with deleted records, for which `onRecord` gets null in the place of the block.
   * @overload
   * @param {ScanOptions} range
   * @param {import('./lib/types').OnAnyRecord} onRecord
   * @returns {Promise<void>}
   */
  /**
   * @param {ScanOptions} range
   * @param {any} onRecord
   * @returns {Promise<void>}
   */
  scan (range, onRecord) {
    return new Promise((resolve, reject) => this.flumelog.scan(range, onRecord, (err) => err ? reject(err) : resolve()))
  }

  /**
   * Waits until everything appended so far is acknowledged.
   * @returns {Promise<void>}
   */
  drained () {
    return new Promise((resolve, reject) => this.flumelog.onDrain((err) => err ? reject(err) : resolve()))
  }

  /**
   * What the log counts, since it was opened, and its size.
   * @returns {Stats}
   */
  stats () {
    return this.flumelog.stats()
  }

  /**
   * Fsyncs everything appended and deleted so far.
   * @returns {Promise<void>}
   */
  sync () {
    return new Promise((resolve, reject) => this.flumelog.sync((err) => err ? reject(err) : resolve()))
  }

  /**
   * Fsyncs everything appended and releases the lock. Closing twice is not an error.
   * @returns {Promise<void>}
   */
  close () {
    return new Promise((resolve, reject) => this.flumelog.close((err) => err ? reject(err) : resolve()))
  }

  /** Closes the log, at the end of the scope of `await using`. */
  [Symbol.asyncDispose] () {
    return this.close()
  }

  /** Identity of the log, which changes with each compaction; `'0'` for a log that was never compacted. */
  get id () {
    return this.flumelog.id
  }

  set id (id) {
    replace(this, 'id', id)
  }

  /**
   * Copies the log without its deleted records into another file, which takes its place: seqs change. Appends, reads and streams go on meanwhile.
   * @param {import('./lib/space/types').CompactOptions} [options]
   * @returns {Promise<import('./lib/space/types').Compacted>} Rejects, with the log as it was, as the log with callbacks does
   */
  compact (options = {}) {
    return promised((cb) => {
      mustBeNoCallback('compact', options)
      this.flumelog.compact(options, cb)
    })
  }

  /**
   * Calls a listener after each compaction, with a map from the seqs before to those since.
   * @param {(map: import('./lib/space/types').CompactionMap) => void} listener
   * @returns {() => void} removes it
   */
  onCompact (listener) {
    return this.flumelog.onCompact(listener)
  }

  /**
   * The records, for one `for await` loop. Leaving the loop in any way closes the stream.
   * @overload
   * @param {IteratorOptions & { seqs?: true, values?: true, deleted?: false }} [options]
   * @returns {LogIterator<LogRecord<T>>}
   */
  /**
   * The records with deleted ones, whose value is null, and with sizes, for one `for await` loop.
   * @overload
   * @param {IteratorOptions & { seqs?: true, values?: true, deleted: true }} options
   * @returns {LogIterator<import('./lib/read/source').SizedRecord<T>>}
   */
  /**
   * The seqs of the records, for one `for await` loop.
   * @overload
   * @param {IteratorOptions & { values: false }} options
   * @returns {LogIterator<number>}
   */
  /**
   * The records without their seqs, for one `for await` loop.
   * @overload
   * @param {IteratorOptions & { seqs: false, values?: true, deleted?: false }} options
   * @returns {LogIterator<T>}
   */
  /**
   * The same with deleted records, for which it gives null.
   * @overload
   * @param {IteratorOptions & { seqs: false, values?: true, deleted: true }} options
   * @returns {LogIterator<T | null>}
   */
  /**
   * Records, seqs or values, as the options say, for one `for await` loop.
   * @overload
   * @param {IteratorOptions} [options]
   * @returns {LogIterator<any>}
   */
  /**
   * @param {IteratorOptions} [options]
   * @returns {LogIterator<any>}
   */
  stream (options) {
    // now, since `old: false` counts from this call on
    const source = streamOf((options) => this.flumelog.stream(options), options)
    return new RecordIterator(source, options?.signal)
  }

  /**
   * The records in arrays, a block at a time, for one `for await` loop: what `stream` gives, with the same options, in less
   * time. No array is empty; a live one has what was acknowledged since the one before.
   * @overload
   * @param {IteratorOptions & { seqs?: true, values?: true, deleted?: false }} [options]
   * @returns {LogIterator<LogRecord<T>[]>}
   */
  /**
   * The records with deleted ones, whose value is null, and with sizes, in arrays, a block at a time, for one `for await` loop.
   * @overload
   * @param {IteratorOptions & { seqs?: true, values?: true, deleted: true }} options
   * @returns {LogIterator<import('./lib/read/source').SizedRecord<T>[]>}
   */
  /**
   * The seqs of the records in arrays, a block at a time, for one `for await` loop.
   * @overload
   * @param {IteratorOptions & { values: false }} options
   * @returns {LogIterator<number[]>}
   */
  /**
   * The records without their seqs, in arrays, a block at a time, for one `for await` loop.
   * @overload
   * @param {IteratorOptions & { seqs: false, values?: true, deleted?: false }} options
   * @returns {LogIterator<T[]>}
   */
  /**
   * The same with deleted records, for which it gives null.
   * @overload
   * @param {IteratorOptions & { seqs: false, values?: true, deleted: true }} options
   * @returns {LogIterator<Array<T | null>>}
   */
  /**
   * Arrays of records, seqs or values, as the options say, a block at a time, for one `for await` loop.
   * @overload
   * @param {IteratorOptions} [options]
   * @returns {LogIterator<any[]>}
   */
  /**
   * @param {IteratorOptions} [options]
   * @returns {LogIterator<any[]>}
   */
  batches (options) {
    // now, since `old: false` counts from this call on
    const source = batchesOf((options) => this.flumelog.batches(options), options)
    return new RecordIterator(source, options?.signal)
  }
}

/**
 * Opens a log, or creates it; rejects if that fails.
 * @template T
 * @overload
 * @param {string} file as for the log with callbacks
 * @param {Options<T> & { codec: Codec<T> }} options
 * @returns {Promise<FlumeLog<T>>}
 */
/**
 * Opens a log of values of JSON, or creates it.
 * @template [T=any] what the records are, which nothing checks
 * @overload
 * @param {string} file
 * @param {Options<T> & { codec: 'json' }} options
 * @returns {Promise<FlumeLog<T>>}
 */
/**
 * Opens a log of Buffers, or creates it.
 * @overload
 * @param {string} file
 * @param {Options & { codec?: undefined }} [options]
 * @returns {Promise<FlumeLog<Buffer, Uint8Array | string>>}
 */
/**
 * Opens a log of Buffers with a codec, or creates it.
 * @overload
 * @param {string} file
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
 * @param {import('./lib/types').FlumeLog<T, A>} log
 * @returns {FlumeLog<T, A>}
 */
function wrap (log) {
  return new FlumeLog(log)
}

module.exports = { open, wrap, FlumeLog }
