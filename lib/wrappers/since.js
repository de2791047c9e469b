'use strict'

// `since` with promises: the seq of the last record, and its changes.

const { optionNames } = require('../option-names')
const { mustBeSignal, onAbort } = require('../signal')
const { RecordIterator } = require('./iterator')

const checkNextNames = optionNames('since.next', ['signal'])
const checkChangesNames = optionNames('since.changes', ['signal'])

/**
 * @typedef {object} SinceOptions
 * @property {AbortSignal} [signal] stops waiting, with its reason
 */

class Since {
  /** @param {{ since: import('../types').Since }} flumelog */
  constructor (flumelog) {
    /** The observable that it reads. */
    this.observable = flumelog.since
  }

  /** The seq of the last record: undefined until the log is open, -1 when it is empty. @returns {number | undefined} */
  get value () {
    return this.observable.value
  }

  /**
   * The next change. Changes between two calls are missed, the last one too; `changes` may skip values, but never the last.
   * @param {SinceOptions} [options]
   * @returns {Promise<number>} the new value. Rejects with `flumelog:closed` once the log is closed, or with the error for which it
   *   can no longer be read
   */
  next (options) {
    return new Promise((resolve, reject) => {
      checkNextNames(options ?? {})
      const { signal } = options ?? {}
      mustBeSignal(signal)
      if (signal?.aborted) return reject(signal.reason)
      const stopListening = onAbort(signal, () => {
        cancel()
        reject(/** @type {AbortSignal} */ (signal).reason)
      })
      const cancel = this.observable.next((err, seq) => {
        stopListening()
        if (err) reject(err)
        else resolve(seq)
      })
    })
  }

  /**
   * The current value, if the log is open, then the latest one after each change, for one `for await` loop. Values that were
   * replaced while the loop was busy are left out; the last one never is. It ends when the log is closed.
   * @param {SinceOptions} [options]
   * @returns {import('../types').LogIterator<number>}
   * @throws flumelog:invalid
   */
  changes (options) {
    checkChangesNames(options ?? {})
    return new RecordIterator(sourceOf(this.observable), options?.signal)
  }

  /** What `changes` gives, for `for await (const seq of log.since)`. */
  [Symbol.asyncIterator] () {
    return this.changes()
  }
}

/**
 * @param {import('../types').Since} since
 * @returns {import('../read/source').Source<number>}
 */
function sourceOf (since) {
  /** @type {number | undefined} */
  let last
  let cancel = () => {}
  return (abort, cb) => {
    if (abort) {
      cancel()
      return cb(abort, NaN)
    }
    if (since.value !== last) {
      last = since.value
      return cb(null, /** @type {number} */ (last))
    }
    cancel = since.next((err, seq) => {
      if (err) return cb(isClosed(err) || err, NaN)
      last = seq
      cb(null, seq)
    })
  }
}

/** @param {Error & { code?: string }} err */
function isClosed ({ code }) {
  return code === 'flumelog:closed'
}

module.exports = { Since }
