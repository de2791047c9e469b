'use strict'

// What callers give to this interface, and get from it. Types only.

/**
 * @typedef {import('flumelog-random-access-file').CallbackError} CallbackError
 * @typedef {(err?: CallbackError | null) => void} Done
 */

/**
 * @template [T=Buffer]
 * @typedef {object} Codec
 * @property {(value: T) => Uint8Array | string} encode what is stored; a string as UTF-8
 * @property {(data: Buffer) => T} decode what is given to readers
 */

/**
 * @template [T=Buffer]
 * @typedef {object} Options
 * @property {number} [blockSize] bytes per block of a new file; default 65536. Less than 32 counts as 32, more than 65536 as 65536
 * @property {Codec<T>} [codec] converts records to bytes and back; default: records are Buffers
 * @property {number} [writeTimeout] milliseconds after the last append until `since` moves and `onDrain` calls back; default 250. Records are
 *   written at once
 * @property {(data: Buffer) => boolean} [validateRecord] called by recovery for records that no checksum covers yet; false: the record is torn. If it
 *   throws, the opening fails
 * @property {boolean | 'keep' | 'remove'} [import] import a file of async-append-only-log that is found in the log's place. True or `'keep'`: it stays, as
 *   `FILE.async-append-only-log`; `'remove'`: it is removed once the new log is complete, or when it was kept before; default false
 * @property {number} [cacheSize] maximum bytes of blocks in the cache; default 64 MiB
 * @property {'always' | 'interval' | 'never'} [sync] when to fsync besides `onDrain`; default 'interval'
 */

/**
 * @typedef {object} StreamOptions
 * @property {number | null} [gt] only records after this offset
 * @property {number | null} [gte] only records at or after this offset
 * @property {number | null} [lt] only records before this offset
 * @property {number | null} [lte] only records at or before this offset
 * @property {boolean} [live] at the end of the log, wait for more records; default false
 * @property {number} [limit] end after this number of records, deleted ones included; default 0: no limit
 * @property {boolean} [offsets] give each record's offset; default true
 * @property {boolean} [values] give each record's value, null if it is deleted; default true
 * @property {boolean} [sizes] give the bytes that each record takes in the file; default false
 *
 * @typedef {object} Progress of a compaction
 * @property {number} percent from 0 to 1
 * @property {boolean} done false: a compaction is in progress, or was interrupted and will be done
 * @property {number} [startOffset] records before it keep their offsets
 * @property {number} [compactedOffset] up to here, the log is compacted
 * @property {number} [unshiftedOffset] of the first record that is not copied
 * @property {number} [sizeDiff] bytes that the log has become shorter, in whole blocks; 1 if it is only emptier in its last block
 * @property {number} [holesFound] deleted records that were left out
 *
 * @typedef {object} Statistics
 * @property {number} totalBytes the offset of the last record
 * @property {number} deletedBytes that deleted records take
 */

/**
 * @typedef {object} Sink the end of a push-stream
 * @property {boolean} [paused] true: nothing is written to it until it calls `resume` of its source
 * @property {boolean | Error | null} [ended] true: it wants no more, and its `end` is not called
 * @property {any} [source] set by `pipe`
 * @property {(item: any) => void} write takes a record
 * @property {(err?: CallbackError | null) => void} [end] called once, with null at the end of the log or the error that ended it
 */

/**
 * The source of a push-stream.
 * @typedef {object} Stream
 * @property {<S extends Sink>(sink: S) => S} pipe writes to a sink, or to a through that has been piped into one, until it pauses; returns it
 * @property {() => void} resume writes to the sink until it pauses. A sink calls this when it accepts records again
 * @property {(err?: Error | true | null) => void} abort ends the stream before its end, and calls the sink's `end` at once
 * @property {any} sink that it writes to; set its `paused`, and call `resume` when it accepts records again
 * @property {boolean} live whether it waits for more records at the end
 */

/**
 * @template V
 * @typedef {object} Observable of the package obz
 * @property {V} value the current one; undefined before there is one
 * @property {(value: V) => any} set only for the log itself
 * @property {(listener: (value: V) => unknown, immediately?: boolean) => () => void} once calls a listener once
 */

/**
 * @template V
 * @typedef {Observable<V> & ((listener: (value: V) => unknown, immediately?: boolean) => () => void)} Obz
 */

/**
 * @template [T=Buffer]
 * @typedef {object} Log
 * @property {(offset: number, cb: (err: CallbackError | null, value: T) => void) => void} get the record that starts at this offset, also if it is not written
 *   yet. Errors: `ERR_AAOL_DELETED_RECORD`, `ERR_AAOL_INVALID_OFFSET`, `ERR_AAOL_OFFSET_OUT_OF_BOUNDS`
 * @property {(value: T | T[], cb: (err: CallbackError | null, offset: number) => void) => void} append calls back at once, with the offset of the last record;
 *   `onDrain` says when it is stored. Throws if a record is larger than a block
 * @property {(values: T[], cb: (err: CallbackError | null, offsets: number[]) => void) => void} appendTransaction calls back at once; after a crash, all of
 *   them are in the log or none
 * @property {(offset: number, cb: Done) => void} del deletes a record; readers see it at once, `onDeletesFlushed` says when it is stored
 * @property {(cb: Done) => void} onDrain called when all that is appended is stored durably
 * @property {(cb: Done) => void} onDeletesFlushed called when all that is deleted is so durably
 * @property {(cb: Done) => void} compact leaves deleted records out; offsets change
 * @property {Obz<Progress>} compactionProgress observable of a compaction's progress: idle, it is `{ percent: 1, done: true, sizeDiff: 0 }`
 * @property {(cb: (err: CallbackError | null, statistics: Statistics) => void) => void} stats how large the log is, and how much of it is deleted
 * @property {Obz<number>} since the offset of the last record that is stored, and that live streams have got; -1 if the log is empty
 * @property {(options?: StreamOptions) => Stream} stream the source of a push-stream
 * @property {Set<Stream>} streams that are open
 * @property {(cb?: Done) => void} close stores everything, and ends all streams
 * @property {string} filename as it was given
 * @property {number} blockSize in bytes
 */

module.exports = {}
