'use strict'

// Whether a log has deleted records: otherwise a compaction would only change its offsets.

const layout = require('../format/layout')

/**
 * @param {import('./compaction').Compaction} compaction
 * @returns {Promise<number | null>} number of records; null: there is a deleted one, and the rest was not read
 */
async function countIfNoneDeleted (compaction) {
  const { blocks, reader } = compaction
  let records = 0
  for await (const piece of reader.upTo(blocks.tail.number)) {
    compaction.throwIfStopped()
    for (const block of piece) {
      if (block.number * blocks.blockSize < blocks.start) continue
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
