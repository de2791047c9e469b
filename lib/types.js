'use strict'

// The members of a log, as they are documented and typed. Types only.

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {import('./read/options').StreamOptions} StreamOptions
 */

/**
 * @typedef {object} Cut what opening cut off, since it was no whole record
 * @property {number} offset where the log ends now
 * @property {number} bytes
 * @property {string | null} filename of the file that has it
 */

/**
 * @typedef {{ records: number, bytes: number }} Count bytes of data
 * @typedef {object} Stats counters, which only grow, and gauges
 * @property {Count} appended taken in by append
 * @property {Count} written acknowledged
 * @property {Count} synced acknowledged, and known to be on the disk
 * @property {Count} rejected got an error
 * @property {Count} inFlight appended, and neither acknowledged nor rejected
 * @property {number} writes to the file
 * @property {number} syncs of the file
 * @property {number} unsynced bytes written and not known to be on the disk
 * @property {{ hits: number, misses: number, evictions: number }} cache blocks
 * @property {number} streams that are open
 * @property {number} size bytes in the log
 * @property {number} blocks in the log, the last one included
 * @property {number} recovered bytes behind the recovery point that opening found whole
 * @property {Cut | null} cut what opening cut off
 */

/**
 * The part of an `obz` observable that reads it. Called with a listener, it calls that with the seq there is (unless
 * `immediately` is false) and with each that comes; what it returns, and false from the listener, ends that.
 * @typedef {{
 *   (listener: (seq: number) => unknown, immediately?: boolean): () => void,
 *   once (listener: (seq: number) => unknown, immediately?: boolean): () => void,
 *   readonly value: number | undefined
 * }} Since
 */

/**
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what may be appended
 * @typedef {object} FlumeLog
 * @property {string | null} filename the path it was opened with; null for a storage that has none
 * @property {number} blockSize in bytes; what the file says, once the log is open
 * @property {import('./options').Codec<T>} codec
 * @property {Since} since `obz` observable of the last record's seq: undefined until open, -1 when empty
 * @property {number} highWaterMark see the option
 * @property {'queue' | 'reject'} overflow see the option
 * @property {Append<A>} append
 * @property {(seq: number, cb: (err: Error | null, value?: T) => void) => void} get
 *   the record that starts at `seq`. Errors: `flumelog:deleted`; `flumelog:not-found` if no record starts there;
 *   `flumelog:invalid` if `seq` is no integer >= 0; `flumelog:corrupt`
 * @property {(seq: number, cb: (err: Error | null, value?: T, seq?: number) => void) => void} getPrevious
 *   the record before the one at `seq`, deleted ones left out; `seq` may also be where the log ends.
 *   Errors as for get; `flumelog:not-found` if there is none before it
 * @property {import('./read/source').StreamFunction<T>} stream a pull-stream source of `{ seq, value }`, of seqs or of values
 * @property {(options: import('./read/options').ScanOptions, onRecord: import('./read/scan').OnRecord, cb: (err: Error | null) => void) => void} scan
 *   the same walk without making a Buffer or an object a record; ends with the first record for which false is returned
 * @property {(options?: import('./write/sink').SinkOptions | import('./write/sink').Sunk, cb?: import('./write/sink').Sunk) => import('./write/sink').Sink<A>} sink
 *   a pull-stream sink that appends what it is given, in order. It stops reading while `highWaterMark` bytes are in
 *   flight, until half of them are written. `cb(err, { records, bytes, seq })` when all of it is stored
 * @property {(compare: (value: T, seq: number) => number | bigint, cb: (err: Error | null, seq?: number, value?: T) => void) => void} search
 *   the first record for which `compare` is >= 0, in a log that is in the order of what it compares.
 *   Errors: `flumelog:not-found` if it is negative for all; `flumelog:invalid` if it gives no number; what it throws
 * @property {(seq: number | number[], cb?: Done) => void} del zeroes the record, or the records. To delete one
 *   that is deleted already is no error. Errors: `flumelog:not-found`, `flumelog:invalid`, `flumelog:read-only`
 * @property {(cb: (err: Error | null, cut?: Cut | null) => void) => void} onReady the log is open, or cannot be opened
 * @property {(cb: Done) => void} onDrain all appended so far is written
 * @property {(cb?: Done) => void} sync all appended so far is on the disk
 * @property {(cb?: Done) => void} close all appended is on the disk, and the lock is released. To close twice is no error
 * @property {() => Stats} stats
 * @property {{ del: 'async' }} methods what flumedb adds to its own methods
 */

/**
 * @typedef {object} AppendOptions
 * @property {boolean} [sync] it is on the disk before the callback
 * @property {boolean} [atomic] after a crash all of a batch is there, or none of it; it gets a block of its own, and is
 *   on the disk before the callback, which is given the seqs of all its records. Too large for one block is `flumelog:too-large`
 */

/**
 * Stores a record, or several that come to stand one after the other. The callback is called, in the order of the calls,
 * when all of them are written; or synced, with `sync: 'always'` or `options.sync`. `seq` is the last record's.
 * Errors, with nothing stored: `flumelog:invalid` for what the codec cannot encode, an empty record, or one of
 * zeros only; `flumelog:too-large`; `flumelog:overflow`; `flumelog:closed`; `flumelog:read-only`; `flumelog:failed` after a failed sync;
 * those of the operating system.
 * @template [A=Buffer]
 * @typedef {{
 *   (value: A | A[], cb?: (err: Error | null, seq?: number) => void): void,
 *   (value: A | A[], options: AppendOptions & { atomic: true }, cb?: (err: Error | null, seqs?: number[]) => void): void,
 *   (value: A | A[], options: AppendOptions & { atomic?: false } | boolean, cb?: (err: Error | null, seq?: number) => void): void
 * }} Append
 */

module.exports = {}
