'use strict'

// Reads a log back that was just written, and compares it with what was read from the old file.

const errors = require('../errors')
const { crc32 } = require('../format/crc32')
const { paddingStart } = require('../format/layout')
const { endOfRecords, findProblem } = require('../format/validation')
const { noCounts, tally } = require('../maintenance/counts')
const { OldFile } = require('./old-file')
const { PieceReader, MEMORY_SIZE } = require('./piece-reader')

/**
 * @param {string} name
 * @param {number} blockSize
 * @param {{ size: number, digest: number, records: number, bytes: number, deleted: number }} written
 * @param {boolean} keepDeleted
 * @param {import('../maintenance/work').Work} work
 * @throws flumelog:corrupt
 */
async function mustBeAsWritten (name, blockSize, { size, digest, records, bytes, deleted }, keepDeleted, work) {
  const onprogress = work.begin('check')
  const file = await OldFile.open(name)
  const pieces = new PieceReader(file.fd, name, file.size, 0, Buffer.allocUnsafeSlow(MEMORY_SIZE))
  const counts = noCounts()
  let found = 0
  try {
    if (file.size !== size) throw errors.copyDiffers(name)
    while (pieces.position < pieces.end || !pieces.isLast) {
      await pieces.more(blockSize)
      for (let from = 0; (from = pieces.position) < pieces.end && (from + blockSize <= pieces.end || pieces.isLast);) {
        const to = pieces.position = Math.min(from + blockSize, pieces.end)
        const block = pieces.bytes.subarray(from, to)
        const end = endOfBlock(block, to - from === blockSize)
        if (end === -1) throw errors.copyDiffers(name)
        tally(counts, block, end)
        found = crc32(block.subarray(0, end), found)
      }
      onprogress(pieces.base + pieces.position, size)
    }
    const isSame = found === digest && counts.records === records && counts.bytes === bytes && counts.deleted === (keepDeleted ? deleted : 0)
    if (!isSame) throw errors.copyDiffers(name)
  } finally {
    await pieces.stop()
    await file.close()
  }
}

/**
 * @param {Buffer} block
 * @param {boolean} isSealed
 * @returns {number} the position after its last record; -1: it is not valid
 */
function endOfBlock (block, isSealed) {
  if (isSealed) return findProblem(block, true) === null ? paddingStart(block) : -1
  return endOfRecords(block, 0, block.length) === block.length ? block.length : -1
}

module.exports = { mustBeAsWritten }
