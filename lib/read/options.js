'use strict'

// The options of streams and scans, with their validation, and what readers need of a log.

const errors = require('../errors')
const { format } = require('../format-value')
const { copyOptions, mustBeOptions, optionNames } = require('../option-names')

const RANGE_NAMES = ['gt', 'gte', 'lt', 'lte', 'reverse', 'cache', 'fromStart']
const STREAM_NAMES = [...RANGE_NAMES, 'deleted', 'live', 'old', 'limit', 'seqs', 'values', 'skipCorrupt', 'onSkip']

const SCAN_NAMES = [...RANGE_NAMES, 'deleted', 'reuse']

const checkScanNames = optionNames('scan', SCAN_NAMES)

/**
 * @typedef {object} RangeOptions
 * @property {number | null} [gt] only records after this offset; any integer
 * @property {number | null} [gte] only records at or after this offset
 * @property {number | null} [lt] only records before this offset
 * @property {number | null} [lte] only records at or before this offset
 * @property {boolean} [reverse] last record first; default false
 * @property {boolean} [cache] whether blocks that are read go into the cache; default true
 * @property {boolean} [fromStart] go on at the start of the log if records have been trimmed that were to come, instead of ending with
 *   `flumelog:trimmed`; default false
 *
 * @typedef {object} Skipped a range that a stream with `skipCorrupt` left out
 * @property {number} start offset of its first byte
 * @property {number} end offset after its last byte
 * @property {import('../errors').CallbackError} error the reason
 *
 * @typedef {object} StreamOnlyOptions
 * @property {boolean} [deleted] give deleted records, too, with the value null, and with each record its `size`: the bytes that it takes in the file.
 *   A block whose records are all deleted may be given as one deleted record; with the option large, so is each chunk of a deleted one.
 *   `limit` counts them; default false
 * @property {boolean} [live] at the end of the log, wait for more records; default false
 * @property {boolean} [old] false: only records acknowledged after the call of `stream`, or after the log was opened, if
 *   that is later; implies `live`; default true
 * @property {number} [limit] end after this number of records; 0 or less, as in other flumelogs: no limit; default 0
 * @property {boolean} [seqs] give each record's seq; default true
 * @property {boolean} [values] give each record's value; default true
 * @property {boolean} [skipCorrupt] skip corrupt blocks, and records that the codec cannot decode, instead of
 *   ending with an error; default false
 * @property {(range: Skipped) => void} [onSkip] called with each range that is skipped; if it throws, the stream ends
 *   with that error
 *
 * @typedef {RangeOptions & StreamOnlyOptions} StreamOptions
 *
 * @typedef {Pick<RangeOptions & StreamOnlyOptions, 'deleted' | 'live' | 'limit' | 'seqs' | 'values' | 'cache' | 'skipCorrupt' | 'onSkip' | 'fromStart'>} CursorStreamOptions
 *
 * @typedef {object} ScanOnlyOptions
 * @property {boolean} [deleted] call `onRecord` for deleted records, too, with null in the place of the block; default false
 * @property {boolean} [reuse] reuse the memory of earlier blocks, which is faster if the log does not fit into the
 *   cache: then the bytes are valid only until `onRecord` returns; copy what you keep; default false
 *
 * @typedef {RangeOptions & ScanOnlyOptions} ScanOptions
 *
 * @typedef {object} Range what a cursor iterates over
 * @property {number} min the least seq, inclusive; may be -Infinity
 * @property {number} max the greatest seq, inclusive; may be Infinity
 * @property {boolean} reverse
 * @property {boolean} useCache whether blocks go into the cache
 * @property {boolean} fromStart whether to go on at the log's start where blocks were trimmed
 * @property {boolean} [mayJump] the same before the first record; default: if `fromStart`, or without a lower bound
 * @property {boolean} [textByBlock] whether records may be decoded a block at a time, if the caller keeps no text, which would
 *   keep all of the block
 * @property {boolean} [needsData] false: large records need not be put together; default true
 * @property {boolean} [isSingle] whether one record is wanted: nothing is read ahead
 * @property {boolean} [reuseMemory] whether the memory of a block may be reused once the cursor has left it
 */

/**
 * @param {ScanOptions} options
 * @returns {ScanOptions} see `copyOptions`
 */
function copyScanOptions (options) {
  return copyOptions(options, SCAN_NAMES, checkScanNames)
}

/**
 * @param {StreamOptions} options
 * @returns {StreamOptions} see `copyOptions`
 */
function copyStreamOptions (options) {
  return copyOptions(options, STREAM_NAMES, checkStreamOptions)
}

/**
 * @param {ScanOptions} options
 * @returns {Range}
 * @throws flumelog:invalid
 */
function scanRangeOf (options) {
  checkScanNames(options)
  return { ...rangeOf(options), reuseMemory: !!options.reuse }
}

/**
 * @param {RangeOptions} options
 * @returns {Range}
 * @throws flumelog:invalid for a bound that is no integer
 */
function rangeOf (options) {
  const { gt, gte, lt, lte } = options
  return {
    min: Math.max(checkBound('gt', gt, -Infinity) + 1, checkBound('gte', gte, -Infinity)),
    max: Math.min(checkBound('lt', lt, Infinity) - 1, checkBound('lte', lte, Infinity)),
    reverse: !!options.reverse,
    useCache: options.cache !== false,
    fromStart: !!options.fromStart
  }
}

/**
 * An offset from before a compaction is before all that the log has since: as a bound, it would select everything or nothing.
 * @param {RangeOptions} options
 * @param {Pick<import('./block-cache').BlockCache, 'base' | 'trimmedAt'>} blocks
 * @throws flumelog:trimmed
 */
function refuseOldBounds ({ gt, gte, lt, lte, fromStart }, blocks) {
  const lower = fromStart ? [] : [gte, gt && gt + 1]
  const old = [...lower, lt, lte].find(bound => Number(bound) > 0 && Number(bound) < blocks.base)
  if (old !== undefined) throw blocks.trimmedAt(Number(old))
}

/**
 * @param {RangeOptions} options
 * @returns {number} the greatest offset among the bounds, which may be that of a record of another process; -1: there is none
 */
function greatestBound (options) {
  try {
    const { gt, gte, lt, lte } = options
    return Math.max(-1, ...[gt, gte, lt, lte].map(bound => Number.isInteger(bound) ? Number(bound) : -1))
  } catch {
    // a getter has thrown: so it does when the range is made, which reports it
    return -1
  }
}

/**
 * @param {StreamOptions} options
 * @param {number} oldEnd with `old: false`, records before this offset are old
 * @returns {Range}
 * @throws flumelog:invalid
 */
function streamRangeOf (options, oldEnd) {
  checkStreamOptions(options)
  const range = rangeOf(options)
  checkLimit(options)
  if (options.old === false) {
    // the new records come as they are appended
    range.reverse = false
    range.min = Math.max(range.min, oldEnd)
  }
  return range
}

/** @param {unknown} options flumedb, its views and ssb-db give a log all options of their own callers */
function checkStreamOptions (options) {
  mustBeOptions('stream', options)
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} unbounded what stands for no bound
 */
function checkBound (name, value, unbounded) {
  if (value === undefined || value === null) return unbounded
  if (Number.isInteger(value) || value === Infinity || value === -Infinity) return /** @type {number} */ (value)
  throw errors.invalid(`${name} must be an integer, the offset of a record or any other; it is ${format(value)}`)
}

/**
 * @param {StreamOptions} options
 * @throws flumelog:invalid
 */
function checkLimit (options) {
  const limit = options.limit ?? 0
  if (Number.isInteger(limit) || limit === Infinity) return
  throw errors.invalid(`limit must be a number of records, an integer; it is ${format(limit)}`)
}

module.exports = { copyScanOptions, copyStreamOptions, greatestBound, rangeOf, refuseOldBounds, scanRangeOf, streamRangeOf, STREAM_NAMES }
