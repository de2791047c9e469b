'use strict'

// What TypeScript shows: what a log has on a page and in a worker.

/**
 * @template T
 * @typedef {import('flumelog-random-access-file').Options<T>} CoreOptions
 */

/**
 * Options as for a log in a file. On a page, those that are functions are not possible, except a codec: it runs on the page.
 * @template T
 * @typedef {Omit<CoreOptions<T>, 'codec' | 'lock'>} OpenOptions
 */

/**
 * @template T
 * @typedef {object} Codec
 * @property {(value: T) => string | Uint8Array} encode
 * @property {(data: any) => T} decode
 * @property {boolean} [buffer] false: `decode` gets a string in place of bytes
 */

/**
 * @template I
 * @typedef {AsyncIterableIterator<I>} LogIterator
 */

/**
 * @typedef {import('flumelog-random-access-file/promises').IteratorOptions} IteratorOptions
 * @typedef {Omit<IteratorOptions, 'gt' | 'gte' | 'lt' | 'lte' | 'reverse' | 'old'>} CursorIteratorOptions
 * @typedef {import('flumelog-random-access-file').AppendOptions} AppendOptions
 * @typedef {import('flumelog-random-access-file').ScanOptions} ScanOptions
 * @typedef {import('flumelog-random-access-file').ErrorCode | 'flumelog:unsupported'} ErrorCode
 * @typedef {Omit<import('flumelog-random-access-file').LogError, 'code'> & { code: ErrorCode }} LogError an error of the log itself
 */

/**
 * @template T
 * @typedef {import('flumelog-random-access-file').LogRecord<T>} LogRecord
 */

/**
 * @template T
 * @typedef {import('flumelog-random-access-file').SizedRecord<T>} SizedRecord
 */

/**
 * Records, or what the options say: seqs or values only, or deleted records, too.
 * @template T
 * @template [O=IteratorOptions]
 * @typedef {{
 *   (options?: O & { seqs?: true, values?: true, deleted?: false }): LogIterator<LogRecord<T>>,
 *   (options: O & { seqs?: true, values?: true, deleted: true }): LogIterator<SizedRecord<T>>,
 *   (options: O & { values: false }): LogIterator<number>,
 *   (options: O & { seqs: false, values?: true, deleted?: false }): LogIterator<T>,
 *   (options: O & { seqs: false, values?: true, deleted: true }): LogIterator<T | null>,
 *   (options: O): LogIterator<any>
 * }} StreamFunction
 */

/**
 * Arrays of what `stream` gives.
 * @template T
 * @template [O=IteratorOptions]
 * @typedef {{
 *   (options?: O & { seqs?: true, values?: true, deleted?: false }): LogIterator<LogRecord<T>[]>,
 *   (options: O & { seqs?: true, values?: true, deleted: true }): LogIterator<SizedRecord<T>[]>,
 *   (options: O & { values: false }): LogIterator<number[]>,
 *   (options: O & { seqs: false, values?: true, deleted?: false }): LogIterator<T[]>,
 *   (options: O & { seqs: false, values?: true, deleted: true }): LogIterator<Array<T | null>>,
 *   (options: O): LogIterator<any[]>
 * }} BatchFunction
 */

/**
 * The seq of the last record; with `atomic`, those of all.
 * @template A
 * @typedef {{
 *   (value: A | A[], options: AppendOptions & { atomic: true }): Promise<number[]>,
 *   (value: A | A[], options?: AppendOptions & { atomic?: false }): Promise<number>,
 *   (value: A | A[], options?: AppendOptions): Promise<number | number[]>
 * }} Append
 */

/**
 * In a worker, the bytes are those of a block; on a page, those of the record. Null: the record is deleted.
 * @typedef {{
 *   (range: ScanOptions & { deleted?: false }, onRecord: (bytes: Uint8Array, start: number, end: number, seq: number) => boolean | void): Promise<void>,
 *   (range: ScanOptions, onRecord: (bytes: Uint8Array | null, start: number, end: number, seq: number) => boolean | void): Promise<void>
 * }} Scan
 */

/**
 * @template T
 * @typedef {object} CursorMembers
 * @property {string} name
 * @property {number | undefined} seq of the record that was committed last; -1: none; undefined until it is open
 * @property {() => Promise<number>} ready waits until it is open; its `seq`
 * @property {(seq: number, options?: import('flumelog-random-access-file').CommitOptions) => Promise<void>} commit
 * @property {() => Promise<void>} close
 * @property {StreamFunction<T, CursorIteratorOptions>} stream
 * @property {BatchFunction<T, CursorIteratorOptions>} batches
 */

/**
 * @template T
 * @typedef {CursorMembers<T> & AsyncDisposable} Cursor a named position in a log
 */

/**
 * @typedef {object} SinceMembers the seq of the last record, and its changes
 * @property {number | undefined} value
 * @property {(options?: { signal?: AbortSignal }) => Promise<number>} next
 * @property {(options?: { signal?: AbortSignal }) => AsyncIterable<number>} changes
 *
 * @typedef {SinceMembers & AsyncIterable<number>} Since
 */

/**
 * @template T a record
 * @template [A=T] what can be appended
 * @typedef {object} LogMembers
 * @property {string | null} filename the name passed to `open`
 * @property {number} start where the log starts, in bytes
 * @property {string} id another one after each compaction
 * @property {number} blockSize
 * @property {import('flumelog-random-access-file').Codec<T>} codec converts records to bytes and back
 * @property {number} [highWaterMark] in a worker: the option; assign to change it
 * @property {'owner' | 'client' | null} role with `shared`, whether this tab writes the files; on a page, as of the last answer of the worker
 * @property {Since} since
 * @property {Append<A>} append the seq of the last record
 * @property {(records: Iterable<A> | AsyncIterable<A>, options?: { sync?: boolean, signal?: AbortSignal }) => Promise<import('flumelog-random-access-file/promises').Stored>} appendFrom
 * @property {(seq: number) => Promise<T>} get
 * @property {(seq: number) => Promise<LogRecord<T>>} getPrevious
 * @property {(compare: (value: T, seq: number) => number | bigint) => Promise<LogRecord<T>>} search
 * @property {(seq: number | number[] | import('flumelog-random-access-file/promises').DeletionRange) => Promise<void>} del
 * @property {(options: { lt: number }) => Promise<number>} trim
 * @property {import('flumelog-random-access-file/promises').FlumeLog<T, A>['compact']} compact
 * @property {(listener: (map: { id: string, previousId: string | null, map: (seq: number) => Promise<number | null> }) => void) => () => void} [onCompact] in a worker
 * @property {(target: string, options?: import('flumelog-random-access-file/promises').BackupOptions) => Promise<import('flumelog-random-access-file/promises').BackedUp>} backup to another log of this origin, which is not open
 * @property {Scan} scan
 * @property {(name: string) => Cursor<T>} cursor
 * @property {() => Promise<import('flumelog-random-access-file').CursorInfo[]>} cursors
 * @property {StreamFunction<T>} stream
 * @property {BatchFunction<T>} batches
 * @property {() => import('flumelog-random-access-file').Stats | Promise<import('flumelog-random-access-file').Stats>} stats
 * @property {() => Promise<void>} drained
 * @property {() => Promise<void>} sync
 * @property {() => Promise<void>} close
 */

/**
 * The interface of flumelog-random-access-file/promises, without what needs Node.js.
 * @template T a record
 * @template [A=T] what can be appended
 * @typedef {LogMembers<T, A> & AsyncDisposable} Log
 */

module.exports = {}
