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

/** @typedef {import('flumelog-random-access-file').Stats & { reconnects: number }} Stats `reconnects`: how often the connection was there again */

/**
 * @template T
 * @typedef {object} StreamMembers
 * @property {(name: string, options?: import('./cursors/cursor-consumer').CursorOptions) => import('flumelog-random-access-file').Cursor<T>} cursor a named position
 *   in the stream that the servers keep. Several processes may have it: they share its records. Throws `flumelog:invalid`
 * @property {() => Stats} stats what a file has only is 0, or null
 */

/**
 * The members of a log in a file, but that `search` can also look for a time, and several processes may have a cursor. Not available, with
 * `flumelog:invalid`: `trim`, `compact` and `backup`.
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {Omit<import('flumelog-random-access-file').Log<T, A>, 'search' | 'cursor' | 'stats'> & SearchMembers<T> & StreamMembers<T>} JetStreamLog
 */

/** @typedef {number[]} Position a seq for each partition, -1 for none */

/**
 * @typedef {object} PartitionedStreamOptions
 * @property {Position} [gt] only records after this position
 * @property {Position} [lte] only records up to this position
 * @property {boolean} [live] at the end of the log, wait for more records; default false
 * @property {boolean} [old] false: only records acknowledged after the call; implies `live`; default true
 * @property {number} [limit] of `stream`: end after this number of records; default 0: no limit
 * @property {boolean} [seqs] give each record's seq; default true
 * @property {boolean} [values] give each record's value; default true
 */

/**
 * @template T
 * @typedef {Omit<import('flumelog-random-access-file').Cursor<T>, 'seq' | 'onReady'> & { seq: Position | undefined, onReady: (cb: (err: CallbackError | null, position: Position) => void) => void }} PartitionedCursor
 */

/** @typedef {Omit<import('flumelog-random-access-file').AppendOptions, 'after'> & { after?: number | Position }} PartitionedAppendOptions `after`: a seq, or a position */

/**
 * @template A
 * @typedef {{
 *   (value: A | A[], cb?: (err: CallbackError | null, seq: number) => void): void,
 *   (value: A | A[], options: PartitionedAppendOptions & { atomic: true }, cb?: (err: CallbackError | null, seqs: number[]) => void): void,
 *   (value: A | A[], options: PartitionedAppendOptions & { atomic?: false }, cb?: (err: CallbackError | null, seq: number) => void): void,
 *   (value: A | A[], options: PartitionedAppendOptions, cb?: (err: CallbackError | null, seqs: number | number[]) => void): void
 * }} PartitionedAppend
 */

/**
 * @template T
 * @template A
 * @typedef {object} PartitionMembers
 * @property {PartitionedAppend<A>} append
 * @property {Array<JetStreamLog<T, A>>} partitions the log of each stream
 * @property {(value: A) => number} partitionOf which of them is that of a value
 * @property {{ value: Position | undefined } & ((listener: (position: Position) => unknown, immediately?: boolean) => () => void)} since
 * @property {(options?: PartitionedStreamOptions) => (abort: any, cb: (end: any, item?: any) => void) => void} stream
 * @property {(options?: Omit<PartitionedStreamOptions, 'limit'>) => (abort: any, cb: (end: any, items?: any[]) => void) => void} batches
 * @property {(what: number | number[], cb?: (err: CallbackError | null) => void) => void} del
 * @property {(name: string, options?: import('./cursors/cursor-consumer').CursorOptions) => PartitionedCursor<T>} cursor
 * @property {(cb: (err: CallbackError | null, cursors: Array<{ name: string, seq: Position, held: boolean }>) => void) => void} cursors
 * @property {() => Stats[]} stats of each partition
 */

/**
 * A log that several streams share. What it does not have, each of `partitions` has.
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {Pick<JetStreamLog<T, A>, 'get' | 'onReady' | 'onDrain' | 'sync' | 'close' | 'codec'> & PartitionMembers<T, A>} PartitionedLog
 */

module.exports = {}
