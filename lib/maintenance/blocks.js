'use strict'

// Every block of a log's file, valid or not. Unlike the readers this does not stop at
// corrupt blocks, and it reads large pieces, since it reads the whole file once.

const { deletedPart, holeOf, isHole } = require('../format/hole')
const layout = require('../format/layout')
const { endOfRecords, findProblem, frameProblem } = require('../format/validation')
const { assertNotShrunk, refresh } = require('./extent')

/** Bytes read at a time, about. */
const PIECE_SIZE = 1024 * 1024
/** Milliseconds before a block is read again that another process may be rewriting. */
const RETRY_DELAY = 5

/**
 * @typedef {import('./extent').Extent} Extent
 * @typedef {import('../format/validation').Problem} Problem
 */

/**
 * @typedef {object} ScannedBlock
 * @property {number} number counted from 0
 * @property {number} offset of its first byte in the file
 * @property {Buffer} buffer its bytes; fewer than blockSize if it is the tail
 * @property {boolean} sealed
 * @property {Problem | null} problem why it is corrupt
 * @property {number} end position after its last record; 0 if it is corrupt
 */

/**
 * @typedef {object} Piece blocks that were read together
 * @property {number} offset
 * @property {Buffer} bytes
 * @property {ScannedBlock[]} blocks
 */

/**
 * Reads the log up to its end; the next piece is read while the caller has one.
 * @param {Extent} extent
 * @returns {AsyncGenerator<Piece, void, void>}
 */
async function * pieces (extent) {
  const { blockSize, start, end } = extent
  const step = Math.max(1, Math.floor(PIECE_SIZE / blockSize)) * blockSize
  let coming = end > start ? startReading(extent, start, step) : null
  for (let offset = start; coming !== null; offset += step) {
    const { bytes, unreadable } = await coming
    coming = offset + step < end ? startReading(extent, offset + step, step) : null
    const blocks = []
    for (let at = 0; at < bytes.length; at += blockSize) {
      const block = scan(extent, offset + at, bytes.subarray(at, at + blockSize), unreadable.get(at))
      if (block.problem !== null && !isTrimmed(extent, block)) await readAgain(extent, block)
      if (block.problem !== null && isTrimmed(extent, block)) showDeleted(extent, block)
      if (block.problem !== null && !block.sealed) await readDeleted(extent, block)
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
  // it is awaited only when the piece before it has been scanned
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
    await assertNotShrunk(io, filename, end)
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
 * @returns {ScannedBlock}
 */
function scan ({ blockSize }, offset, buffer, failure) {
  const sealed = buffer.length === blockSize
  const problem = failure !== undefined ? { position: 0, reason: `cannot be read: ${failure.message}` } : problemOf(buffer, sealed)
  const end = problem !== null ? 0 : sealed ? layout.paddingStart(buffer) : buffer.length
  return { number: offset / blockSize, offset, buffer, sealed, problem, end }
}

/**
 * @param {Buffer} buffer
 * @param {boolean} sealed
 * @returns {Problem | null}
 */
function problemOf (buffer, sealed) {
  if (sealed) return findProblem(buffer, true)
  const end = endOfRecords(buffer, 0, buffer.length)
  if (end === buffer.length) return null
  return { position: end, reason: /** @type {string} */ (frameProblem(buffer, end, buffer.length)) }
}

/**
 * Another process may be deleting a record in it.
 * @param {Extent} extent
 * @param {ScannedBlock} block is updated in place
 */
async function readAgain (extent, block) {
  let isBeingWritten = true
  while (block.problem !== null && isBeingWritten && !isTrimmed(extent, block) && extent.retries-- > 0) {
    isBeingWritten = await refresh(extent)
    if (isBeingWritten) await new Promise(resolve => setTimeout(resolve, RETRY_DELAY))
    const bytes = await extent.read(block.offset, block.buffer.length).catch(() => null)
    if (bytes === null) return
    bytes.copy(block.buffer)
    Object.assign(block, scan(extent, block.offset, block.buffer))
  }
}

/**
 * Another process may have filled the last block since, and deleted all of it: it is one deleted record, which does not end where the
 * log did.
 * @param {Extent} extent
 * @param {ScannedBlock} block is updated in place
 */
async function readDeleted (extent, block) {
  const whole = await extent.io.read(block.offset, extent.blockSize).catch(() => null)
  if (whole?.length === extent.blockSize && findProblem(whole, true) === null && isHole(whole)) showDeleted(extent, block)
}

/**
 * @param {Extent} extent
 * @param {ScannedBlock} block
 * @returns {boolean} whether another process has trimmed it since the file was opened
 */
function isTrimmed ({ trimmed }, { offset }) {
  return offset < trimmed
}

/**
 * All that was in it is gone.
 * @param {Extent} extent
 * @param {ScannedBlock} block is updated in place
 */
function showDeleted (extent, block) {
  const { buffer, sealed } = block
  const deleted = sealed ? holeOf(extent.blockSize, true) : deletedPart(buffer.length)
  deleted.copy(buffer)
  Object.assign(block, scan(extent, block.offset, buffer))
}

module.exports = { pieces, showDeleted }
