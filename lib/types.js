'use strict'

// The public members of a log. Types only.

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {import('./read/options').StreamOptions} StreamOptions
 */

/**
 * @typedef {object} Cut what recovery truncated: bytes after the last whole record
 * @property {number} offset at which the log ends now
 * @property {number} bytes that were truncated
 * @property {string | null} filename of the file that keeps them; null if there is none
 */

/**
 * @typedef {{ records: number, bytes: number }} Count bytes of data
 * @typedef {object} ClientStats a process that has the log open as a client
 * @property {string} id another one each time it opens the log
 * @property {number} pid
 * @property {Count} appended stored for it by this owner
 * @property {Count} inFlight received from it and not stored yet
 * @typedef {object} Stats counters, which only grow, and gauges
 * @property {Count} appended accepted by `append`
 * @property {Count} written acknowledged
 * @property {Count} synced acknowledged and fsynced
 * @property {Count} rejected failed with an error
 * @property {Count} inFlight appended, neither acknowledged nor rejected yet
 * @property {number} writes write calls
 * @property {number} syncs fdatasync calls
 * @property {number} unsynced bytes acknowledged and not yet fsynced
 * @property {{ hits: number, misses: number, evictions: number }} cache lookups of blocks, and blocks evicted
 * @property {number} streams open streams
 * @property {ClientStats[]} clients with `shared`, in the owner: the other processes; empty otherwise
 * @property {number} refused with `shared`, in the owner: connections that were closed because of what they had sent
 * @property {number} size of the log in bytes
 * @property {number} blocks in the log, including the last one
 * @property {number | null} records acknowledged and not deleted; null: not known, or another process writes the log
 * @property {number | null} recordsEstimate the same number if it is known; null if another process writes the log
 * @property {number} recovered bytes behind the recovery point that recovery kept
 * @property {Cut | null} cut what recovery truncated
 */

/**
 * The reading side of an `obz` observable. Calls a listener with the current seq (unless `immediately` is false) and with
 * every later one, until the function it returned is called or the listener returns false.
 * @typedef {{
 *   (listener: (seq: number) => unknown, immediately?: boolean): () => void,
 *   once (listener: (seq: number) => unknown, immediately?: boolean): () => void,
 *   readonly value: number | undefined
 * }} Since
 */

/**
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {object} FlumeLog
 * @property {string | null} filename the path passed to FlumeLog; null for a storage without one
 * @property {number} blockSize in bytes; that of the file, once the log is open
 * @property {import('./options').Codec<T>} codec
 * @property {'owner' | 'client' | null} role with `shared`, once the log is open: whether this process writes the file. A client
 *   may become the owner; null if the log is not shared
 * @property {Since} since `obz` observable of the last record's seq: undefined until open, -1 when empty
 * @property {number} highWaterMark see the option
 * @property {'queue' | 'reject'} overflow see the option
 * @property {Append<A>} append
 * @property {(seq: number, cb: (err: Error | null, value?: T) => void) => void} get
 *   reads the record that starts at `seq`. Errors: `flumelog:deleted`; `flumelog:not-found` if no record starts there;
 *   `flumelog:invalid` if `seq` is not an integer >= 0; `flumelog:corrupt`
 * @property {(seq: number, cb: (err: Error | null, value?: T, seq?: number) => void) => void} getPrevious
 *   reads the record before the one at `seq`, skipping deleted ones; `seq` may also be the end of the log.
 *   Errors as for `get`; `flumelog:not-found` if there is no earlier record
 * @property {import('./read/source').StreamFunction<T>} stream a pull-stream source of `{ seq, value }`, of seqs or of values
 * @property {import('./read/source').BatchFunction<T>} batches a pull-stream source of arrays of what `stream` gives, a block at a time
 * @property {(options: import('./read/options').ScanOptions, onRecord: import('./read/scan').OnRecord, cb: (err: Error | null) => void) => void} scan
 *   zero-copy iteration: nothing is allocated per record; stops when `onRecord` returns false
 * @property {(options?: import('./write/sink').SinkOptions | import('./write/sink').Sunk, cb?: import('./write/sink').Sunk) => import('./write/sink').Sink<A>} sink
 *   a pull-stream sink that appends what it reads, in order. It stops reading when `highWaterMark` bytes are in
 *   flight, until half of them are written. Calls `cb(err, { records, bytes, seq })` when everything is stored
 * @property {(compare: (value: T, seq: number) => number | bigint, cb: (err: Error | null, seq?: number, value?: T) => void) => void} search
 *   binary search for the first record for which `compare` returns >= 0, in a log that is ordered by what it compares.
 *   Errors: `flumelog:not-found` if there is none; `flumelog:invalid` if it does not return a number; what it throws
 * @property {(seq: number | number[], cb?: Done) => void} del overwrites one or more records with zeros. Deleting
 *   a deleted record is not an error. When it calls back, the deletion is as durable as an append without options. Errors:
 *   `flumelog:not-found`, `flumelog:invalid`, `flumelog:read-only`
 * @property {(cb: (err: Error | null, cut?: Cut | null) => void) => void} onReady called when the log is open, or cannot be opened
 * @property {(cb: Done) => void} onDrain called when everything appended so far is written
 * @property {(cb?: Done) => void} sync fsyncs everything appended and deleted so far
 * @property {(cb?: Done) => void} close fsyncs everything appended and releases the lock. Closing twice is not an error
 * @property {() => Stats} stats
 * @property {{ del: 'async' }} methods those that flumedb exposes
 */

/**
 * @typedef {object} AppendOptions
 * @property {boolean} [sync] fsync before the callback
 * @property {boolean} [atomic] after a crash, either the whole batch is in the log or none of it. It has to fit into a
 *   block (else `flumelog:too-large`) and is fsynced before the callback, which gets the seqs of all records
 */

/**
 * Appends a record, or several in a row. Callbacks are called in the order of the calls, when all records are written, or
 * fsynced with `sync: 'always'` or `options.sync`. `seq` is that of the last record. Errors, with nothing stored:
 * `flumelog:invalid` if the codec cannot encode a record, or it is empty or all zeros; `flumelog:too-large`;
 * `flumelog:overflow`; `flumelog:closed`; `flumelog:read-only`; `flumelog:failed` after a failed fsync; errors of the
 * operating system.
 * @template [A=Buffer]
 * @typedef {{
 *   (value: A | A[], cb?: (err: Error | null, seq?: number) => void): void,
 *   (value: A | A[], options: AppendOptions & { atomic: true }, cb?: (err: Error | null, seqs?: number[]) => void): void,
 *   (value: A | A[], options: AppendOptions & { atomic?: false } | boolean, cb?: (err: Error | null, seq?: number) => void): void
 * }} Append
 */

module.exports = {}
