'use strict'

// The end of the log, when the log moves to another file. Records that are acknowledged are copied like all others. Those that are not written
// yet keep their positions in their blocks, which get other numbers: in front of those in the tail, the new file has a deleted record. If there
// are none, the tail is sealed in memory first, so that what is appended meanwhile starts another block.

const layout = require('../format/layout')
const { writeChecksum } = require('../format/checksum')

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
    /** Whether unwritten records are in the tail. */
    this.isShared = tail.end > 0 && !this.isSealed
    // first: `keep` may append
    if (this.isSealed) packer.startBlock()
    if (tail.end > 0) target.add(tail.buffer, tail.end, tail.number * blockSize)
    if (this.isShared) target.addFiller(tail.end)
    if (target.lastSeq === -1) target.addHole()
    /** The block in which the new file ends. */
    this.block = target.packer.showFilling()
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

  /** @returns {import('../format/block').Block} the block in which the log ends from now on, for readers */
  move () {
    const { block, first, isShared, hasUnwritten, blocks: { blockSize, checksum }, writer: { packer } } = this
    const isFull = hasUnwritten && !isShared && block.end > 0
    this.distance = (block.number + (isFull ? 1 : 0) - first.number) * blockSize
    let blocks = packer.blocks.slice(packer.blocks.indexOf(first))
    if (!hasUnwritten) {
      blocks = [block]
    } else if (isShared) {
      // a copy, since readers may have views of the tail
      first.buffer.copy(block.buffer, block.end, block.end)
      blocks[0] = block
    } else if (isFull) {
      layout.seal(block.buffer, block.end)
      blocks.unshift(block)
    }
    if (checksum && blocks.length > 1 && blocks[0] === block) writeChecksum(block.buffer)
    packer.moveTo(blocks, block.number, hasUnwritten ? packer.position : block.end, this.distance)
    return packer.tail
  }
}

module.exports = { MovingTail }
