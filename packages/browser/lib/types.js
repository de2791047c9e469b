'use strict'

// What TypeScript shows: what a log has on a page and in a worker.

/**
 * @template T
 * @typedef {import('flumelog-random-access-file').Options<T>} CoreOptions
 */

/**
 * Options as for a log in a file. On a page, those that are functions are not possible, except a codec: it runs on the page.
 * @template T
 * @typedef {Omit<CoreOptions<T>, 'codec' | 'lock' | 'blocking'>} OpenOptions
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
 */

/**
 * @template T
 * @typedef {object} LogRecord
 * @property {number} seq
 * @property {T} value
 */

/**
 * @template T
 * @typedef {object} Cursor a named position in a log
 * @property {string} name
 * @property {number | undefined} seq of the record that was committed last; -1: none; undefined until it is open
 * @property {() => Promise<number>} ready waits until it is open; its `seq`
 * @property {(seq: number, options?: import('flumelog-random-access-file').CommitOptions) => Promise<void>} commit
 * @property {() => Promise<void>} close
 * @property {(options?: IteratorOptions) => LogIterator<LogRecord<T>>} stream
 * @property {(options?: IteratorOptions) => LogIterator<LogRecord<T>[]>} batches
 */

/**
 * @typedef {object} Since the seq of the last record, and its changes
 * @property {number | undefined} value
 * @property {(options?: { signal?: AbortSignal }) => Promise<number>} next
 * @property {(options?: { signal?: AbortSignal }) => AsyncIterable<number>} changes
 */

/**
 * @template T a record
 * @template [A=T] what can be appended
 * @typedef {object} Log the interface of flumelog-random-access-file/promises, without what needs Node.js
 * @property {string | null} filename the name passed to `open`
 * @property {number} start where the log starts, in bytes
 * @property {string} id another one after each compaction
 * @property {number} blockSize
 * @property {'owner' | 'client' | null} role with `shared`, whether this tab writes the files; on a page, as of the last answer of the worker
 * @property {Since} since
 * @property {(value: A | A[], options?: import('flumelog-random-access-file').AppendOptions) => Promise<any>} append the seq of the last record
 * @property {(records: Iterable<A> | AsyncIterable<A>, options?: { sync?: boolean, signal?: AbortSignal }) => Promise<import('flumelog-random-access-file/promises').Stored>} appendFrom
 * @property {(seq: number) => Promise<T>} get
 * @property {(seq: number) => Promise<LogRecord<T>>} getPrevious
 * @property {(compare: (value: T, seq: number) => number | bigint) => Promise<LogRecord<T>>} search
 * @property {(seq: number | number[] | import('flumelog-random-access-file/promises').DeletionRange) => Promise<void>} del
 * @property {(options: { lt: number }) => Promise<number>} trim
 * @property {(options?: any) => Promise<any>} compact
 * @property {(target: string, options?: import('flumelog-random-access-file/promises').BackupOptions) => Promise<import('flumelog-random-access-file/promises').BackedUp>} backup to another log of this origin, which is not open
 * @property {(range: any, onRecord: (bytes: any, start: number, end: number, seq: number) => boolean | void) => Promise<void>} scan
 * @property {(name: string) => Cursor<T>} cursor
 * @property {() => Promise<import('flumelog-random-access-file').CursorInfo[]>} cursors
 * @property {(options?: IteratorOptions) => LogIterator<LogRecord<T>>} stream
 * @property {(options?: IteratorOptions) => LogIterator<LogRecord<T>[]>} batches
 * @property {() => import('flumelog-random-access-file').Stats | Promise<import('flumelog-random-access-file').Stats>} stats
 * @property {() => Promise<void>} drained
 * @property {() => Promise<void>} sync
 * @property {() => Promise<void>} close
 */

module.exports = {}
