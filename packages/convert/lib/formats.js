'use strict'

// The formats that can be imported: which one does a file have, and what reads it?

const { isUtf8 } = require('buffer')
const { chunk, detectBlockSize, endOfRecords, isZeros, layout } = require('flumelog-random-access-file/blocks')
const errors = require('./errors')
const { alignedItems } = require('./aligned-file')
const aaol = require('./async-append-only-log-file')
const { csvParser, headerOf, MAX_HEADER } = require('./csv-file')
const { NdjsonParser } = require('./ndjson-file')
const { OffsetParser } = require('./offset-file')
const { itemsIn, BATCH } = require('./reader')

const { MAX_LENGTH } = chunk
const { FRAME_SIZE, LENGTH_SIZE, MAX_BLOCK_SIZE } = layout

/** Bytes of a file by which its format is detected: more, if its first record is larger. */
const SAMPLE_SIZE = 1024 * 1024
const MAX_SAMPLE_SIZE = MAX_LENGTH + SAMPLE_SIZE
/** Of async-append-only-log; the first is its default. */
const BLOCK_SIZES = [65536, 1048576, 524288, 262144, 131072, 32768, 16384, 8192, 4096, 2048, 1024]

/**
 * @typedef {'flumelog-offset-32' | 'flumelog-offset-48' | 'flumelog-offset-53' | 'flumelog-aligned-offset' | 'async-append-only-log' | 'ndjson' | 'csv'} Format
 * @typedef {import('./old-file').OldFile} OldFile
 * @typedef {AsyncGenerator<import('./reader').Item[], void, void>} Items
 *
 * @typedef {object} Evidence
 * @property {number} records that were found at the start of the file
 * @property {boolean} isWhole nothing else was found
 * @property {boolean} isClear false: other files could look like that, too
 * @property {boolean} [isWeak] the same, though it is whole: lengths that stand once lead to zeros from anywhere
 * @property {boolean} [needsMore] nothing is known before more of the file is looked at
 * @property {number} [blockSize]
 *
 * @typedef {object} FormatDescription
 * @property {(sample: Buffer, size: number, likelyBlockSize?: number) => Evidence} detect `size`: of the file
 * @property {(file: OldFile, options: { blockSize: number, large: boolean }) => Items | Promise<Items>} read `blockSize` of async-append-only-log;
 *   `large`: large records of a log of this package are given whole
 * @property {number} frame bytes of a record besides its data; 0: data is not as it is in the file
 */

/** @type {Evidence} */
const NOTHING = { records: 0, isWhole: false, isClear: false }

/** @type {Record<Format, FormatDescription>} */
const FORMATS = {
  'flumelog-offset-32': offsetFormat(32),
  'flumelog-offset-48': offsetFormat(48),
  'flumelog-offset-53': offsetFormat(53),
  'flumelog-aligned-offset': {
    frame: FRAME_SIZE,
    detect: detectAligned,
    read: ({ filename }, { large }) => alignedItems(filename, large)
  },
  'async-append-only-log': {
    frame: aaol.LENGTH_SIZE,
    detect: detectAsyncAppendOnlyLog,
    read: (file, { blockSize }) => itemsIn(file, new aaol.AsyncAppendOnlyLogParser(blockSize))
  },
  ndjson: {
    frame: 1,
    detect: (sample, size) => isText(sample, size) ? parse(new NdjsonParser(), sample, size) : NOTHING,
    read: (file) => itemsIn(file, new NdjsonParser())
  },
  csv: {
    frame: 0,
    detect: detectCsv,
    read: async (file) => {
      const parser = csvParser(file.filename, await file.read(0, Math.min(MAX_HEADER, file.size)))
      return itemsIn(file, parser, parser.start)
    }
  }
}

/** What `from` can be: the number of bits is found. */
const NAMES = ['flumelog-offset', ...Object.keys(FORMATS)]

/**
 * @param {number} bits
 * @returns {FormatDescription}
 */
function offsetFormat (bits) {
  return {
    frame: new OffsetParser(bits, 0).frame,
    detect: (sample, size) => parse(new OffsetParser(bits, size), sample, size),
    read: (file) => itemsIn(file, new OffsetParser(bits, file.size))
  }
}

/**
 * @param {import('./reader').Parser} parser
 * @param {Buffer} sample
 * @param {number} size
 * @returns {Evidence}
 */
function parse (parser, sample, size) {
  let records = 0
  let broken = 0
  for (let position = 0, count = BATCH; count === BATCH && parser.problem === '';) {
    /** @type {import('./reader').Item[]} */
    const items = []
    position = parser.parse(sample, position, 0, sample.length === size, items)
    count = items.length
    for (const { problem } of items) {
      if (problem === undefined) records++
      else broken++
    }
  }
  const needsMore = records + broken === 0 && parser.problem === '' && sample.length < size
  return { needsMore, records, isWhole: records > 0 && broken === 0 && parser.problem === '', isClear: records > 0 && records >= broken }
}

/** @type {FormatDescription['detect']} */
function detectAligned (sample, size) {
  const blockSize = detectBlockSize(sample)
  if (blockSize !== undefined) return { records: 1, isWhole: true, isClear: true, blockSize }
  const end = endOfRecords(sample, 0, Math.min(sample.length, MAX_BLOCK_SIZE))
  const hasMore = end > sample.readUInt16LE(0) + FRAME_SIZE
  // a deletion fills the last block with zeros
  const isFilled = size === MAX_BLOCK_SIZE && isZeros(sample.subarray(end))
  return { records: end > 0 ? 1 : 0, isWhole: end > 0 && (end === size || isFilled), isClear: end > 0 && (end === size || hasMore), isWeak: end < size && !hasMore }
}

/** @type {FormatDescription['detect']} */
function detectAsyncAppendOnlyLog (sample, size, likelyBlockSize) {
  // two characters can be a length
  if (isText(sample, size)) return NOTHING
  for (const blockSize of likelyBlockSize === undefined ? BLOCK_SIZES : [likelyBlockSize, ...BLOCK_SIZES]) {
    if (size % blockSize !== 0) continue
    const found = parse(new aaol.AsyncAppendOnlyLogParser(blockSize), sample, size)
    if (found.isWhole) return { ...found, isWeak: true, blockSize }
  }
  const parser = new aaol.AsyncAppendOnlyLogParser(aaol.BLOCK_SIZE)
  const { records } = parse(parser, sample, size)
  const first = sample.subarray(0, aaol.BLOCK_SIZE)
  // lengths alone say little: there has to be a block whose records are followed by zeros
  const isClear = first.length === aaol.BLOCK_SIZE && parse(new aaol.AsyncAppendOnlyLogParser(aaol.BLOCK_SIZE), first, first.length).isWhole
  return { records, isWhole: false, isClear, blockSize: aaol.BLOCK_SIZE }
}

/** @type {FormatDescription['detect']} */
function detectCsv (sample, size) {
  if (!isText(sample, size)) return NOTHING
  const header = headerOf(sample)
  // one field can be any text; those that start like JSON are
  if (typeof header === 'string' || header.names.length < 2 || /^[[{]/.test(header.names[0])) return NOTHING
  const rows = sample.subarray(header.start)
  return parse(csvParser('', sample), rows, size - header.start)
}

/**
 * @param {Buffer} sample
 * @param {number} size
 */
function isText (sample, size) {
  if (sample.includes(0)) return false
  // the sample may end within a character
  return isUtf8(sample) || (sample.length < size && [1, 2, 3].some(bytes => isUtf8(sample.subarray(0, -bytes))))
}

/** @typedef {Evidence & { format: Format }} Found */

/**
 * @param {OldFile} file
 * @param {Format[]} names
 * @param {number} [likelyBlockSize]
 * @returns {Promise<Found[]>}
 */
async function evidenceIn (file, names, likelyBlockSize) {
  const { size } = file
  if (size < LENGTH_SIZE) return names.map(format => ({ format, ...NOTHING }))
  for (let sampleSize = Math.min(SAMPLE_SIZE, size); ;) {
    const sample = await file.read(0, sampleSize)
    const all = names.map(format => ({ format, ...FORMATS[format].detect(sample, size, likelyBlockSize) }))
    const most = Math.min(size, MAX_SAMPLE_SIZE)
    if (mostLikely(all).length > 0 || sampleSize === most || !all.some(({ needsMore }) => needsMore)) return all
    sampleSize = Math.min(most, 4 * sampleSize)
  }
}

/** @param {Found[]} all */
function mostLikely (all) {
  return [all.filter(({ isWhole, isWeak }) => isWhole && !isWeak), all.filter(({ isWhole }) => isWhole), all.filter(({ isClear }) => isClear)].find(some => some.length > 0) ?? []
}

/**
 * @param {OldFile} file
 * @param {string} [from] a format, or `flumelog-offset`; default: all are tried
 * @param {number} [likelyBlockSize] of a file of async-append-only-log, tried besides those that are usual
 * @returns {Promise<{ format: Format, blockSize: number }>}
 * @throws flumelog:not-a-log, flumelog:invalid
 */
async function formatOf (file, from, likelyBlockSize) {
  const { size, filename } = file
  const names = /** @type {Format[]} */ (Object.keys(FORMATS)).filter(name => from === undefined || name === from || (from === 'flumelog-offset' && name.startsWith(from)))
  const all = await evidenceIn(file, names, likelyBlockSize)
  const found = mostLikely(all)
  // what the caller says counts, unless the number of bits is to be found
  if (found.length === 0 && names.length === 1) return { format: names[0], blockSize: all[0].blockSize ?? aaol.BLOCK_SIZE }
  if (found.length === 0 && size === 0 && from !== undefined) return { format: names[0], blockSize: 0 }
  if (found.length === 0) throw errors.unknownFormat(filename, size, all.filter(({ records }) => records > 0).map(({ format }) => format))
  if (found.length > 1) throw errors.ambiguousFormat(filename, found.map(({ format }) => format))
  return { format: found[0].format, blockSize: found[0].blockSize ?? 0 }
}

module.exports = { FORMATS, NAMES, formatOf }
