'use strict'

// The public members of a log, and of what they return. Types only: what a successful
// callback is given is not optional, as in the types of Node.js.

/**
 * @typedef {import('./errors').CallbackError} CallbackError
 * @typedef {(err: CallbackError | null) => void} Done
 * @typedef {import('./read/options').StreamOptions} StreamOptions
 */

/**
 * @typedef {(err: CallbackError | null, start: number) => void} Trimmed given where the log starts
 */

/**
 * @typedef {object} Cut what recovery truncated: bytes after the last whole record
 * @property {number} offset at which the log ends now
 * @property {number} bytes that were truncated
 * @property {string | null} filename of the file that keeps them; null if there is none
 */

/**
 * @typedef {object} Count
 * @property {number} records number of records
 * @property {number} bytes of their data
 *
 * @typedef {object} CacheStats
 * @property {number} hits lookups of blocks that were in the cache
 * @property {number} misses lookups of blocks that were not
 * @property {number} evictions blocks that made room for others
 *
 * @typedef {object} ClientStats a process that has the log open as a client
 * @property {string} id another one each time it opens the log
 * @property {number} pid its process id
 * @property {Count} appended stored for it by this owner
 * @property {Count} inFlight received from it and not stored yet
 * @typedef {object} Stats counters, which only grow, and gauges
 * @property {Count} appended accepted by `append`
 * @property {Count} written acknowledged
 * @property {Count} inFlight appended, neither acknowledged nor failed yet
 * @property {number} writes write calls
 * @property {number} syncs fdatasync calls
 * @property {number} unsynced bytes acknowledged and not yet fsynced
 * @property {CacheStats} cache lookups of blocks, and blocks evicted
 * @property {number} streams open streams
 * @property {ClientStats[]} clients with `shared`, in the owner: the other processes; empty otherwise
 * @property {number} refused with `shared`, in the owner: connections that were closed because of what they had sent
 * @property {number} size of the log in bytes
 * @property {number | null} allocated bytes that the file takes: fewer than `size` where it has holes. Null: the log is not open
 * @property {boolean | null} holes whether the space of deleted blocks is freed; false: the file system or the runtime cannot. Null: not known yet
 * @property {number} start offset of the first block that is not trimmed; 0 if none was
 * @property {number} blocks in the log that are not trimmed, including the last one
 * @property {number} recovered bytes behind the recovery point that recovery kept
 * @property {Cut | null} cut what recovery truncated
 */

/**
 * @typedef {object} SinkOptions
 * @property {boolean} [sync] everything is durable before the callback; default false
 *
 * @typedef {object} Stored how much was stored
 * @property {number} records number of records
 * @property {number} bytes of their data
 * @property {number} seq of the last record; -1 if there is none
 *
 * @typedef {(err: CallbackError | null, stored: Stored) => void} Sunk
 */

/**
 * @template [A=any]
 * @typedef {(read: (abort: import('./read/source').End, cb: (end: import('./read/source').End, item?: A) => void) => void) => void} Sink
 */

/**
 * @callback OnRecord
 * @param {Buffer} block the bytes of a whole block, or of a large record; not to be changed
 * @param {number} start where the record's data starts in it
 * @param {number} end where the record's data ends in it
 * @param {number} seq the record's offset in the file
 * @returns {boolean | void} false: stop
 */

/**
 * `OnRecord` of a scan with `deleted`.
 * @callback OnAnyRecord
 * @param {Buffer | null} block null: the record is deleted
 * @param {number} start where the record's data starts in the block
 * @param {number} end where the record's data ends in it
 * @param {number} seq the record's offset in the file
 * @returns {boolean | void} false: stop
 */

/**
 * @typedef {object} SinceMembers
 * @property {(listener: (seq: number) => unknown, immediately?: boolean) => () => void} once calls a listener once, with the
 *   current seq or, if there is none or `immediately` is false, with the next one; returns a function that removes the listener
 * @property {(cb: (err: CallbackError | null, seq: number) => void) => () => void} next calls back once, later: with the seq after the next
 *   change, or with the error if there will be none (`flumelog:closed`); returns a function that stops waiting
 * @property {number | undefined} value the last record's seq: undefined until the log is open, -1 when it is empty. Read-only
 *
 * @typedef {(listener: (seq: number) => unknown, immediately?: boolean) => () => void} Listen
 */

/**
 * The reading side of an observable with the interface of `obz`. Calls a listener with the current seq (unless `immediately` is false) and with
 * every later one, until the function it returned is called or the listener returns false.
 * @typedef {Listen & Readonly<SinceMembers>} Since
 */

/**
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {object} FlumeLog
 * @property {string} filename the path passed to FlumeLog
 * @property {number} blockSize in bytes; that of the file, once the log is open
 * @property {number} start where the log starts, in bytes: what was before this offset has been trimmed. 0 if nothing was, and until the log is open
 * @property {import('./options').Codec<T>} codec converts records to bytes and back; see the option
 * @property {'owner' | 'client' | null} role with `shared`, once the log is open: whether this process writes the file. A client
 *   may become the owner; null if the log is not shared
 * @property {Since} since observable of the last record's seq: undefined until open, -1 when empty
 * @property {number} highWaterMark limit on the bytes in flight of each sink; see the option
 * @property {import('./overloads').Append<A>} append appends a record, or several in a row. Callbacks are called in the order of the calls, when all
 *   records are written, or fsynced with `sync: 'always'` or `options.sync`. `seq` is that of the last record; with
 *   `atomic`, the callback gets the seqs of all.
 *   Errors, with nothing stored: `flumelog:invalid` if the codec cannot encode a record, or it is empty or all zeros;
 *   `flumelog:too-large`; `flumelog:conflict`; `flumelog:closed`; `flumelog:read-only`; `flumelog:failed` after a failed
 *   fsync; errors of the operating system
 * @property {(seq: number, cb: (err: CallbackError | null, value: T) => void) => void} get
 *   reads the record that starts at `seq`. Errors: `flumelog:deleted`; `flumelog:trimmed` if `seq` is before the start of the log; `flumelog:not-found`
 *   if no record starts there; `flumelog:invalid` if `seq` is not an integer >= 0; `flumelog:corrupt`
 * @property {(seq: number, cb: (err: CallbackError | null, value: T, seq: number) => void) => void} getPrevious
 *   reads the last record before the offset `seq`, skipping deleted ones: `stream({ lt: seq, reverse: true, limit: 1 })`.
 *   Errors: those of `stream`; `flumelog:not-found` if there is no earlier record
 * @property {import('./overloads').StreamFunction<T>} stream a pull-stream source of records as `{ seq, value }`, of their seqs
 *   (`values: false`) or of their values (`seqs: false`), in the order of the file or, with `reverse`, last record first.
 *   Errors end it: `flumelog:corrupt`, `flumelog:trimmed`, `flumelog:invalid` for an invalid option, `flumelog:closed`
 * @property {import('./overloads').BatchFunction<T>} batches a pull-stream source of arrays of what `stream` gives, a block at a
 *   time; no array is empty
 * @property {import('./overloads').Scan} scan
 *   zero-copy iteration: nothing is allocated per record; stops when `onRecord` returns false
 * @property {(options?: SinkOptions | Sunk, cb?: Sunk) => Sink<A>} sink
 *   a pull-stream sink that appends what it reads, in order. It stops reading when `highWaterMark` bytes of its records are in
 *   flight, until half of them are acknowledged. Calls `cb(err, { records, bytes, seq })` when everything is stored
 * @property {(compare: (value: T, seq: number) => number | bigint, cb: (err: CallbackError | null, seq: number, value: T) => void) => void} search
 *   binary search for the first record for which `compare` returns >= 0, in a log that is ordered by what it compares.
 *   Errors: `flumelog:not-found` if there is none; `flumelog:invalid` if it does not return a number; what it throws
 * @property {(seq: number | number[] | import('./space/types').DeletionRange, cb?: Done) => void} del overwrites one or more records,
 *   or all records in a range of offsets, with zeros. Blocks in which nothing is left are freed. Deleting
 *   a deleted record is not an error, nor is an empty range. When it calls back, the deletion is as durable as an append without options. Errors:
 *   `flumelog:not-found`; `flumelog:trimmed`; `flumelog:compacted` if the log was compacted while the call waited; `flumelog:corrupt`;
 *   `flumelog:invalid`; `flumelog:read-only`
 * @property {string | null} id identity of the log, which changes with each compaction: seqs that were kept elsewhere are only good for the log
 *   with the id that it had then. `'0'` for a log that was never compacted; null until the log is open
 * @property {import('./overloads').Compact} compact copies the log without its deleted records into another file, which takes its place: seqs
 *   change. Appends, reads and streams go on meanwhile. Errors, with the log as it was: `flumelog:invalid` if a compaction is in progress;
 *   `flumelog:corrupt` if a block is corrupt; `ENOSPC`; `flumelog:read-only`; `flumelog:closed`; the reason of the signal
 * @property {(listener: (map: import('./space/types').CompactionMap) => void) => () => void} onCompact calls a listener after each compaction,
 *   with a map from the seqs before to those since; returns a function that removes it
 * @property {(options: import('./space/types').TrimOptions, cb?: Trimmed) => void} trim removes whole blocks at the head of the log, of which
 *   all records are before `options.lt`, and frees their space; offsets stay. The block with the last record stays, and so does the first block
 *   if no other goes with it. Calls back with the offset at which the log starts then, when a crash does not undo it. Errors:
 *   `flumelog:invalid`, `flumelog:read-only`, errors of the operating system: nothing is trimmed, or, if `start` has moved, the space will be freed later
 * @property {(name: string) => Cursor<T>} cursor a named position in the log that survives restarts, beside the log in a file of its own. A
 *   process holds it until the cursor, or the log, is closed; the same name gives the same cursor until then. Throws
 *   `flumelog:invalid` if the name is not 1 to 64 letters, digits, `-` or `_`
 * @property {(cb: (err: CallbackError | null, cursors: CursorInfo[]) => void) => void} cursors lists the cursors of the log, by name
 * @property {import('./overloads').Backup} backup copies the log, which can be used meanwhile, to a file that is a valid log, or brings an earlier
 *   backup up to date
 * @property {(cb: (err: CallbackError | null, cut: Cut | null) => void) => void} onReady called when the log is open, or cannot be
 *   opened; `cut` is what recovery truncated
 * @property {(cb: Done) => void} onDrain called when everything appended so far is acknowledged
 * @property {(cb?: Done) => void} sync fsyncs everything appended and deleted so far
 * @property {(cb?: Done) => void} close fsyncs everything appended and releases the lock. Closing twice is not an error
 * @property {() => Stats} stats what the log counts, since it was opened, and its size
 * @property {Methods} methods those that flumedb exposes
 */

/**
 * @typedef {object} Methods
 * @property {'async'} del takes a callback
 */

/**
 * A named position in a log. Calls wait until it is open; if it cannot be opened, they get the error: `flumelog:locked` if
 * another process holds it, `flumelog:corrupt` if its file is corrupt.
 * @template [T=Buffer] a record, as the codec decodes it
 * @typedef {object} Cursor
 * @property {string} name as passed to `cursor`
 * @property {number | undefined} seq of the record that was committed last; -1: none; undefined until it is open
 * @property {import('./overloads').StreamFunction<T, import('./read/options').CursorStreamOptions>} stream a pull-stream source of the
 *   records after the one that was committed last. Errors end it: those of the log's `stream`; `flumelog:invalid` if the position
 *   cannot be one of this log
 * @property {import('./overloads').BatchFunction<T, import('./read/options').CursorStreamOptions>} batches the same in arrays, a block at
 *   a time
 * @property {import('./overloads').Commit} commit stores that the record at `seq`, and all before it, are done. Calls in a row share a write, and
 *   are called back in order. The records are fsynced first; the commit itself is then as durable as `sync` of the log says.
 *   Errors: `flumelog:invalid` if the cursor is at a later seq already; `flumelog:not-found` if no record starts there;
 *   `flumelog:closed`; errors of the operating system
 * @property {(cb: (err: CallbackError | null, seq: number) => void) => void} onReady called when it is open, with `seq`, or cannot be opened
 * @property {(cb?: Done) => void} close fsyncs what was committed, ends its streams, and releases it. Closing the log closes all
 *
 * @typedef {object} CommitOptions
 * @property {boolean} [sync] fsync before the callback
 * @property {boolean} [rewind] the cursor may go back; -1: to the start of the log
 *
 * @typedef {object} CursorInfo
 * @property {string} name the cursor's
 * @property {number | null} seq of the record that was committed last; -1: none; null: its file is corrupt
 * @property {boolean} held whether a process holds it; false if that cannot be known here
 */

/**
 * @typedef {object} AppendOptions
 * @property {boolean} [sync] fsync before the callback
 * @property {boolean} [atomic] after a crash, either the whole batch is in the log or none of it. It has to fit into a
 *   block (else `flumelog:too-large`) and is fsynced before the callback, which gets the seqs of all records
 * @property {number} [after] stores nothing, and gives `flumelog:conflict`, unless the log's last record has this seq; -1: unless the log is empty
 * @property {string} [key] in a log of the package flumelog-jetstream only: stores nothing, and gives the earlier record's seq, if one was appended with this
 *   key within the stream's duplicate window. Elsewhere `flumelog:invalid`
 */

// What the wrappers return: the members that callers use, of the classes in wrappers/

/**
 * @template I
 * @typedef {object} IteratorMembers
 * @property {() => Promise<IteratorResult<I, undefined>>} next the next item. Rejects with the error of the log, or the signal's reason
 * @property {() => Promise<IteratorResult<I, undefined>>} return closes the stream, as `break` does
 * @property {(err: unknown) => Promise<IteratorResult<I, undefined>>} throw closes the stream, and rejects with `err`
 */

/**
 * What a stream yields, for one `for await` loop. Leaving the loop in any way closes the stream; so does `await using`.
 * @template I
 * @typedef {IteratorMembers<I> & AsyncIterableIterator<I> & AsyncDisposable} LogIterator
 */

module.exports = {}
