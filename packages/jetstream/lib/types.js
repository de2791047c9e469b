'use strict'

// The public members of a log in a stream. Types only.

/** @typedef {import('flumelog-random-access-file').CallbackError} CallbackError */

/**
 * @typedef {object} TimeQuery
 * @property {Date | number} time by the server's clock; a number: milliseconds since 1970
 */

/**
 * @template T
 * @typedef {object} SearchMembers
 * @property {(what: ((value: T, seq: number) => number | bigint) | TimeQuery, cb: (err: CallbackError | null, seq: number, value: T) => void) => void} search
 *   binary search for the first record for which the function returns >= 0, in a log that is ordered by what it compares; or the first record
 *   that was stored at a time or later. Errors: `flumelog:not-found` if there is none; `flumelog:invalid`; what the function throws
 */

/**
 * @template T
 * @typedef {object} CursorMembers
 * @property {(name: string, options?: import('./cursor-consumer').CursorOptions) => import('flumelog-random-access-file').Cursor<T>} cursor a named position
 *   in the stream that the servers keep. Several processes may have it: they share its records. Throws `flumelog:invalid`
 */

/**
 * The members of a log in a file, but that `search` can also look for a time, and several processes may have a cursor. Not available, with
 * `flumelog:invalid`: `trim`, `compact`, `reclaim` and `backup`.
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {Omit<import('flumelog-random-access-file').Log<T, A>, 'search' | 'cursor'> & SearchMembers<T> & CursorMembers<T>} JetStreamLog
 */

module.exports = {}
