'use strict'

// The block in which the log ends, and those behind it that are not written yet, when the log moves to another file.
// If nothing follows the tail's records they are copied like all others: it is sealed in memory, so that what is appended
// meanwhile starts another block. Otherwise it is copied as it is. Either way, unwritten records keep their
// positions in their blocks, which get other numbers.

const layout = require('../format/layout')
const { writeChecksum } = require('../format/checksum')
const { Block } = require('../format/block')

class MovingTail {
  /**
   * @param {import('../write/writer').Writer} writer that writes nothing meanwhile
   * @param {import('./compacted-file').CompactedFile} target that has all of the log up to its tail
   */
  constructor (writer, target) {
    const { packer, blocks, acknowledged } = writer
    const { tail, blockSize } = blocks
    this.writer = writer
    this.blocks = blocks
    this.isSealed = tail.end > 0 && packer.end === acknowledged
    /** Whether it is copied as it is. */
    this.isSame = tail.end > 0 && !this.isSealed
    /** Positions in it of records that are not kept, if it is. @type {number[]} */
    this.dropped = []
    if (this.isSealed) {
      // first: `keep` may append
      packer.startBlock()
      target.add(tail.buffer, tail.end, tail.number * blockSize)
    } else if (this.isSame) this.dropped = target.addTail(tail.buffer, tail.end, tail.number * blockSize)
    if (target.lastSeq === -1) target.addHole()
    /** The block in which the new file ends. */
    this.block = new Block(Math.floor(target.end / blockSize), target.tailBuffer(), target.position, false)
    /** The first block with unwritten records. */
    this.first = packer.blocks[this.isSealed ? 1 : 0]
    /** How far unwritten records move. */
    this.distance = 0
  }

  /** The log stays where it is. */
  stay () {
    const { packer, appender } = this.writer
    if (!this.isSealed || this.hasUnwritten) return
    packer.rollBack()
    appender.waiters.move(offset => Math.min(offset, packer.end), seq => seq)
  }

  /** Whether something was appended behind the copied records. */
  get hasUnwritten () {
    const { packer } = this.writer
    return packer.filling !== this.first || packer.position > 0
  }

  /** @returns {Block} the block in which the log ends from now on, for readers */
  move () {
    const { block, first, writer: { packer } } = this
    if (this.isSame) this.dropFrom(first)
    else if (!this.hasUnwritten) packer.blocks = [block]
    else if (this.isSealed) packer.blocks.shift()
    const hasOwn = !this.isSame && block.end > 0
    if (hasOwn && this.hasUnwritten) {
      layout.seal(block.buffer, block.end)
      if (this.blocks.checksum) writeChecksum(block.buffer)
      packer.blocks.unshift(block)
    }
    this.distance = (block.number + (hasOwn ? 1 : 0) - first.number) * this.blocks.blockSize
    if (packer.blocks[0] === block && packer.blocks.length === 1) {
      packer.position = block.end
    }
    packer.blocks.forEach((other, i) => { other.number = block.number + i })
    packer.filling = packer.blocks[packer.blocks.length - 1]
    packer.batchStarts = packer.batchStarts.map(offset => offset + this.distance)
    packer.withheld = -1
    return packer.tail
  }

  /** @param {Block} tail that was copied as it is: readers keep what they have of it */
  dropFrom (tail) {
    if (this.dropped.length === 0) return
    const buffer = Buffer.from(tail.buffer)
    for (const position of this.dropped) layout.zeroRecord(buffer, position)
    if (tail !== this.writer.packer.filling && this.blocks.checksum) writeChecksum(buffer)
    tail.setBuffer(buffer)
  }
}

module.exports = { MovingTail }
