'use strict'

// Files of flumelog-aligned-offset, and of this package: the format is the same (format.md), so its own reader of whole files
// is used. It verifies checksums, knows deletions that were interrupted, and reads a log that a process has open.

const { chunk, isZeros, layout, openBlocks } = require('flumelog-random-access-file/blocks')
const { corruptAt, recordAt, restAt } = require('./reader')

/** @typedef {import('./reader').Item} Item */

/**
 * @param {string} filename
 * @param {boolean} large whether large records are given as they were appended, instead of their chunks
 * @returns {AsyncGenerator<Item[], void, void>}
 */
async function * alignedItems (filename, large) {
  const file = await openBlocks(filename)
  const joined = large ? new LargeRecords() : null
  try {
    for await (const blocks of file.scan()) {
      for (const block of blocks) {
        const items = itemsOf(block)
        yield joined === null ? items : joined.join(items)
      }
    }
    const torn = await file.torn()
    // flumelog-aligned-offset fills the last block with zeros when it deletes a record there
    if (torn !== null && (torn.size >= file.blockSize || !isZeros(torn.start))) yield [restAt(torn.offset, file.size, torn.reason)]
  } finally {
    await file.close()
  }
}

/**
 * @param {import('flumelog-random-access-file/blocks').Block} block
 * @returns {Item[]}
 */
function itemsOf ({ offset, buffer, end, error }) {
  if (error !== null) return [corruptAt(offset, offset + buffer.length, error.reason ?? error.message)]
  const items = []
  for (let position = 0; position < end;) {
    const next = layout.nextPosition(buffer, position)
    items.push(recordAt(buffer, position + layout.LENGTH_SIZE, next - layout.LENGTH_SIZE, offset + position, layout.isDeleted(buffer, position)))
    position = next
  }
  return items
}

/** Puts large records together, which have the offset of their last chunk, and removes escapes. */
class LargeRecords {
  constructor () {
    /** @type {InstanceType<typeof chunk.Joiner> | null} */
    this.joiner = null
    /** Whether a deleted record was before this one, with nothing but chunks between: these are of a record whose deletion was interrupted. */
    this.isBehindDeleted = false
  }

  /**
   * @param {Item[]} items
   * @returns {Item[]}
   */
  join (items) {
    return items.flatMap((item) => {
      const kind = item.isDeleted ? chunk.PLAIN : chunk.kindOf(item.data)
      if (kind === chunk.PART || kind === chunk.LAST) return this.addChunk(item, kind)
      this.joiner = null
      this.isBehindDeleted = item.isDeleted
      return kind === chunk.ESCAPED ? { ...item, data: chunk.unescape(item.data), size: item.size - chunk.ESCAPE_SIZE } : item
    })
  }

  /**
   * @param {Item} item
   * @param {number} kind
   * @returns {Item[]} the record, if this is its last chunk
   */
  addChunk (item, kind) {
    const { data, size } = item
    if (chunk.indexAt(data, 0) === 0) {
      this.joiner = new chunk.Joiner(chunk.lengthAt(data, 0), true)
      this.isBehindDeleted = false
    }
    const { joiner } = this
    if (joiner !== null && !joiner.add(data, 0, size, kind)) this.joiner = null
    if (kind === chunk.PART) return []
    this.joiner = null
    if (joiner?.data && joiner.isComplete && joiner.matches(chunk.wholeChecksumAt(data, 0))) {
      const whole = chunk.unescape(joiner.data)
      return [{ ...item, data: whole, size: whole.length }]
    }
    if (this.isBehindDeleted) return []
    return [corruptAt(item.offset, item.offset + size + layout.FRAME_SIZE, 'parts of a large record are missing, or their checksum is another one')]
  }
}

module.exports = { alignedItems }
