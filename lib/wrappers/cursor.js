'use strict'

// A cursor with promises and async iterators.

const { checkCursorNames, CURSOR_STREAM_NAMES } = require('../cursors/cursor-options')
const { RecordIterator } = require('./iterator')
const { mustBeNoCallback, openPicked } = require('./options')

/**
 * @typedef {import('../types').CommitOptions} CommitOptions
 * @typedef {import('../read/options').CursorStreamOptions & import('../../promises').SignalOptions} CursorIteratorOptions
 */

/**
 * @template [T=Buffer]
 * @typedef {import('../read/source').LogRecord<T>} LogRecord
 */

/**
 * @template I
 * @typedef {import('../types').LogIterator<I>} LogIterator
 */

/**
 * A named position in a log.
 * @template [T=Buffer] a record, as the codec decodes it
 */
class Cursor {
  /** @param {import('../types').Cursor<T>} cursor */
  constructor (cursor) {
    /** The cursor with callbacks. */
    this.cursor = cursor
    /** As passed to `cursor`. */
    this.name = cursor.name
  }

  /** The seq of the record that was committed last; -1: none; undefined until it is open. @returns {number | undefined} */
  get seq () {
    return this.cursor.seq
  }

  /**
   * Waits until it is open.
   * @returns {Promise<number>} its `seq`. Rejects with `flumelog:locked` if another process holds it, and with `flumelog:corrupt` if its
   *   file is corrupt
   */
  ready () {
    return new Promise((resolve, reject) => this.cursor.onReady((err, seq) => err ? reject(err) : resolve(seq)))
  }

  /**
   * Stores that the record at `seq`, and all before it, are done. Calls are gathered. The records are fsynced first; the commit itself
   * is then as durable as `sync` of the log says. Errors: `flumelog:invalid` if the cursor is at a later seq already;
   * `flumelog:not-found` if no record starts there; `flumelog:closed`.
   * @param {number} seq -1: none, with `rewind`
   * @param {CommitOptions} [options]
   * @returns {Promise<void>}
   */
  commit (seq, options = {}) {
    return new Promise((resolve, reject) => {
      mustBeNoCallback('commit', options)
      this.cursor.commit(seq, options, (err) => err ? reject(err) : resolve())
    })
  }

  /**
   * Fsyncs what was committed, ends its streams, and releases it. Closing the log closes all.
   * @returns {Promise<void>}
   */
  close () {
    return new Promise((resolve, reject) => this.cursor.close((err) => err ? reject(err) : resolve()))
  }

  /** Closes the cursor, at the end of the scope of `await using`. */
  [Symbol.asyncDispose] () {
    return this.close()
  }

  /**
   * The records after the one that was committed last, for one `for await` loop.
   * @overload
   * @param {CursorIteratorOptions & { seqs?: true, values?: true, deleted?: false }} [options]
   * @returns {LogIterator<LogRecord<T>>}
   */
  /**
   * The same with deleted records, whose value is null, and with sizes.
   * @overload
   * @param {CursorIteratorOptions & { seqs?: true, values?: true, deleted: true }} options
   * @returns {LogIterator<import('../read/source').SizedRecord<T>>}
   */
  /**
   * Their seqs, for one `for await` loop.
   * @overload
   * @param {CursorIteratorOptions & { values: false }} options
   * @returns {LogIterator<number>}
   */
  /**
   * The records without their seqs, for one `for await` loop.
   * @overload
   * @param {CursorIteratorOptions & { seqs: false, values?: true, deleted?: false }} options
   * @returns {LogIterator<T>}
   */
  /**
   * The same with deleted records, for which it gives null.
   * @overload
   * @param {CursorIteratorOptions & { seqs: false, values?: true, deleted: true }} options
   * @returns {LogIterator<T | null>}
   */
  /**
   * Records, seqs or values, as the options say, for one `for await` loop.
   * @overload
   * @param {CursorIteratorOptions} [options]
   * @returns {LogIterator<any>}
   */
  /**
   * @param {CursorIteratorOptions} [options]
   * @returns {LogIterator<any>}
   */
  stream (options) {
    return iterate('stream', this.cursor.stream, options)
  }

  /**
   * The records after the one that was committed last, in arrays, a block at a time, for one `for await` loop.
   * @overload
   * @param {CursorIteratorOptions & { seqs?: true, values?: true, deleted?: false }} [options]
   * @returns {LogIterator<LogRecord<T>[]>}
   */
  /**
   * The same with deleted records, whose value is null, and with sizes.
   * @overload
   * @param {CursorIteratorOptions & { seqs?: true, values?: true, deleted: true }} options
   * @returns {LogIterator<import('../read/source').SizedRecord<T>[]>}
   */
  /**
   * Their seqs in arrays, a block at a time, for one `for await` loop.
   * @overload
   * @param {CursorIteratorOptions & { values: false }} options
   * @returns {LogIterator<number[]>}
   */
  /**
   * The records without their seqs, in arrays, a block at a time, for one `for await` loop.
   * @overload
   * @param {CursorIteratorOptions & { seqs: false, values?: true, deleted?: false }} options
   * @returns {LogIterator<T[]>}
   */
  /**
   * The same with deleted records, for which it gives null.
   * @overload
   * @param {CursorIteratorOptions & { seqs: false, values?: true, deleted: true }} options
   * @returns {LogIterator<Array<T | null>>}
   */
  /**
   * Arrays of records, seqs or values, as the options say, a block at a time, for one `for await` loop.
   * @overload
   * @param {CursorIteratorOptions} [options]
   * @returns {LogIterator<any[]>}
   */
  /**
   * @param {CursorIteratorOptions} [options]
   * @returns {LogIterator<any[]>}
   */
  batches (options) {
    return iterate('batches', this.cursor.batches, options)
  }
}

/**
 * @param {string} of for messages
 * @param {(options: any) => import('../read/source').Source<any>} open
 * @param {any} [options] one that does not exist is the error of the loop
 */
function iterate (of, open, options) {
  const source = openPicked(open, CURSOR_STREAM_NAMES, (options) => checkCursorNames(of, options, ['signal']), options)
  return new RecordIterator(source, options?.signal)
}

module.exports = { Cursor }
