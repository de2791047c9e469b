'use strict'

// The records of a block as it is stored: deleted ones and the chunks of large ones, too.

const chunk = require('../format/chunk')
const layout = require('../format/layout')

/** @typedef {import('./log-blocks').Block} Block */

/**
 * @typedef {object} Stored
 * @property {Block} block
 * @property {number} position where it starts in the block
 * @property {number} seq
 * @property {number} next offset after it, or at which the next block starts
 * @property {boolean} deleted
 * @property {number} kind `chunk.PLAIN`, `PART` (a chunk of a large record), `LAST` (the last chunk, at whose offset the large record is) or
 *   `ESCAPED`
 * @property {number} size bytes of the record as it was appended; of a last chunk, those of the large record
 */

/**
 * @param {Block} block
 * @returns {Generator<Stored, void, void>}
 */
function * recordsOf (block) {
  const { buffer, end, offset, sealed, blockSize } = block
  for (let position = 0; position < end;) {
    const length = layout.readLength(buffer, position)
    const start = position + layout.LENGTH_SIZE
    const deleted = buffer[start] === 0 && layout.isDeleted(buffer, position)
    const kind = deleted ? chunk.PLAIN : chunk.kindAt(buffer, start, start + length)
    const after = position + length + layout.FRAME_SIZE
    const next = offset + (after === end && sealed ? blockSize : after)
    yield { block, position, seq: offset + position, next, deleted, kind, size: sizeOf(kind, buffer, start, length) }
    position = after
  }
}

/**
 * @param {number} kind
 * @param {Buffer} buffer
 * @param {number} start of the data
 * @param {number} length
 */
function sizeOf (kind, buffer, start, length) {
  if (kind === chunk.LAST) return chunk.lengthAt(buffer, start)
  return kind === chunk.ESCAPED ? length - chunk.ESCAPE_SIZE : length
}

/**
 * @param {Stored} stored
 * @returns {Buffer} its data as it was appended, unless it is a chunk
 */
function dataOf ({ block, position }) {
  return chunk.unescape(layout.dataAt(block.buffer, position))
}

/**
 * Reads the start of a large record: its chunks are in blocks that follow each other, one in each.
 * @param {import('./log-blocks').LogBlocks} blocks
 * @param {Stored} last its last chunk
 * @param {number} most bytes that are wanted
 * @returns {Promise<Buffer | null>} null: chunks of it are gone
 */
async function startOfLarge (blocks, last, most) {
  const { block, position, size } = last
  const count = chunk.indexAt(block.buffer, position + layout.LENGTH_SIZE) + 1
  const first = block.number - count + 1
  if (first * blocks.blockSize < blocks.start) return null
  const joiner = new chunk.Joiner(size, false)
  const parts = []
  for (let number = first; number <= block.number && joiner.bytes < most; number++) {
    const data = chunkIn(number === block.number ? block : await blocks.block(number), number === block.number ? position : -1, number === first)
    if (data === null || !joiner.add(data, 0, data.length, chunk.kindOf(data))) return null
    parts.push(data.subarray(chunk.headerSize(chunk.kindOf(data))))
  }
  return Buffer.concat(parts).subarray(0, most)
}

/**
 * @param {Block} block
 * @param {number} position of the chunk; -1: it is the block's last record, or its first
 * @param {boolean} isFirst whether it is the first chunk
 * @returns {Buffer | null} its data; null: there is none
 */
function chunkIn ({ buffer, end }, position, isFirst) {
  if (end === 0) return null
  const at = position !== -1 ? position : isFirst ? layout.previousPosition(buffer, end) : 0
  const data = layout.dataAt(buffer, at)
  const kind = chunk.kindOf(data)
  return (kind === chunk.PART || kind === chunk.LAST) && chunk.isIntact(data) ? data : null
}

module.exports = { recordsOf, dataOf, startOfLarge }
