'use strict'

// The walk over records, forward or backward, that streams and scans share.

const layout = require('../format/layout')
const errors = require('../errors')
const { Readahead } = require('./readahead')
const { format } = require('../options')

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)

/** What `next` can find: */
const RECORD = 0 // a record
const WAITING = 1 // its block is being read; `onready` will be called
const AT_END = 2 // the end of the log, where more may be appended
const PAST_BOUND = 3 // no further record can lie within the bounds
const FAILED = 4 // a block that is damaged or could not be read: see `error`

/**
 * @typedef {object} Range
 * @property {number} min the least seq, inclusive; may be -Infinity
 * @property {number} max the greatest seq, inclusive; may be Infinity
 * @property {boolean} reverse
 * @property {boolean} keep whether blocks go into the cache
 * @property {boolean} [reuse] whether the memory of a block may be used again once the walk has left it
 *
 * @typedef {object} RangeOptions
 * @property {number | null} [gt] only records after this offset; any integer
 * @property {number | null} [gte] only records at or after this offset
 * @property {number | null} [lt] only records before this offset
 * @property {number | null} [lte] only records at or before this offset
 * @property {boolean} [reverse] last record first; default false
 * @property {boolean} [cache] whether blocks that are read go into the cache; default true
 */

/**
 * @param {RangeOptions} options
 * @returns {Range}
 * @throws flumelog:invalid for a bound that is no integer, or options that are no object
 */
function rangeOf (options) {
  if (options === null || typeof options !== 'object') {
    throw errors.invalid(`options must be an object; they are ${format(options)}`)
  }
  const { gt, gte, lt, lte } = options
  return {
    min: Math.max(bound('gt', gt, -Infinity) + 1, bound('gte', gte, -Infinity)),
    max: Math.min(bound('lt', lt, Infinity) - 1, bound('lte', lte, Infinity)),
    reverse: !!options.reverse,
    keep: options.cache !== false
  }
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} missing what stands for no bound
 */
function bound (name, value, missing) {
  if (value === undefined || value === null) return missing
  if (Number.isInteger(value) || value === Infinity || value === -Infinity) return /** @type {number} */ (value)
  throw errors.invalid(`${name} must be an integer, the offset of a record or any other; it is ${format(value)}`)
}

/** What walks in both directions have in common. Each has `next` of its own, and what it needs. @abstract */
class Cursor {
  /**
   * @param {import('./block-cache').BlockCache} blocks
   * @param {Range} range
   * @param {() => void} onready called when a block that was waited for is there
   */
  constructor (blocks, { min, max, reverse, keep, reuse = false }, onready) {
    this.blocks = blocks
    this.blockSize = blocks.blockSize
    this.readahead = new Readahead(blocks, reverse, keep, reuse)
    this.rewrites = blocks.rewrites
    this.min = min
    this.max = max
    this.reverse = reverse
    this.onready = onready
    const { end, tail } = blocks
    /** number of the block that is, or will be, walked */
    this.number = reverse
      ? Math.floor(Math.min(max, end) / this.blockSize)
      : Math.min(Math.floor(Math.max(min, 0) / this.blockSize), tail.number)
    /** @type {import('./block-cache').Block | null} */
    this.block = null
    /** Forward: where the next record starts. Backward: where it ends; -1: not known yet. */
    this.position = reverse ? -1 : 0
    /** Of the block: its bytes, where these are in memory, and the offset at which it starts. See `aim`. */
    this.buffer = NO_BYTES
    /** @type {ArrayBufferLike} */
    this.memory = NO_BYTES.buffer
    this.memoryStart = 0
    this.base = 0
    /** A position that bounds what can be given of the block without a further look. */
    this.edge = 0
    /** The current record: its offset, and where its data is in the block. */
    this.seq = -1
    this.start = 0
    this.end = 0
    /** @type {Error | null} */
    this.error = null
  }

  /**
   * Goes to the next record. The hot path: what can be looked up once a block is, by `aim`, and no object is made.
   * @returns {number} what it found
   */
  next () {
    throw new Error('each direction has its own')
  }

  /**
   * Looks up what `next` needs of a block.
   * @param {import('./block-cache').Block} block
   */
  aim (block) {
    this.buffer = block.buffer
    this.memory = block.memory
    this.memoryStart = block.memoryStart
    this.base = block.number * this.blockSize
  }

  /** @returns {number} RECORD if the block is there now */
  enter () {
    const { number, reverse, blockSize } = this
    if (number < 0 || this.max < this.min) return PAST_BOUND
    if (reverse ? (number + 1) * blockSize <= this.min : number * blockSize > this.max) return PAST_BOUND
    // behind a damaged tail, which was skipped
    if (number > this.blocks.tail.number) return AT_END
    const edge = Math.min(Math.max(reverse ? this.min : this.max, 0), this.blocks.end)
    const block = this.readahead.take(number, Math.floor(edge / blockSize), this.onready)
    if (block === undefined) return WAITING
    if (block.error !== null) {
      this.error = block.error
      return FAILED
    }
    this.block = block
    return RECORD
  }

  leave () {
    this.block = null
    this.edge = 0
    this.number += this.reverse ? -1 : 1
    this.position = this.reverse ? -1 : 0
  }

  /** Steps over a block that `next` failed in. */
  skip () {
    this.error = null
    this.leave()
  }

  /** A record was deleted somewhere; if it was in the block at hand, take the new one. */
  refresh () {
    this.rewrites = this.blocks.rewrites
    this.blockSize = this.blocks.blockSize
    if (this.block === null) return
    if (this.block.sealed) this.block = this.blocks.peek(this.number) ?? null
    if (this.block !== null) this.aim(this.block)
    else this.edge = 0
  }

  /** @returns {Buffer} the data of the current record: a view, not a copy */
  data () {
    return layout.view(this.memory, this.memoryStart + this.start, this.end - this.start)
  }

  /** @returns {boolean} whether the current record has been deleted */
  isDeleted () {
    const { buffer } = this
    return buffer[this.start] === 0 && layout.isDeleted(buffer, this.start - layout.LENGTH_SIZE)
  }

  stop () {
    this.readahead.stop()
    this.block = null
    this.edge = 0
  }
}

/** From the first record to the last. `edge`: records that start before this position can be given without a further look. */
class Forward extends Cursor {
  /** @returns {number} */
  next () {
    if (this.rewrites !== this.blocks.rewrites) this.refresh()
    const { position } = this
    if (position >= this.edge) return this.further()
    const start = position + layout.LENGTH_SIZE
    const end = start + layout.readLength(this.buffer, position)
    this.position = end + layout.LENGTH_SIZE
    this.seq = this.base + position
    this.start = start
    this.end = end
    return RECORD
  }

  /**
   * The block seems to be used up: the tail may have grown.
   * @returns {number}
   */
  further () {
    for (;;) {
      const entered = this.block === null ? this.enter() : RECORD
      if (entered !== RECORD) return entered
      const block = /** @type {import('./block-cache').Block} */ (this.block)
      this.aim(block)
      if (this.position < this.edge) return this.next()
      if (this.position < block.end) return PAST_BOUND
      if (!block.sealed) return this.blocks.end > this.max ? PAST_BOUND : AT_END
      if (block.error !== null) {
        this.error = block.error
        return FAILED
      }
      this.leave()
    }
  }

  /** @param {import('./block-cache').Block} block */
  aim (block) {
    super.aim(block)
    const first = Math.min(block.end, this.min - this.base)
    while (this.position < first) this.position = layout.nextPosition(this.buffer, this.position)
    this.edge = Math.min(block.end, this.max - this.base + 1)
  }
}

/** From the last record to the first. `edge`: of the records before `position`, those that start from it on can be given. */
class Backward extends Cursor {
  /** @returns {number} */
  next () {
    if (this.rewrites !== this.blocks.rewrites) this.refresh()
    const end = this.position
    if (end <= 0 || this.block === null) return this.further()
    const start = layout.previousPosition(this.buffer, end)
    if (start < this.edge) return PAST_BOUND
    this.position = start
    this.seq = this.base + start
    this.start = start + layout.LENGTH_SIZE
    this.end = end - layout.LENGTH_SIZE
    return RECORD
  }

  /** @returns {number} */
  further () {
    for (;;) {
      if (this.block !== null) {
        if (this.number === 0) return PAST_BOUND
        this.leave()
      }
      const entered = this.enter()
      if (entered !== RECORD) return entered
      this.aim(/** @type {import('./block-cache').Block} */ (this.block))
      if (this.position > 0) return this.next()
    }
  }

  /** @param {import('./block-cache').Block} block */
  aim (block) {
    super.aim(block)
    if (this.position === -1) this.position = endOfLastAtMost(block, this.max - this.base)
    this.edge = this.min - this.base
  }
}

/**
 * @param {import('./block-cache').BlockCache} blocks
 * @param {Range} range
 * @param {() => void} onready called when a block that was waited for is there
 * @returns {Cursor}
 */
function openCursor (blocks, range, onready) {
  return range.reverse ? new Backward(blocks, range, onready) : new Forward(blocks, range, onready)
}

/**
 * @param {import('./block-cache').Block} block
 * @param {number} most
 * @returns {number} where the last record ends that starts at `most` or before; 0 if none does
 */
function endOfLastAtMost ({ buffer, end }, most) {
  if (most >= end) return end
  let position = 0
  while (position < end && position <= most) position = layout.nextPosition(buffer, position)
  return position
}

module.exports = { openCursor, Cursor, rangeOf, RECORD, WAITING, AT_END, PAST_BOUND, FAILED }
