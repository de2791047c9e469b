'use strict'

// Whether a log has deleted records: otherwise a compaction would only change its offsets.

const layout = require('../format/layout')

/** Bytes read at a time, if blocks are not larger. */
const READ_SIZE = 1024 * 1024

/**
 * @param {import('./compaction').Compaction} compaction
 * @returns {Promise<number | null>} number of records; null: there is a deleted one, and the rest was not read
 */
async function countIfNoneDeleted (compaction) {
  const { blocks } = compaction
  const step = Math.max(1, Math.floor(READ_SIZE / blocks.blockSize))
  const buffers = blocks.bufferSizes(step).map(size => Buffer.allocUnsafeSlow(size))
  let records = 0
  let next = blocks.start / blocks.blockSize
  for (; next < blocks.tail.number; next += step) {
    const count = Math.min(step, blocks.tail.number - next)
    /** @type {import('../format/block').Block[]} */
    const loaded = await new Promise(resolve => blocks.load(next, count, { cacheShare: 0, buffers: count === step ? buffers : null }, resolve))
    compaction.mustGoOn()
    for (const block of loaded) {
      // trimmed meanwhile
      if ((block.number + 1) * blocks.blockSize <= blocks.start) continue
      if (block.error !== null) throw block.error
      const found = countIn(block)
      if (found === null) return null
      records += found
    }
  }
  const found = countIn(await compaction.block(blocks.tail.number))
  return found === null ? null : records + found
}

/**
 * @param {{ buffer: Buffer, end: number }} block
 * @returns {number | null} number of its records; null: one is deleted
 */
function countIn ({ buffer, end }) {
  let records = 0
  for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) {
    if (buffer[position + layout.LENGTH_SIZE] === 0 && layout.isDeleted(buffer, position)) return null
    records++
  }
  return records
}

module.exports = { countIfNoneDeleted }
