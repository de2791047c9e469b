'use strict'

// Packs records into blocks in memory, and says which bytes are to be written next. Pure.

const layout = require('../format/layout')
const { writeChecksum } = require('../format/checksum')
const { leastRoom, Splitter } = require('../format/chunk')
const { Block } = require('../format/block')
const { sizeOf } = require('../storage/buffers')

/** The most bytes of one write; a longer queue is served in several, so no append waits long. */
const MAX_WRITE = 1024 * 1024
/** What stands in the file for a withheld length until all else is durable: no record has this length. */
const NO_LENGTH = Buffer.alloc(layout.LENGTH_SIZE)
/** Bytes that a disk writes as a whole; a power cut may tear a length that lies in two of them. */
const SECTOR_SIZE = 512

class Packer {
  /**
   * @param {Block} tail where the log ends
   * @param {number} blockSize in bytes
   * @param {boolean} checksum whether blocks are sealed with a checksum
   */
  constructor (tail, blockSize, checksum) {
    this.blockSize = blockSize
    this.checksum = checksum
    /** From the block in which the log ends for readers to the one that is being filled. */
    this.blocks = [tail]
    /** The last of them. */
    this.filling = tail
    /** Where the next record starts in it. */
    this.position = tail.end
    /** Where atomic batches start that `nextWrite` has not given yet; of each block only the first. @type {number[]} */
    this.batchStarts = []
    /** The offset of the length that is withheld from the write in progress; -1: none is. */
    this.withheld = -1
    /** Memory for the next blocks. @type {Buffer[]} */
    this.spare = []
  }

  /**
   * Takes over what another one has packed, from its block 0 on: behind the records of this one, in new blocks.
   * @param {Packer} packer with the same rules, and without atomic batches
   * @returns {number} how far the records have moved
   */
  takeOver ({ blocks, position }) {
    if (this.position > 0) this.startBlock()
    const first = this.filling.number
    this.use(this.blocks.slice(0, -1).concat(blocks), this.tail.number, position)
    return first * this.blockSize
  }

  /**
   * The log is another file now.
   * @param {Block[]} blocks from the one in which it ends for readers on
   * @param {number} number of the first one there
   * @param {number} position where the next record starts in the last one
   * @param {number} distance by which records have moved that are not acknowledged
   */
  moveTo (blocks, number, position, distance) {
    this.use(blocks, number, position)
    this.batchStarts = this.batchStarts.map(offset => offset + distance)
    this.withheld = -1
  }

  /**
   * @param {Block[]} blocks
   * @param {number} number of the first one
   * @param {number} position in the last one
   */
  use (blocks, number, position) {
    blocks.forEach((block, i) => { block.number = number + i })
    this.blocks = blocks
    this.filling = blocks[blocks.length - 1]
    this.position = position
  }

  /** The offset at which the next record would start, if it fits into the block. */
  get end () {
    return this.filling.number * this.blockSize + this.position
  }

  /**
   * @param {Uint8Array} data a record; it fits a block, or blocks are large enough for chunks
   * @returns {number} its seq
   */
  add (data) {
    if (!layout.fits(this.blockSize, this.checksum, this.position, data.length)) {
      if (data.length > layout.maxRecordSize(this.blockSize, this.checksum)) return this.addLarge(data)
      this.startBlock()
    }
    const { filling } = this
    const seq = filling.number * this.blockSize + this.position
    this.position = layout.writeRecord(filling.buffer, this.position, data)
    return seq
  }

  /**
   * Adds a record that does not fit into a block, as chunks in a row.
   * @param {Uint8Array} data
   * @returns {number} the seq of the last chunk, which stands for the record
   */
  addLarge (data) {
    const splitter = new Splitter(data)
    const most = layout.maxRecordSize(this.blockSize, this.checksum)
    const least = leastRoom(most)
    let start = this.position
    while (!splitter.isDone) {
      const room = most - this.position
      if (this.position > 0 && room < least && room < splitter.lastSize) this.startBlock()
      else {
        start = this.position
        this.position = splitter.write(this.filling.buffer, start, room)
      }
    }
    return this.filling.number * this.blockSize + start
  }

  /**
   * The same for a string, which is stored as UTF-8, if it is sure to fit into the block that is being filled.
   * @param {string} text
   * @returns {number} bytes of data; 0: nothing was added
   */
  addText (text) {
    const { position } = this
    if (!layout.fits(this.blockSize, this.checksum, position, layout.MAX_UTF8 * text.length)) return 0
    this.position = layout.writeText(this.filling.buffer, position, text)
    return this.position - position - layout.FRAME_SIZE
  }

  /** Records may lie in different blocks, so nothing needs to be done for those that belong together. */
  reserve () {}

  /**
   * Adds records that have their lengths already.
   * @param {Buffer} records as in the file, one after the other; each fits a block
   * @returns {{ first: number, last: number }} the seqs of the first record and of the last one
   */
  addFrame (records) {
    const most = this.blockSize - layout.paddingSize(this.checksum)
    let first = -1
    let last = -1
    for (let start = 0; start < records.length;) {
      const { lastStart, end } = framesWithin(records, start, most - this.position)
      if (end === start) {
        if (this.position === 0) throw new Error(`a record of ${layout.readLength(records, start)} bytes was accepted, and does not fit into a block`)
        this.startBlock()
        continue
      }
      const base = this.filling.number * this.blockSize + this.position
      this.copy(records, start, end)
      if (first === -1) first = base
      last = base + lastStart - start
      start = end
    }
    return { first, last }
  }

  /**
   * @param {Buffer} records
   * @param {number} start
   * @param {number} end of those for which the block that is being filled has room
   */
  copy (records, start, end) {
    records.copy(this.filling.buffer, this.position, start, end)
    this.position += end - start
  }

  /**
   * Adds a batch of which all or nothing survives a crash: in one block, and so in one write. The length of its first
   * record, or of a batch before it in that write, is withheld until all else is durable: recovery truncates there.
   * @param {Uint8Array[]} batch at least one record; together they fit a block
   * @returns {number[]} their seqs
   */
  addAtomic (batch) {
    this.startBatch(sizeOf(batch) + batch.length * layout.FRAME_SIZE)
    return batch.map(data => this.add(data))
  }

  /**
   * The same for records that have their lengths already.
   * @param {Buffer} records of one frame
   * @returns {{ first: number, last: number }}
   */
  addFramedAtomic (records) {
    this.startBatch(records.length)
    return this.addFrame(records)
  }

  /** @param {number} bytes of the records, with their lengths */
  startBatch (bytes) {
    if (this.position > 0 && !this.canTakeBatch(bytes)) this.startBlock()
    if (!this.hasBatch) this.batchStarts.push(this.end)
  }

  /**
   * @param {number} bytes
   * @returns {boolean} whether a batch can follow in the block that is being filled
   */
  canTakeBatch (bytes) {
    if (!layout.fits(this.blockSize, this.checksum, this.position, bytes - layout.FRAME_SIZE)) return false
    return this.hasBatch || this.end % SECTOR_SIZE !== SECTOR_SIZE - 1
  }

  /** Whether an unwritten batch is in the block that is being filled: what follows it there comes with the same write. */
  get hasBatch () {
    const { batchStarts, filling, blockSize } = this
    return batchStarts.length > 0 && batchStarts[batchStarts.length - 1] >= filling.number * blockSize
  }

  /** Seals the block that is being filled, and starts the next one. */
  startBlock () {
    const { buffer, number } = this.filling
    layout.seal(buffer, this.position)
    // now, while the block is in the processor's cache
    if (this.checksum) writeChecksum(buffer)
    this.filling = new Block(number + 1, this.spare.pop() ?? Buffer.allocUnsafe(this.blockSize), 0, false)
    this.blocks.push(this.filling)
    this.position = 0
  }

  /**
   * @param {number} from offset up to which everything is written
   * @param {number} [to] offset up to which records may be written
   * @returns {Buffer[]} what to write next, one after the other; at most MAX_WRITE bytes, or a block if that is more
   */
  nextWrite (from, to = this.end) {
    const { blocks, blockSize } = this
    const buffers = []
    let index = Math.floor(from / blockSize) - blocks[0].number
    let position = from % blockSize
    let left = Math.min(this.endOfBatches(to) - from, Math.max(blockSize, MAX_WRITE - MAX_WRITE % blockSize) - position)
    const withheld = this.withheld = this.takeBatchStarts(from + left)
    while (left > 0) {
      const { number, buffer } = blocks[index++]
      const end = Math.min(blockSize, position + left)
      left -= end - position
      const gap = withheld - number * blockSize
      if (gap >= 0 && gap < end) {
        if (gap > position) buffers.push(buffer.subarray(position, gap))
        buffers.push(NO_LENGTH)
        position = gap + NO_LENGTH.length
      }
      buffers.push(buffer.subarray(position, end))
      position = 0
    }
    return buffers
  }

  /**
   * Of the atomic batches in a block, only the first has its length withheld: no write ends between two of them.
   * @param {number} to offset up to which records may be written
   * @returns {number} the same; if a batch starts before it in the same block, the end of what is in the block
   */
  endOfBatches (to) {
    const block = to - to % this.blockSize
    return this.batchStarts.some(start => start >= block && start < to) ? Math.min(block + this.blockSize, this.end) : to
  }

  /**
   * @param {number} target where the next write ends
   * @returns {number} where the first atomic batch in it starts; -1 if there is none
   */
  takeBatchStarts (target) {
    const { batchStarts } = this
    let count = 0
    while (count < batchStarts.length && batchStarts[count] < target) count++
    return count === 0 ? -1 : batchStarts.splice(0, count)[0]
  }

  /** @returns {Buffer} the length that is withheld, to be written when all else is durable */
  get withheldLength () {
    const { blocks, blockSize, withheld } = this
    const position = withheld % blockSize
    const { buffer } = blocks[(withheld - position) / blockSize - blocks[0].number]
    return buffer.subarray(position, position + layout.LENGTH_SIZE)
  }

  /**
   * Moves the end of the log, as readers see it.
   * @param {number} acknowledged offset
   * @returns {Block[]} the blocks that are full up to there; they are not kept here any longer
   */
  reveal (acknowledged) {
    const { blocks, blockSize } = this
    let count = 0
    while (acknowledged >= (blocks[count].number + 1) * blockSize) count++
    const full = blocks.splice(0, count)
    for (const block of full) {
      block.end = layout.paddingStart(block.buffer)
      block.sealed = true
    }
    this.tail.end = acknowledged - this.tail.number * blockSize
    return full
  }

  /** @param {Block} block one that `reveal` gave, and that nothing else uses: memory that was used before is faster than new memory */
  recycle ({ buffer }) {
    if (this.spare.length * this.blockSize < MAX_WRITE) this.spare.push(buffer)
  }

  /**
   * Reads a record that is not acknowledged, which readers therefore do not see yet.
   * @param {number} seq
   * @returns {Buffer | null} a copy of its data; null: none starts there
   */
  unacknowledgedAt (seq) {
    const { blocks, blockSize, filling } = this
    const number = Math.floor(seq / blockSize)
    const block = blocks[number - blocks[0].number]
    if (block === undefined) return null
    const wanted = seq - number * blockSize
    const end = block === filling ? this.position : layout.paddingStart(block.buffer)
    let position = 0
    while (position < wanted && position < end) position = layout.nextPosition(block.buffer, position)
    return position === wanted && position < end ? Buffer.from(layout.dataAt(block.buffer, position)) : null
  }

  /** @returns {Block} the one that is being filled; readers may see all of it */
  showFilling () {
    this.filling.end = this.position
    return this.filling
  }

  /** The block in which the log ends for readers. */
  get tail () {
    return this.blocks[0]
  }

  /** Drops every record that readers do not see. */
  rollBack () {
    this.use([this.tail], this.tail.number, this.tail.end)
    this.batchStarts = []
    this.withheld = -1
  }
}

/**
 * @param {Buffer} records with their lengths, one after the other
 * @param {number} start where one of them starts
 * @param {number} room bytes
 * @returns {{ lastStart: number, end: number }} of those that fit: where the last one starts, and where it ends
 */
function framesWithin (records, start, room) {
  let lastStart = start
  let end = start
  while (end < records.length) {
    const next = layout.nextPosition(records, end)
    if (next - start > room) break
    lastStart = end
    end = next
  }
  return { lastStart, end }
}

module.exports = { Packer, MAX_WRITE }
