// The members of a log whose results depend on their options. By hand, since JSDoc has no place for
// the description of one overload of a type. `npm run build` copies this file to types/lib.

import type { BackupCallback, BackupOptions } from './backup/types'
import type { ScanOptions, StreamOptions } from './read/options'
import type { LogRecord, SizedRecord, Source } from './read/source'
import type { Compacted, CompactOptions } from './space/types'
import type { AppendOptions, CallbackError, CommitOptions, Done, OnAnyRecord, OnRecord } from './types'

export interface Append<A> {
  /**
   * Appends a record, or an array of records in a row. The callback is called when they are written (with `sync: 'always'`, fsynced),
   * in the order of the calls, with the seq of the last one: its byte offset in the file, not a count.
   * Errors, with nothing stored: `flumelog:invalid` if the codec cannot encode a record, or it is empty or all zeros;
   * `flumelog:too-large`; `flumelog:closed`; `flumelog:read-only`; `flumelog:failed` after a failed fsync;
   * errors of the operating system.
   */
  (value: A | A[], cb?: (err: CallbackError | null, seq: number) => void): void

  /**
   * Appends records as a batch: after a crash, either all of them are in the log or none. They have to fit into a block (else
   * `flumelog:too-large`). The callback is called when they are fsynced, with the seqs of all. Other errors as without `atomic`.
   */
  (value: A | A[], options: AppendOptions & { atomic: true }, cb?: (err: CallbackError | null, seqs: number[]) => void): void

  /**
   * Appends a record, or an array of records in a row. With `{ sync: true }`, the callback is called when they are
   * fsynced. It gets the seq of the last one. A boolean is ignored. With `after`, nothing is stored unless the log's last record has that seq, else
   * `flumelog:conflict`. Other errors as without options.
   */
  (value: A | A[], options: AppendOptions & { atomic?: false } | boolean, cb?: (err: CallbackError | null, seq: number) => void): void

  /** Appends a record, or an array of records in a row; with `atomic`, the callback gets the seqs of all, else the last one. */
  (value: A | A[], options: AppendOptions | boolean, cb?: (err: CallbackError | null, seqs: number | number[]) => void): void
}

export interface StreamFunction<T, O = StreamOptions> {
  /**
   * A pull-stream source of records as `{ seq, value }`, in the order of the file or, with `reverse`, last record first. Errors end
   * it: `flumelog:corrupt`, `flumelog:trimmed`, `flumelog:invalid` for an invalid option, `flumelog:closed`.
   */
  (options?: O & { seqs?: true, values?: true, deleted?: false }): Source<LogRecord<T>>
  /** The same with deleted records, whose value is null, and with sizes. */
  (options: O & { seqs?: true, values?: true, deleted: true }): Source<SizedRecord<T>>
  /** The same with seqs only. */
  (options: O & { values: false }): Source<number>
  /** The same with values only. */
  (options: O & { seqs: false, values?: true, deleted?: false }): Source<T>
  /** The same with deleted records, for which it gives null. */
  (options: O & { seqs: false, values?: true, deleted: true }): Source<T | null>
  /** The same; what it gives depends on `seqs` and `values`. */
  (options: O): Source<any>
}

export interface Scan {
  /** Zero-copy iteration: nothing is allocated per record; stops when `onRecord` returns false. */
  (options: ScanOptions & { deleted?: false }, onRecord: OnRecord, cb: Done): void
  /** The same with deleted records, for which `onRecord` gets null in the place of the block. */
  (options: ScanOptions, onRecord: OnAnyRecord, cb: Done): void
}

export interface Compact {
  /**
   * Copies the log without its deleted records into another file, which takes its place: seqs change. Appends, reads and streams go on meanwhile. If it fails, the log is as it was.
   */
  (options: CompactOptions, cb: (err: CallbackError | null, compacted: Compacted) => void): void
  /** The same without options. */
  (cb: (err: CallbackError | null, compacted: Compacted) => void): void
}

export interface BatchFunction<T, O = StreamOptions> {
  /** A pull-stream source of arrays of what `stream` gives, with the same options, a block at a time. No array is empty. */
  (options?: O & { seqs?: true, values?: true, deleted?: false }): Source<LogRecord<T>[]>
  /** The same with deleted records, whose value is null, and with sizes. */
  (options: O & { seqs?: true, values?: true, deleted: true }): Source<SizedRecord<T>[]>
  /** The same with seqs only. */
  (options: O & { values: false }): Source<number[]>
  /** The same with values only. */
  (options: O & { seqs: false, values?: true, deleted?: false }): Source<T[]>
  /** The same with deleted records, for which it gives null. */
  (options: O & { seqs: false, values?: true, deleted: true }): Source<Array<T | null>>
  /** The same; what it gives depends on `seqs` and `values`. */
  (options: O): Source<any[]>
}

export interface Commit {
  /**
   * Stores that the record at `seq`, and all before it, are done. It is called back when that is written, or with `sync: 'always'` fsynced.
   * Errors: `flumelog:invalid` if the cursor is at a later seq already; `flumelog:not-found` if no record starts there;
   * `flumelog:closed`; errors of the operating system.
   */
  (seq: number, cb?: Done): void

  /** With `{ sync: true }`, it is fsynced before the callback. With `{ rewind: true }` the cursor may go back: -1 is the start of the log. */
  (seq: number, options: CommitOptions, cb?: Done): void
}

export interface Backup {
  /**
   * Copies what is acknowledged to a file, without deleted records; the log can be used meanwhile. The file is a valid, closed log. What is new is
   * appended to an earlier backup of this log; if records of that were deleted, trimmed or compacted since, a full copy replaces it. Errors:
   * `flumelog:corrupt`, with the offset, if a block of the log is corrupt; `flumelog:invalid` if the target is no backup of this log, or the log
   * itself; `flumelog:locked`; `EEXIST` if files of another log are beside the target; errors of the operating system.
   */
  (target: string, cb: BackupCallback): void

  /** Copies the log to a file, with options. The callback gets the reason of the signal if that ends it; the target is as it was then. */
  (target: string, options: BackupOptions, cb: BackupCallback): void
}
