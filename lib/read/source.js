'use strict'

// Pull-stream sources of records. Types only.

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

module.exports = {}
