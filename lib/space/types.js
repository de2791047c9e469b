'use strict'

// What callers give to `del`, `trim` and `compact`, and get from them. Types only.

/**
 * @typedef {object} DeletionRange records are deleted that start within all of these bounds; at least one of them is required
 * @property {number | null} [gt] only records after this offset; any integer
 * @property {number | null} [gte] only records at or after this offset
 * @property {number | null} [lt] only records before this offset
 * @property {number | null} [lte] only records at or before this offset
 *
 * @typedef {object} TrimOptions
 * @property {number} lt whole blocks are trimmed of which all records are before this offset; any integer
 *
 * @typedef {object} CompactProgress
 * @property {number} bytes of the log that are copied
 * @property {number} total bytes to copy; they may become more meanwhile
 *
 * @typedef {object} Compacted
 * @property {string} id of the log since
 * @property {number} before bytes from the log's start to its end
 * @property {number} after the same since
 * @property {number} records that were kept
 * @property {number} deleted records that are not there any more
 * @property {number} start of the log since
 *
 * @typedef {object} CompactionMap valid until the next compaction, or until the log is closed
 * @property {string} id of the log since
 * @property {string | null} previousId of the log before
 * @property {(seq: number) => Promise<number | null>} map where the record with this seq from before is since; null: it is gone. An offset
 *   at which no record started gives null, or an offset at which none starts
 */

/**
 * @typedef {object} CompactOptions
 * @property {(progress: CompactProgress) => void} [onProgress] called about once per MiB; what it throws ends the compaction
 * @property {AbortSignal} [signal] ends the compaction, with its reason
 */

module.exports = {}
