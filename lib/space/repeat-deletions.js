'use strict'

// Deletes in the file that is to take a log's place what was deleted in the log after it had been copied.

const layout = require('../format/layout')
const { writeChecksum } = require('../format/checksum')
const { readAt, writeAll } = require('../storage/buffers')

/** Repeating the deletions of a block takes as long as copying so many bytes, about. */
const REPEAT_COST = 16 * 1024

/** @typedef {import('./compacted-file').CompactedFile} CompactedFile */

/** @param {import('./compaction').Compaction} compaction */
async function repeatDeletions (compaction) {
  const { changed, blocks, target } = compaction
  if (changed.size === 0) return
  compaction.changed = new Set()
  await target.flush()
  const map = await compaction.map.finish(target.end, blocks.start)
  for (const number of changed) {
    const offset = number * blocks.blockSize
    const { buffer, end } = await compaction.block(number)
    const runs = []
    for (const run of map.runs(offset)) {
      if (run.old >= offset + blocks.blockSize) break
      runs.push(run)
    }
    await deleteAgain(target, buffer, end, offset, runs)
    compaction.hasDone(REPEAT_COST)
    compaction.throwIfStopped()
  }
}

/**
 * @param {CompactedFile} target all of which was flushed
 * @param {Buffer} block of the log
 * @param {number} end of its records
 * @param {number} offset of it in the log
 * @param {Iterable<import('./offset-map').Run>} runs that were copied from it
 */
async function deleteAgain (target, block, end, offset, runs) {
  const { blockSize } = target
  const starts = new Set(layout.livePositions(block, end))
  for (const { old, now, length } of runs) {
    const inBlock = now % blockSize
    const copy = await blockAt(target, now - inBlock)
    let hasChanged = false
    for (let position = inBlock; position < inBlock + length;) {
      if (!starts.has(old - offset + position - inBlock) && !layout.isDeleted(copy, position)) {
        layout.zeroRecord(copy, position)
        target.records--
        target.deleted++
        hasChanged = true
      }
      position = layout.nextPosition(copy, position)
    }
    if (hasChanged) await rewrite(target, now - inBlock, copy)
  }
}

/**
 * @param {CompactedFile} target
 * @param {number} offset
 * @returns {Promise<Buffer>} the block there; up to what is being filled
 */
async function blockAt ({ filename, fd, blockSize, packer: { filling } }, offset) {
  if (offset === filling.number * blockSize) return filling.buffer
  return readAt(fd, filename, offset, blockSize)
}

/**
 * @param {CompactedFile} target
 * @param {number} offset
 * @param {Buffer} block
 */
async function rewrite ({ fd, checksum, packer: { filling, position } }, offset, block) {
  const isFilling = block === filling.buffer
  if (!isFilling && checksum) writeChecksum(block)
  await writeAll(fd, [isFilling ? block.subarray(0, position) : block], offset)
}

module.exports = { REPEAT_COST, repeatDeletions }
