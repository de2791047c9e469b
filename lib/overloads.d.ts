// The members of a log whose results depend on their options. By hand, since JSDoc has no place for
// the description of one overload of a type. `npm run build` copies this file to types/lib.

import type { StreamOptions } from './read/options'
import type { LogRecord, Source } from './read/source'
import type { Reclaimed, ReclaimOptions } from './space/reclaim'
import type { AppendOptions, CallbackError } from './types'

export interface Append<A> {
  /**
   * Appends a record, or an array of records in a row. The callback is called when they are written (with `sync: 'always'`, fsynced),
   * in the order of the calls, with the seq of the last one: its byte offset in the file, not a count.
   * Errors, with nothing stored: `flumelog:invalid` if the codec cannot encode a record, or it is empty or all zeros;
   * `flumelog:too-large`; `flumelog:overflow`; `flumelog:closed`; `flumelog:read-only`; `flumelog:failed` after a failed fsync;
   * errors of the operating system.
   */
  (value: A | A[], cb?: (err: CallbackError | null, seq: number) => void): void

  /**
   * Appends records as a batch: after a crash, either all of them are in the log or none. They have to fit into a block (else
   * `flumelog:too-large`). The callback is called when they are fsynced, with the seqs of all. Other errors as without `atomic`.
   */
  (value: A | A[], options: AppendOptions & { atomic: true }, cb?: (err: CallbackError | null, seqs: number[]) => void): void

  /**
   * Appends a record, or an array of records in a row. With `{ sync: true }`, or `true`, the callback is called when they are
   * fsynced. It gets the seq of the last one. Errors as without options.
   */
  (value: A | A[], options: AppendOptions & { atomic?: false } | boolean, cb?: (err: CallbackError | null, seq: number) => void): void

  /** Appends a record, or an array of records in a row; with `atomic`, the callback gets the seqs of all, else the last one. */
  (value: A | A[], options: AppendOptions | boolean, cb?: (err: CallbackError | null, seqs: number | number[]) => void): void
}

export interface StreamFunction<T> {
  /**
   * A pull-stream source of records as `{ seq, value }`, in the order of the file or, with `reverse`, last record first. Errors end
   * it: `flumelog:corrupt`, `flumelog:invalid` for an invalid option, `flumelog:closed`.
   */
  (options?: StreamOptions & { seqs?: true, values?: true }): Source<LogRecord<T>>
  /** The same with seqs only. */
  (options: StreamOptions & { values: false }): Source<number>
  /** The same with values only. */
  (options: StreamOptions & { seqs: false, values?: true }): Source<T>
  /** The same; what it gives depends on `seqs` and `values`. */
  (options: StreamOptions): Source<any>
}

export interface BatchFunction<T> {
  /** A pull-stream source of arrays of what `stream` gives, with the same options, a block at a time. No array is empty. */
  (options?: StreamOptions & { seqs?: true, values?: true }): Source<LogRecord<T>[]>
  /** The same with seqs only. */
  (options: StreamOptions & { values: false }): Source<number[]>
  /** The same with values only. */
  (options: StreamOptions & { seqs: false, values?: true }): Source<T[]>
  /** The same; what it gives depends on `seqs` and `values`. */
  (options: StreamOptions): Source<any[]>
}

export interface Reclaim {
  /**
   * Frees the space of all blocks whose records are deleted, now. The log can be used meanwhile. The callback is called when it is
   * free, with what was freed. Errors: `flumelog:read-only`, `flumelog:closed`.
   */
  (cb?: (err: CallbackError | null, reclaimed: Reclaimed) => void): void

  /** The same, with progress and a signal that ends it. Errors: also `flumelog:invalid`, and the reason of the signal. */
  (options: ReclaimOptions, cb?: (err: CallbackError | null, reclaimed: Reclaimed) => void): void
}
