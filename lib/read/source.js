'use strict'

// Pull-stream sources of records.

const errors = require('../errors')

/**
 * @typedef {true | import('../errors').CallbackError | null} End null: not ended; true: a normal end
 * @typedef {(end: End, item?: any) => void} Answer
 */

/**
 * A pull-stream source. If `end` is not null, there is no item.
 * @template [I=any]
 * @typedef {(abort: End, cb: (end: End, item: I) => void) => void} Source
 */

/**
 * @template [T=Buffer]
 * @typedef {object} LogRecord
 * @property {number} seq the offset in the file at which the record starts
 * @property {T} value the record, as the codec decodes it
 */

/**
 * What a stream with `deleted` gives.
 * @template [T=Buffer]
 * @typedef {object} SizedRecord
 * @property {number} seq the offset in the file at which the record starts
 * @property {T | null} value the record, as the codec decodes it; null: it is deleted
 * @property {number} size bytes that it takes in the file; of a large record, its last chunk
 */

/**
 * @param {() => Source} open throws if an option is wrong
 * @returns {Source} of which that is the error
 */
function openSource (open) {
  try {
    return open()
  } catch (thrown) {
    const err = errors.thrown('an option', thrown)
    return (abort, cb) => cb(abort || err, undefined)
  }
}

module.exports = { openSource }
