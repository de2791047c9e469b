'use strict'

// The public members of a log in a stream. Types only.

/**
 * The members of a log in a file, but that `search` can also look for a time. Not available, with `flumelog:invalid`: `trim`,
 * `compact`, `reclaim`, `cursor`, `cursors` and `backup`.
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {Omit<import('../types').FlumeLog<T, A>, 'search'> & { search: Search<T> }} JetStreamLog
 */

/**
 * @template T
 * @typedef {(what: ((value: T, seq: number) => number | bigint) | { time: Date | number },
 *   cb: (err: import('../errors').CallbackError | null, seq: number, value: T) => void) => void} Search binary search for the first record for
 *   which the function returns >= 0, or the first one that was stored at a time or later, by the server's clock
 */

module.exports = {}
