'use strict'

// Where does this log end? Looked for when a log is opened, with what a crash has
// left behind: a recovery point beside the file means that the log was not closed.

const layout = require('../format/layout')
const { storedChecksum } = require('../format/checksum')
const { endOfRecords, findProblem, frameProblem } = require('../format/validation')
const { Block } = require('../read/block')

/** Bytes read at a time while walking from a recovery point. */
const WALK_SIZE = 1024 * 1024

/**
 * @typedef {object} Found
 * @property {Block} tail the block in which the log ends
 * @property {number} lastSeq of the last record, -1 if there is none
 * @property {number} kept the file's bytes up to here belong to the log
 * @property {number} cut so many bytes behind them are no whole records
 * @property {number} walked bytes behind the recovery point that are whole
 * @property {Block | null} damagedTail the block after `kept`, which is damaged in its
 *   middle, so that the log goes on in the block after it
 * @property {import('../storage/recovery-point').Rewrite[]} rewrites deletions that a crash interrupted
 */

/**
 * @typedef {object} RecoverOptions
 * @property {number} blockSize in bytes
 * @property {boolean} checksum
 * @property {(data: Buffer) => boolean} isWhole whether a record's data is what was once appended, as far as can be told
 */

/**
 * Finds the end of a log; changes nothing.
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} size the file's, in bytes
 * @param {import('../storage/recovery-point').RecoveryPoint | null} point
 * @param {RecoverOptions} options
 * @returns {Promise<Found>}
 */
async function findEnd (read, size, point, options) {
  const rewrites = point === null ? [] : await ownRewrites(read, size, point, options)
  const readMended = withRewrites(read, rewrites)
  const crashed = point !== null && await isBoundary(readMended, size, point.offset, options)
  const end = crashed
    ? await walkFrom(readMended, size, point.offset, options)
    : await endOfTail(readMended, size, options)
  const tail = await blockAt(readMended, end, options)
  // damage in front of what is known to be whole
  const isDamaged = endOfRecords(tail.buffer, 0, tail.end) !== tail.end
  return {
    tail: isDamaged ? new Block(tail.number + 1, Buffer.allocUnsafeSlow(options.blockSize), 0, false) : tail,
    lastSeq: await lastSeqBefore(readMended, end, options),
    kept: end,
    cut: size - end,
    walked: crashed ? end - point.offset : 0,
    damagedTail: isDamaged ? tail : null,
    rewrites: rewrites.filter(({ offset }) => offset < end)
  }
}

/**
 * The deletions that were under way in this very file: what they leave as it is is
 * there. A recovery point beside a file that was restored from elsewhere has others.
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} size
 * @param {import('../storage/recovery-point').RecoveryPoint} point
 * @param {RecoverOptions} options
 */
async function ownRewrites (read, size, point, { blockSize }) {
  const own = []
  for (const rewrite of point.rewrites) {
    const { offset, data } = rewrite
    if (offset % blockSize !== 0 || data.length > blockSize || offset + data.length > size) continue
    if (isRewriteOf(await read(offset, data.length), data)) own.push(rewrite)
  }
  return own
}

/**
 * @param {Buffer} before what is in the file: as it was, rewritten, or in part rewritten
 * @param {Buffer} after what the deletion leaves
 */
function isRewriteOf (before, after) {
  const isSame = (/** @type {number} */ from, /** @type {number} */ to) => after.compare(before, from, to, from, to) === 0
  const end = endOfRecords(after, 0, after.length)
  for (let position = 0; position < end; position = layout.nextPosition(after, position)) {
    const next = layout.nextPosition(after, position)
    // of a record that is to be deleted only the lengths have to be there
    const edge = layout.isDeleted(after, position) ? layout.LENGTH_SIZE : next - position
    if (!isSame(position, position + edge) || !isSame(next - edge, next)) return false
  }
  return true
}

/**
 * Reads as if the interrupted deletions were complete.
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {import('../storage/recovery-point').Rewrite[]} rewrites
 * @returns {(offset: number, size: number) => Promise<Buffer>}
 */
function withRewrites (read, rewrites) {
  if (rewrites.length === 0) return read
  return async (offset, size) => {
    const bytes = await read(offset, size)
    for (const rewrite of rewrites) {
      const from = Math.max(offset, rewrite.offset)
      const to = Math.min(offset + size, rewrite.offset + rewrite.data.length)
      if (from < to) rewrite.data.copy(bytes, from - offset, from - rewrite.offset, to - rewrite.offset)
    }
    return bytes
  }
}

/**
 * A recovery point that is not where a record ends does not belong to this file:
 * it was restored from elsewhere, say.
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} size
 * @param {number} offset
 * @param {RecoverOptions} options
 */
async function isBoundary (read, size, offset, { blockSize }) {
  if (!Number.isSafeInteger(offset) || offset < 0 || offset > size) return false
  const position = offset % blockSize
  if (position === 0) return true
  const bytes = await read(offset - position, position)
  if (endOfRecords(bytes, 0, position) === position) return true
  // damage in front of it does not count against it
  return lastFrame(bytes, 0) !== -1
}

/**
 * @param {Buffer} bytes
 * @param {number} from
 * @returns {number} where a record starts that ends with the last byte; -1 if none does
 */
function lastFrame (bytes, from) {
  if (bytes.length < layout.FRAME_SIZE + 1) return -1
  const position = layout.previousPosition(bytes, bytes.length)
  return position >= from && frameProblem(bytes, position, bytes.length) === null ? position : -1
}

/**
 * After a crash: block after block from the recovery point on, to the first thing
 * that is not whole.
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} size
 * @param {number} offset where to begin
 * @param {RecoverOptions} options
 * @returns {Promise<number>} where the log ends
 */
async function walkFrom (read, size, offset, options) {
  const { blockSize, checksum } = options
  let position = offset % blockSize
  const step = Math.max(blockSize, WALK_SIZE - WALK_SIZE % blockSize)
  for (let from = offset - position; from < size; from += step) {
    const bytes = await read(from, Math.min(step, size - from))
    for (let at = 0; at < bytes.length; at += blockSize) {
      const block = bytes.subarray(at, at + blockSize)
      const isWhole = block.length === blockSize
      const isSound = isWhole && findProblem(block, checksum) === null
      // without a checksum, a page may be missing in the middle of a record, and its frame does not show it
      if (!isSound || !checksum || storedChecksum(block) === 0) {
        const end = wholeRecords(block, position, options)
        const isDamagedBefore = endOfRecords(block, 0, position) !== position
        const isPadded = isWhole && layout.paddingStart(block) === end && (isSound || isDamagedBefore)
        if (!isPadded) return from + at + end
      }
      position = 0
    }
  }
  return Math.max(offset, size)
}

/**
 * @param {Buffer} block
 * @param {number} position where to begin
 * @param {{ blockSize: number, isWhole: (data: Buffer) => boolean }} options
 * @returns {number} where the first record starts that is not whole
 */
function wholeRecords (block, position, { blockSize, isWhole }) {
  const most = Math.min(block.length, blockSize - layout.paddingSize(false))
  const end = endOfRecords(block, position, most)
  while (position < end) {
    const next = layout.nextPosition(block, position)
    if (!isWholeAt(block, position, isWhole)) return position
    position = next
  }
  return position
}

/**
 * @param {Buffer} block
 * @param {number} position
 * @param {(data: Buffer) => boolean} isWhole
 */
function isWholeAt (block, position, isWhole) {
  const end = layout.nextPosition(block, position) - layout.LENGTH_SIZE
  return layout.isDeleted(block, position) || isWhole(block.subarray(position + layout.LENGTH_SIZE, end))
}

/**
 * The log was closed, copied, or written by another program: only its last block
 * is looked at, and what is damaged before its last whole record stays.
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} size
 * @param {RecoverOptions} options
 * @returns {Promise<number>} where the log ends
 */
async function endOfTail (read, size, options) {
  const { blockSize, isWhole } = options
  if (size === 0) return 0
  const start = size - 1 - (size - 1) % blockSize
  const block = await read(start, size - start)
  const most = Math.min(block.length, blockSize - layout.paddingSize(false))
  const frames = endOfRecords(block, 0, most)
  // a tail is never as long as a block: it was sealed, damaged or not, unless there are only zeros behind the records
  if (block.length === blockSize && layout.isStorable(block.subarray(frames))) return size

  if (frames < block.length && block.length <= most) {
    // records after the damage, up to the very end: it is in the middle, and nothing is torn
    const last = lastFrame(block, frames + 1)
    if (last !== -1 && isWholeAt(block, last, isWhole)) return size
  }
  let end = 0
  for (let position = 0; position < frames;) {
    const next = layout.nextPosition(block, position)
    if (isWholeAt(block, position, isWhole)) end = next
    position = next
  }
  return start + end
}

/**
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} end
 * @param {RecoverOptions} options
 * @returns {Promise<Block>} the block that has the bytes before `end`, or is about to begin there
 */
async function blockAt (read, end, { blockSize }) {
  const position = end % blockSize
  const buffer = Buffer.allocUnsafeSlow(blockSize)
  if (position > 0) (await read(end - position, position)).copy(buffer)
  return new Block((end - position) / blockSize, buffer, position, false)
}

/**
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} end
 * @param {RecoverOptions} options
 * @returns {Promise<number>} the seq of the last record that can be found before `end`
 */
async function lastSeqBefore (read, end, { blockSize }) {
  const position = end % blockSize
  const start = end - position
  if (position > 0) {
    const last = lastFrame(await read(start, position), 0)
    if (last !== -1) return start + last
  }
  // a damaged block does not say where its last record is; the one before it may
  for (let at = start - blockSize; at >= 0; at -= blockSize) {
    const block = await read(at, blockSize)
    if (findProblem(block, false) === null) return at + layout.previousPosition(block, layout.paddingStart(block))
  }
  return -1
}

/**
 * Brings the file to the end that was found. What is cut off is kept beside it.
 * @param {import('../storage/promisified-file').Io} io
 * @param {Found} found
 * @param {number} blockSize in bytes
 * @returns {Promise<string | null>} the name of the file that has what was cut off
 */
async function repair (io, found, blockSize) {
  let name = null
  for (const { offset, data } of found.rewrites) await io.write(offset, data)
  if (found.cut > 0) {
    name = await io.keepCut(found.kept, found.kept + found.cut)
    await io.truncate(found.kept)
  }
  if (found.damagedTail !== null) {
    const { end } = found.damagedTail
    const block = Buffer.alloc(blockSize)
    layout.seal(block, end)
    try {
      await io.write(found.kept, block.subarray(end))
    } catch (err) {
      // half a padding would make the block look torn
      await io.truncate(found.kept).catch(() => {})
      throw err
    }
  }
  await io.sync()
  await io.removePoint()
  return name
}

module.exports = { findEnd, repair, withRewrites }
