'use strict'

// Looks at every block of a log's file, sound or not, to check, count and copy it.
// Unlike the readers it does not stop at damage, and it reads in large pieces, since
// it goes through the whole file once.

const { setTimeout: delay } = require('timers/promises')
const layout = require('../format/layout')
const { storedChecksum } = require('../format/checksum')
const { endOfRecords, findProblem, frameProblem } = require('../format/validation')
const errors = require('../errors')
const { promises } = require('../storage/promisified-file')
const { findBlockSize } = require('../recovery/block-size')
const { findEnd } = require('../recovery/find-end')
const { withRewrites } = require('../recovery/rewrites')
const { DEFAULT_BLOCK_SIZE } = require('../options')

/** Bytes read at a time, about. */
const PIECE_SIZE = 1024 * 1024
/** What a disk reads, or cannot read, as a whole. */
const SECTOR_SIZE = 4096
/** How often a log is looked at again whose end seems torn while another process appends to it. */
const END_RETRIES = 20
/** How often in all, and after how many milliseconds, blocks are read again that another process may be rewriting. */
const BLOCK_RETRIES = 200
const RETRY_DELAY = 5
/** Record sizes are counted by powers of two: 1, 2-3, 4-7 ... 32768-65535. */
const SIZE_CLASSES = 16

/**
 * A log's file, open, and where the log in it ends.
 * @typedef {object} Extent
 * @property {import('../storage/promisified-file').Io} io
 * @property {string | null} filename
 * @property {number} blockSize in bytes
 * @property {number} size the file's, in bytes
 * @property {number} end of the log; what is behind it in the file is no whole record
 * @property {boolean} closed false: a writer has the log open, or stopped without closing it
 * @property {(offset: number, size: number) => Promise<Buffer>} read as if deletions that were interrupted were complete
 * @property {number} retries how often blocks that seem damaged may still be read again
 */

/**
 * @typedef {object} Looked a block that was looked at
 * @property {number} number counted from 0
 * @property {number} offset of its first byte in the file
 * @property {Buffer} buffer its bytes; fewer than blockSize if it is the tail
 * @property {boolean} sealed
 * @property {import('../format/validation').Problem | null} problem why it is damaged
 * @property {number} end position after its last record; 0 if it is damaged
 */

/**
 * @typedef {object} Piece blocks that were read together
 * @property {number} offset
 * @property {Buffer} bytes
 * @property {Looked[]} blocks
 */

/**
 * @typedef {object} Counts of records in sound blocks
 * @property {number} records deleted ones not counted
 * @property {number} bytes of data in them
 * @property {number} deleted records
 * @property {number} deletedBytes of data that was in these
 * @property {number} framing bytes of lengths, of deleted records too
 * @property {number} smallest record in bytes; Infinity if there is none
 * @property {number} largest record in bytes; 0 if there is none
 * @property {number[]} sizes how many records have at least 2 ** index bytes, and less than twice that
 */

/**
 * @typedef {object} Range bytes of a file that hold no record that can be relied on
 * @property {'damaged' | 'torn'} kind torn: behind the end of the log
 * @property {number} start offset of its first byte
 * @property {number} end offset after its last byte
 * @property {number} blocks
 * @property {number} offset at which the first of them is wrong
 * @property {string} reason what was found there, and what was expected
 */

/**
 * @typedef {object} Report what there is in a log's file
 * @property {number} blockSize in bytes
 * @property {number} size the file's, in bytes
 * @property {number} end of the log
 * @property {boolean} closed
 * @property {number} blocks the tail included
 * @property {number} sealed blocks that are sound
 * @property {number} checksummed so many of these have a checksum
 * @property {number} padding bytes at the ends of sound blocks
 * @property {number} damagedBlocks
 * @property {number} damagedBytes
 * @property {Counts} counts
 * @property {Range[]} ranges
 */

/** @typedef {(bytes: number, total: number) => void} OnProgress */

/**
 * Looks at all of a log's file. Changes nothing.
 * @param {import('../storage/path-file').LogFile} file not open
 * @param {OnProgress} [onprogress]
 * @returns {Promise<Report>}
 */
async function verify (file, onprogress) {
  const extent = await openExtent(file)
  try {
    return await verifyExtent(extent, onprogress)
  } finally {
    await extent.io.close()
  }
}

/**
 * @param {Extent} extent
 * @param {OnProgress} [onprogress]
 * @returns {Promise<Report>}
 */
async function verifyExtent (extent, onprogress) {
  const { blockSize, size, end, closed } = extent
  const report = {
    blockSize,
    size,
    end,
    closed,
    blocks: 0,
    sealed: 0,
    checksummed: 0,
    padding: 0,
    damagedBlocks: 0,
    damagedBytes: 0,
    counts: noCounts(),
    ranges: /** @type {Range[]} */ ([])
  }
  for await (const piece of pieces(extent)) {
    for (const block of piece.blocks) note(report, block)
    if (onprogress) onprogress(piece.offset + piece.bytes.length, end)
  }
  if (end < size) report.ranges.push(await tornRange(extent))
  return report
}

/**
 * @param {Report} report
 * @param {Looked} block
 */
function note (report, block) {
  const { buffer, problem, end } = block
  report.blocks++
  if (problem !== null) {
    report.damagedBlocks++
    report.damagedBytes += buffer.length
    addRange(report.ranges, damagedRange(block))
    return
  }
  if (block.sealed) {
    report.sealed++
    if (storedChecksum(buffer) !== 0) report.checksummed++
    report.padding += buffer.length - end
  }
  tally(report.counts, buffer, end)
}

// The file

/**
 * @param {import('../storage/path-file').LogFile} file not open
 * @param {boolean} [exclusive] nobody else can change it, since `file` takes the lock
 * @returns {Promise<Extent>} the caller closes its `io`
 */
async function openExtent (file, exclusive = false) {
  const io = promises(file)
  await io.open()
  try {
    const read = whatCanBeRead(io, file.filename)
    const blockSize = await findBlockSize(read, await io.size(), undefined, DEFAULT_BLOCK_SIZE, file.filename, await io.readPoint())
    const { size, point, found } = await findEndOnceQuiet(io, read, blockSize)
    return {
      io,
      filename: file.filename,
      blockSize,
      size,
      end: found.kept,
      closed: point === null,
      read: withRewrites(io.read, found.rewrites),
      retries: exclusive ? 0 : BLOCK_RETRIES
    }
  } catch (err) {
    await io.close().catch(() => {})
    throw err
  }
}

/**
 * While another process appends, the file may end within a record; a moment later
 * that is whole.
 * @param {import('../storage/promisified-file').Io} io
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} blockSize
 */
async function findEndOnceQuiet (io, read, blockSize) {
  for (let tries = 1; ; tries++) {
    const size = await io.size()
    const point = await io.readPoint()
    const found = await findEnd(read, size, point, { blockSize, checksum: true, isWhole: () => true, canHavePoint: io.hasPoint, lastNonZero: io.lastNonZero })
    if (found.cut === 0 || tries === END_RETRIES || await io.size() === size) return { size, point, found }
  }
}

/**
 * A disk that is failing cannot read some of its sectors.
 * @param {import('../storage/promisified-file').Io} io
 * @param {string | null} filename
 * @returns {(offset: number, size: number) => Promise<Buffer>} zeros stand for these
 */
function whatCanBeRead (io, filename) {
  return async (offset, size) => {
    try {
      return await io.read(offset, size)
    } catch (err) {
      await mustNotShrink(io, filename, offset + size)
    }
    const bytes = Buffer.alloc(size)
    for (let at = 0; at < size;) {
      const next = Math.min(size, at + SECTOR_SIZE - (offset + at) % SECTOR_SIZE)
      const sector = await io.read(offset + at, next - at).catch(() => null)
      if (sector !== null) sector.copy(bytes, at)
      at = next
    }
    return bytes
  }
}

/**
 * @param {import('../storage/promisified-file').Io} io
 * @param {string | null} filename
 * @param {number} size that it had
 */
async function mustNotShrink (io, filename, size) {
  const now = await io.size()
  if (now < size) throw errors.shrunk(filename, size, now)
}

/**
 * Reads the log up to its end, the next piece while one is being looked at.
 * @param {Extent} extent
 * @returns {AsyncGenerator<Piece, void, void>}
 */
async function * pieces (extent) {
  const { blockSize, end } = extent
  const step = Math.max(1, Math.floor(PIECE_SIZE / blockSize)) * blockSize
  let coming = end > 0 ? startReading(extent, 0, step) : null
  for (let offset = 0; coming !== null; offset += step) {
    const { bytes, unreadable } = await coming
    coming = offset + step < end ? startReading(extent, offset + step, step) : null
    const blocks = []
    for (let at = 0; at < bytes.length; at += blockSize) {
      const block = look(extent, offset + at, bytes.subarray(at, at + blockSize), unreadable.get(at))
      if (block.problem !== null) await lookAgain(extent, block)
      blocks.push(block)
    }
    yield { offset, bytes, blocks }
  }
}

/**
 * @param {Extent} extent
 * @param {number} offset
 * @param {number} step
 */
function startReading (extent, offset, step) {
  const reading = readPiece(extent, offset, Math.min(step, extent.end - offset))
  // it is awaited only when the piece before it has been looked at
  reading.catch(() => {})
  return reading
}

/**
 * @param {Extent} extent
 * @param {number} offset
 * @param {number} size
 * @returns {Promise<{ bytes: Buffer, unreadable: Map<number, Error> }>} zeros stand for blocks that cannot be read
 */
async function readPiece ({ io, read, filename, blockSize, end }, offset, size) {
  const unreadable = new Map()
  try {
    return { bytes: await read(offset, size), unreadable }
  } catch (err) {
    await mustNotShrink(io, filename, end)
  }
  const bytes = Buffer.alloc(size)
  for (let at = 0; at < size; at += blockSize) {
    try {
      (await read(offset + at, Math.min(blockSize, size - at))).copy(bytes, at)
    } catch (err) {
      unreadable.set(at, err)
    }
  }
  return { bytes, unreadable }
}

/**
 * @param {Extent} extent
 * @param {number} offset
 * @param {Buffer} buffer
 * @param {Error} [failure] why it could not be read
 * @returns {Looked}
 */
function look ({ blockSize }, offset, buffer, failure) {
  const sealed = buffer.length === blockSize
  const problem = failure !== undefined ? { position: 0, reason: `it cannot be read: ${failure.message}` } : problemOf(buffer, sealed)
  const end = problem !== null ? 0 : sealed ? layout.paddingStart(buffer) : buffer.length
  return { number: offset / blockSize, offset, buffer, sealed, problem, end }
}

/**
 * @param {Buffer} buffer
 * @param {boolean} sealed
 * @returns {import('../format/validation').Problem | null}
 */
function problemOf (buffer, sealed) {
  if (sealed) return findProblem(buffer, true)
  const end = endOfRecords(buffer, 0, buffer.length)
  if (end === buffer.length) return null
  return { position: end, reason: /** @type {string} */ (frameProblem(buffer, end, buffer.length)) }
}

/**
 * Another process may just be deleting a record in it.
 * @param {Extent} extent
 * @param {Looked} block what is found replaces what it has
 */
async function lookAgain (extent, block) {
  const { io, read } = extent
  let isBeingWritten = true
  while (block.problem !== null && isBeingWritten && extent.retries-- > 0) {
    isBeingWritten = await io.readPoint() !== null
    if (isBeingWritten) await delay(RETRY_DELAY)
    const bytes = await read(block.offset, block.buffer.length).catch(() => null)
    if (bytes === null) return
    bytes.copy(block.buffer)
    Object.assign(block, look(extent, block.offset, block.buffer))
  }
}

// Ranges

/**
 * @param {Looked} block
 * @returns {Range}
 */
function damagedRange ({ offset, buffer, problem }) {
  const { position, reason } = /** @type {import('../format/validation').Problem} */ (problem)
  return { kind: 'damaged', start: offset, end: offset + buffer.length, blocks: 1, offset: offset + position, reason }
}

/**
 * Blocks in a row of which all is wrong in the same way (a hole of zeros, say) make one range.
 * @param {Range[]} ranges
 * @param {Range} range
 */
function addRange (ranges, range) {
  const last = ranges.at(-1)
  if (last !== undefined && last.end === range.start && last.reason === range.reason) {
    last.end = range.end
    last.blocks += range.blocks
  } else {
    ranges.push(range)
  }
}

/**
 * @param {Extent} extent
 * @returns {Promise<Range>} what is behind the log's end in the file
 */
async function tornRange ({ io, blockSize, size, end }) {
  const position = end % blockSize
  const start = end - position
  const bytes = await io.read(start, Math.min(blockSize, size - start))
  const problem = bytes.length === blockSize ? findProblem(bytes, true) : null
  const reason = problem?.reason ?? frameProblem(bytes, position, bytes.length) ?? 'no whole block'
  const blocks = Math.ceil(size / blockSize) - Math.floor(end / blockSize)
  return { kind: 'torn', start: end, end: size, blocks, offset: end, reason }
}

// Counting

/** @returns {Counts} */
function noCounts () {
  return {
    records: 0,
    bytes: 0,
    deleted: 0,
    deletedBytes: 0,
    framing: 0,
    smallest: Infinity,
    largest: 0,
    sizes: new Array(SIZE_CLASSES).fill(0)
  }
}

/**
 * Adds the records of a sound block.
 * @param {Counts} counts
 * @param {Buffer} buffer
 * @param {number} end position after the last record
 */
function tally (counts, buffer, end) {
  const { sizes } = counts
  let { records, bytes, deleted, deletedBytes, smallest, largest } = counts
  let position = 0
  while (position < end) {
    const length = layout.readLength(buffer, position)
    if (buffer[position + layout.LENGTH_SIZE] === 0 && layout.isDeleted(buffer, position)) {
      deleted++
      deletedBytes += length
    } else {
      records++
      bytes += length
      sizes[31 - Math.clz32(length)]++
      if (length < smallest) smallest = length
      if (length > largest) largest = length
    }
    position += length + layout.FRAME_SIZE
  }
  const framing = (records + deleted) * layout.FRAME_SIZE
  Object.assign(counts, { records, bytes, deleted, deletedBytes, framing, smallest, largest })
}

module.exports = { verify, verifyExtent, openExtent, pieces, damagedRange, addRange, tally, noCounts }
