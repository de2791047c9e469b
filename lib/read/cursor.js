'use strict'

// A cursor over records, forward or backward: what streams, scans and searches share.

const { isHole } = require('../format/hole')
const layout = require('../format/layout')
const { textOf } = require('./block-text')
const { Readahead } = require('./readahead')

/** @typedef {import('../format/block').Block} Block */
/** @typedef {import('./options').Range} Range */

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)

/** Records of a block that are decoded by themselves before all of them are: a reader may need no more. */
const RECORDS_BEFORE_BLOCK = 16

/** What `next` finds: */
const RECORD = 0 // a record
const WAITING = 1 // its block is being read; `onready` will be called, after `next` has returned
const AT_END = 2 // the end of the log, where more may be appended
const PAST_BOUND = 3 // no further record can lie within the bounds
const FAILED = 4 // a block that is corrupt or could not be read: see `error`

/** What both directions have in common. Each has its own `next`, and what that needs. @abstract */
class Cursor {
  /**
   * @param {import('./block-cache').BlockCache} blocks
   * @param {Range} range
   * @param {() => void} onready called when a block that was waited for is there
   */
  constructor (blocks, { min, max, reverse, useCache, fromStart, mayJump = fromStart || min <= 0, reuseMemory = false, textByBlock = false, isSingle = false }, onready) {
    this.blocks = blocks
    this.blockSize = blocks.blockSize
    this.readahead = new Readahead(blocks, reverse, useCache, reuseMemory, isSingle)
    this.generation = blocks.generation
    this.min = min
    this.max = max
    this.reverse = reverse
    this.fromStart = fromStart
    /** Whether it goes on at the log's start where blocks were trimmed. Without a lower bound, that is where the first record is. */
    this.mayJump = mayJump
    this.onready = onready
    const { end, tail } = blocks
    /** Number of the current block, or of the one to load next. */
    this.number = reverse
      ? Math.floor(Math.min(max, end) / this.blockSize)
      : Math.min(Math.floor(Math.max(min, 0) / this.blockSize), tail.number)
    /** @type {Block | null} */
    this.block = null
    /** Forward: where the next record starts. Backward: where it ends; -1: not known yet. */
    this.position = reverse ? -1 : 0
    /** Of the current block: its bytes, the memory behind them, and the block's offset. See `enterBlock`. */
    this.buffer = NO_BYTES
    /** @type {ArrayBufferLike} */
    this.memory = NO_BYTES.buffer
    this.memoryStart = 0
    this.base = 0
    /** Whether `text` may decode a whole block; not any more once a record was not ASCII. */
    this.textByBlock = textByBlock
    /** The current block as text, if it was decoded. @type {string | null} */
    this.blockText = null
    this.untilBlockText = RECORDS_BEFORE_BLOCK
    /** The position in the block up to which `next` needs no other check. */
    this.bound = 0
    /** The current record: its offset, and where its data starts and ends in the block. */
    this.seq = -1
    this.start = 0
    this.end = 0
    /** @type {Error | null} */
    this.error = null
  }

  /**
   * Moves to the next record. The hot path: it allocates nothing, and what depends on the block only is looked up
   * once, by `enterBlock`.
   * @returns {number} what it found
   */
  next () {
    throw new Error('implemented by each direction')
  }

  /** @returns {boolean} whether the current record is the last one of its block that `next` finds, as far as is known */
  isAtBlockEnd () {
    throw new Error('implemented by each direction')
  }

  /**
   * Looks up what `next` needs of a block.
   * @param {Block} block
   */
  enterBlock (block) {
    this.buffer = block.buffer
    this.memory = block.memory
    this.memoryStart = block.memoryStart
    this.base = block.number * this.blockSize
    this.blockText = null
    this.untilBlockText = RECORDS_BEFORE_BLOCK
    // from now on, records would be missing
    if (this.mayJump && !this.fromStart && !isFirstHole(block)) this.mayJump = false
  }

  /** @returns {number} RECORD if the block is there now */
  loadBlock () {
    const { number, reverse, blockSize } = this
    if (number < 0 || this.max < this.min) return PAST_BOUND
    if (reverse ? (number + 1) * blockSize <= this.min : number * blockSize > this.max) return PAST_BOUND
    if (number * blockSize < this.blocks.start) return this.leaveTrimmed()
    // after a corrupt tail, which was skipped
    if (number > this.blocks.tail.number) return AT_END
    const furthest = Math.min(Math.max(reverse ? this.min : this.max, this.blocks.start), this.blocks.end)
    const block = this.readahead.take(number, Math.floor(furthest / blockSize), this.onready)
    if (block === undefined) return WAITING
    // this process may have learned it from reading the block
    if (number * blockSize < this.blocks.start) return this.leaveTrimmed()
    if (block.error !== null) {
      this.error = block.error
      return FAILED
    }
    this.block = block
    return RECORD
  }

  /** @returns {number} what there is instead of a block that was trimmed */
  leaveTrimmed () {
    const { start } = this.blocks
    if (this.reverse) return PAST_BOUND
    if (!this.mayJump) {
      this.error = this.blocks.trimmedAt(Math.max(this.number * this.blockSize, this.min))
      return FAILED
    }
    this.number = start / this.blockSize
    this.position = 0
    return this.loadBlock()
  }

  leaveBlock () {
    this.block = null
    this.bound = 0
    this.number += this.reverse ? -1 : 1
    this.position = this.reverse ? -1 : 0
  }

  /** Skips the block that `next` failed in. */
  skipBlock () {
    this.error = null
    this.leaveBlock()
  }

  /** @returns {{ start: number, end: number }} offsets of what `skipBlock` skips */
  failedRange () {
    const { number, blockSize, blocks, position, block } = this
    const start = number * blockSize
    const end = start + (number === blocks.tail.number ? blocks.tail.buffer.length : blockSize)
    // a follower may have given the first records of a block before it became corrupt
    return { start: block === null ? start : start + position, end }
  }

  /** Some block was rewritten; if it was the current one, takes the new one. */
  refresh () {
    this.generation = this.blocks.generation
    this.blockSize = this.blocks.blockSize
    if (this.block === null) return
    const isTrimmed = this.number * this.blockSize < this.blocks.start
    if (isTrimmed && this.block.error === null && this.isAtBlockEnd()) return this.leaveBlock()
    if (this.block.sealed || isTrimmed) this.block = this.blocks.getCached(this.number) ?? null
    if (this.block !== null) this.enterBlock(this.block)
    else this.bound = 0
  }

  /**
   * The log is another file now: goes on in it, at the record that comes next.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  move (map) {
    const wasWaiting = this.readahead.onready !== null
    this.moveBounds(map)
    this.readahead.stop()
    this.block = null
    this.bound = 0
    if (wasWaiting) process.nextTick(this.onready)
  }

  /**
   * Sets the bounds, the block and the position by where the next record is now.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  moveBounds (map) {
    throw new Error('implemented by each direction')
  }

  /** @returns {Buffer} the data of the current record: a view, not a copy */
  data () {
    return layout.view(this.memory, this.memoryStart + this.start, this.end - this.start)
  }

  /** @returns {string} the data of the current record as UTF-8 text, decoded straight from the block */
  text () {
    if (this.blockText !== null) return this.blockText.slice(this.start, this.end)
    if (this.textByBlock && --this.untilBlockText === 0) this.decodeBlock(/** @type {Block} */ (this.block))
    return layout.text(this.buffer, this.start, this.end)
  }

  /** @param {Block} block */
  decodeBlock ({ sealed, buffer, end }) {
    // more may be added to the tail
    if (!sealed) return
    this.blockText = textOf(buffer, end)
    this.textByBlock = this.blockText !== null
  }

  /**
   * @param {import('./scan').OnRecord} onRecord given the bytes of the current record
   * @returns {boolean | void} what it returns
   */
  passTo (onRecord) {
    return onRecord(/** @type {Block} */ (this.block).buffer, this.start, this.end, this.seq)
  }

  /** @returns {boolean} whether the current record has been deleted */
  isDeleted () {
    const { buffer } = this
    return buffer[this.start] === 0 && layout.isDeleted(buffer, this.start - layout.LENGTH_SIZE)
  }

  /** Bytes that the current record takes in the file; of a large one, its last chunk. */
  get size () {
    return this.end - this.start + layout.FRAME_SIZE
  }

  /** Lets `next` find the current record again. */
  stepBack () {
    this.position = this.reverse ? this.end + layout.LENGTH_SIZE : this.start - layout.LENGTH_SIZE
  }

  /**
   * Moves past deleted records.
   * @returns {boolean} whether no other record is left, as far as is known without reading the file
   */
  isExhausted () {
    let found = this.next()
    while (found === RECORD && this.isDeleted()) found = this.next()
    return found === AT_END || found === PAST_BOUND
  }

  stop () {
    this.blocks.cursors.delete(this)
    this.readahead.stop()
    this.block = null
    this.bound = 0
  }
}

/** From the first record to the last. Records that start before `bound` are within the range. */
class ForwardCursor extends Cursor {
  /** @returns {number} */
  next () {
    if (this.generation !== this.blocks.generation) this.refresh()
    const { position } = this
    if (position >= this.bound) return this.advance()
    const start = position + layout.LENGTH_SIZE
    const end = start + layout.readLength(this.buffer, position)
    this.position = end + layout.LENGTH_SIZE
    this.seq = this.base + position
    this.start = start
    this.end = end
    return RECORD
  }

  /** @returns {boolean} */
  isAtBlockEnd () {
    return this.position >= this.bound
  }

  /** @param {import('../space/offset-map').OffsetMap} map */
  moveBounds (map) {
    const next = Math.max(this.min, this.number * this.blockSize + this.position)
    // what comes next was trimmed: that is an error here, too
    if (next < map.start && !this.mayJump) return
    this.min = map.up(next)
    if (this.max !== Infinity) this.max = map.down(this.max)
    this.blockSize = this.blocks.blockSize
    this.number = Math.floor(this.min / this.blockSize)
    this.position = 0
  }

  /**
   * At the bound: the tail may have grown; otherwise, goes to the next block.
   * @returns {number}
   */
  advance () {
    for (;;) {
      const loaded = this.block === null ? this.loadBlock() : RECORD
      if (loaded !== RECORD) return loaded
      const block = /** @type {Block} */ (this.block)
      this.enterBlock(block)
      // not a subclass's, which has called this
      if (this.position < this.bound) return ForwardCursor.prototype.next.call(this)
      if (this.position < block.end) return PAST_BOUND
      if (!block.sealed) return this.blocks.end > this.max ? PAST_BOUND : AT_END
      if (block.error !== null && !(this.mayJump && this.number * this.blockSize < this.blocks.start)) {
        this.error = block.error
        return FAILED
      }
      this.leaveBlock()
    }
  }

  /** @param {Block} block */
  enterBlock (block) {
    super.enterBlock(block)
    if (this.position > 0 && block.isHole) this.position = block.end
    const first = Math.min(block.end, this.min - this.base)
    while (this.position < first) this.position = layout.nextPosition(this.buffer, this.position)
    this.bound = Math.min(block.end, this.max - this.base + 1)
  }
}

/** From the last record to the first. Of the records before `position`, those that start at `bound` or after it are within the range. */
class BackwardCursor extends Cursor {
  /** @returns {number} */
  next () {
    if (this.generation !== this.blocks.generation) this.refresh()
    const end = this.position
    if (end <= 0 || this.block === null) return this.advance()
    const start = layout.previousPosition(this.buffer, end)
    if (start < this.bound) return PAST_BOUND
    this.position = start
    this.seq = this.base + start
    this.start = start + layout.LENGTH_SIZE
    this.end = end - layout.LENGTH_SIZE
    return RECORD
  }

  /** @returns {boolean} */
  isAtBlockEnd () {
    return this.position <= 0
  }

  /** @param {import('../space/offset-map').OffsetMap} map */
  moveBounds (map) {
    const start = this.number * this.blockSize
    const next = this.position === -1 ? Math.min(this.max, start + this.blockSize - 1) : start + this.position - 1
    this.max = map.down(next)
    this.min = map.up(this.min)
    this.blockSize = this.blocks.blockSize
    this.number = Math.floor(this.max / this.blockSize)
    this.position = -1
  }

  /**
   * Goes to the block before.
   * @returns {number}
   */
  advance () {
    for (;;) {
      if (this.block !== null) {
        if (this.number === 0) return PAST_BOUND
        this.leaveBlock()
      }
      const loaded = this.loadBlock()
      if (loaded !== RECORD) return loaded
      this.enterBlock(/** @type {Block} */ (this.block))
      // not a subclass's, which has called this
      if (this.position > 0) return BackwardCursor.prototype.next.call(this)
    }
  }

  /** @param {Block} block */
  enterBlock (block) {
    super.enterBlock(block)
    if (this.position === -1) this.position = endOfLastAtMost(block, this.max - this.base)
    else if (block.isHole) this.position = 0
    this.bound = this.min - this.base
  }
}

/**
 * @param {Block} block
 * @returns {boolean} whether it may be all that is left of blocks of which this process does not know yet that they were trimmed
 */
function isFirstHole ({ number, sealed, error, buffer }) {
  return number === 0 && sealed && error === null && isHole(buffer)
}

/**
 * @param {Block} block
 * @param {number} most
 * @returns {number} where the last record ends that starts at `most` or before; 0 if none does
 */
function endOfLastAtMost ({ buffer, end }, most) {
  if (most >= end) return end
  let position = 0
  while (position < end && position <= most) position = layout.nextPosition(buffer, position)
  return position
}

module.exports = { Cursor, ForwardCursor, BackwardCursor, RECORD, WAITING, AT_END, PAST_BOUND, FAILED }
