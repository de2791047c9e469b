'use strict'

// Cursors over the records of a log with large ones: chunks are put together, and parts
// without a last chunk, which a crash has left, are passed over. To any other record they
// add a look at its first byte.

const chunk = require('../format/chunk')
const layout = require('../format/layout')
const errors = require('../errors')
const { BackwardCursor, ForwardCursor, RECORD, WAITING, FAILED } = require('./cursor')

/** Bytes of chunks after which timers and I/O get their turn. */
const TURN_SIZE = 8 * 1024 * 1024
/** Stands for the data of a large record where nobody asks for it. */
const NO_DATA = Buffer.alloc(0)
/** What `enterChunk` and `collect` say: look for the next record. */
const NOTHING = -1

/**
 * @typedef {import('./block-cache').BlockCache} BlockCache
 * @typedef {import('./options').Range} Range
 * @typedef {import('../format/block').Block} Block
 */

/** Forward: the data of parts is kept until the last chunk comes. */
class LargeForwardCursor extends ForwardCursor {
  /**
   * @param {BlockCache} blocks
   * @param {Range} range
   * @param {() => void} onready
   */
  constructor (blocks, range, onready) {
    super(blocks, range, onready)
    this.range = range
    /** The current record, if it is large or escaped; null: it is as it is stored. @type {Buffer | null} */
    this.whole = null
    /** What was read of a large record. @type {chunk.Joiner | null} */
    this.joiner = null
    /** Number of the block with its last part. */
    this.lastPart = 0
    /** Reads a record of which parts were not passed: they are before the range, or missing. @type {LargeBackwardCursor | null} */
    this.lookBack = null
    this.bytesInTurn = 0
    this.hasFailedRecord = false
  }

  /** @returns {number} */
  next () {
    if (this.whole !== null) this.whole = null
    if (this.lookBack !== null) {
      const found = this.continueLookBack(this.lookBack)
      if (found !== NOTHING) return found
    }
    for (;;) {
      let found = super.next()
      if (found !== RECORD || this.buffer[this.start] !== chunk.FIRST_BYTE) return found
      found = this.enterChunk()
      if (found !== NOTHING) return found
    }
  }

  /** @returns {number} what to tell the caller of the current record, which may be a chunk */
  enterChunk () {
    const { buffer, start, end } = this
    switch (chunk.kindAt(buffer, start, end)) {
      case chunk.PLAIN: return RECORD
      case chunk.PART: return this.keepPart()
      case chunk.ESCAPED:
        this.whole = chunk.unescape(super.data())
        return RECORD
    }
    const { joiner } = this
    this.joiner = null
    if (joiner === null || !joiner.append(buffer, start, end, chunk.LAST) || !joiner.isComplete) return this.startLookBack()
    if (joiner.matches(chunk.wholeChecksumAt(buffer, start))) return this.give(joiner.data === null ? NO_DATA : chunk.unescape(joiner.data))
    return this.failRecord(errors.corruptLarge(this.blocks.file.filename, this.seq, 'its checksum does not match'))
  }

  /** @returns {number} */
  keepPart () {
    const { buffer, start, end } = this
    if (chunk.indexAt(buffer, start) === 0) this.joiner = new chunk.Joiner(chunk.lengthAt(buffer, start), this.range.needsData !== false)
    if (this.joiner !== null && !this.joiner.append(buffer, start, end, chunk.PART)) this.joiner = null
    this.lastPart = this.number
    return mayGoOn(this, end - start)
  }

  /** @returns {number} */
  startLookBack () {
    const { seq, range } = this
    this.lookBack = new LargeBackwardCursor(this.blocks, { ...range, min: seq, max: seq, reverse: true, reuseMemory: false }, () => this.onready())
    return this.continueLookBack(this.lookBack)
  }

  /**
   * @param {LargeBackwardCursor} lookBack
   * @returns {number}
   */
  continueLookBack (lookBack) {
    const found = lookBack.next()
    if (found === WAITING) return WAITING
    lookBack.stop()
    this.lookBack = null
    // it may have been deleted meanwhile
    if (found === RECORD && !lookBack.isDeleted()) return this.give(/** @type {Buffer} */ (lookBack.whole))
    return found === FAILED ? this.failRecord(/** @type {Error} */ (lookBack.error)) : NOTHING
  }

  /**
   * @param {Buffer} data of a large record
   * @returns {number}
   */
  give (data) {
    this.whole = data
    return RECORD
  }

  /** @param {import('../space/offset-map').OffsetMap} map */
  move (map) {
    const { lookBack } = this
    if (lookBack === null) return super.move(map)
    // the record is looked for again where it is now
    const wasWaiting = lookBack.readahead.onready !== null
    lookBack.stop()
    this.lookBack = null
    this.stepBack()
    super.move(map)
    if (wasWaiting) process.nextTick(this.onready)
  }

  /**
   * @param {Error} error
   * @returns {number}
   */
  failRecord (error) {
    this.error = error
    this.hasFailedRecord = true
    return FAILED
  }

  /** Skips the block that `next` failed in, or only the large record. */
  skipBlock () {
    if (!this.hasFailedRecord) return super.skipBlock()
    this.hasFailedRecord = false
    this.error = null
  }

  /** @returns {{ start: number, end: number }} */
  failedRange () {
    return this.hasFailedRecord ? rangeOfRecord(this) : super.failedRange()
  }

  /** @param {Block} block */
  enterBlock (block) {
    super.enterBlock(block)
    // the parts of a record fill the blocks between its ends: these have no last chunk
    if (this.joiner !== null && block.number > this.lastPart + 1) this.joiner = null
  }

  /** @returns {Buffer} */
  data () {
    return this.whole ?? super.data()
  }

  /** @returns {string} */
  text () {
    return this.whole === null ? super.text() : this.whole.toString()
  }

  /** @returns {boolean} */
  isDeleted () {
    return this.whole === null && super.isDeleted()
  }

  /** @param {import('./scan').OnRecord} onRecord */
  passTo (onRecord) {
    const { whole } = this
    return whole === null ? super.passTo(onRecord) : onRecord(whole, 0, whole.length, this.seq)
  }

  stop () {
    super.stop()
    this.lookBack?.stop()
    this.lookBack = null
    this.joiner = null
  }
}

/** Backward: the last chunk comes first, and says how many parts to collect. */
class LargeBackwardCursor extends BackwardCursor {
  /**
   * @param {BlockCache} blocks
   * @param {Range} range
   * @param {() => void} onready
   */
  constructor (blocks, range, onready) {
    super(blocks, range, onready)
    this.range = range
    /** @type {Buffer | null} */
    this.whole = null
    /** Whether `next` finds the current record again. */
    this.isRepeated = false
    /** The record whose parts are being collected. @type {{ seq: number, start: number, end: number, checksum: number, index: number } | null} */
    this.last = null
    /** @type {chunk.Joiner | null} */
    this.joiner = null
    this.bytesInTurn = 0
    this.hasFailedRecord = false
    /** Whether parts of the last record that was found were trimmed, so that it is gone. */
    this.isCutOff = false
    /** The least seq of a record, while parts in front of it are collected. */
    this.least = range.min
  }

  /** @returns {number} */
  next () {
    if (this.whole !== null) {
      if (this.isRepeated) {
        this.isRepeated = false
        return RECORD
      }
      this.whole = null
    }
    for (;;) {
      let found = super.next()
      if (this.last !== null) found = this.collect(this.last, found)
      else if (found === RECORD && this.buffer[this.start] === chunk.FIRST_BYTE) found = this.enterChunk()
      if (found !== NOTHING) return found
    }
  }

  /** @returns {number} what to tell the caller of the current record, which may be a chunk */
  enterChunk () {
    const { buffer, start, end, seq } = this
    switch (chunk.kindAt(buffer, start, end)) {
      case chunk.PLAIN: return RECORD
      case chunk.PART: return mayGoOn(this, end - start)
      case chunk.ESCAPED:
        this.whole = chunk.unescape(super.data())
        return RECORD
    }
    const index = chunk.indexAt(buffer, start)
    this.last = { seq, start, end, checksum: chunk.wholeChecksumAt(buffer, start), index }
    this.joiner = new chunk.Joiner(chunk.lengthAt(buffer, start), this.range.needsData !== false)
    // the parts may be before the range
    this.least = this.min
    this.min = this.bound = -Infinity
    return this.addChunk(this.last, this.joiner, chunk.LAST)
  }

  /**
   * @param {NonNullable<LargeBackwardCursor['last']>} last
   * @param {number} found what is before the chunks that are there
   * @returns {number}
   */
  collect (last, found) {
    if (found === WAITING) return WAITING
    if (found === FAILED) {
      this.endRecord()
      return FAILED
    }
    if (found !== RECORD) {
      if (this.blocks.start === 0) return this.failRecord(last, 'its first part is missing')
      this.isCutOff = true
      this.endRecord()
      return found
    }
    // a record of which a part is deleted is gone
    if (super.isDeleted()) {
      this.endRecord()
      return NOTHING
    }
    const { buffer, start, end } = this
    if (chunk.kindAt(buffer, start, end) === chunk.PART) return this.addChunk(last, /** @type {chunk.Joiner} */ (this.joiner), chunk.PART)
    this.stepBackOne()
    return this.failRecord(last, `a part is missing before offset ${this.seq + end - start + layout.FRAME_SIZE}`)
  }

  /**
   * @param {NonNullable<LargeBackwardCursor['last']>} last
   * @param {chunk.Joiner} joiner
   * @param {number} kind
   * @returns {number}
   */
  addChunk (last, joiner, kind) {
    const { buffer, start, end } = this
    if (!joiner.prepend(buffer, start, end, kind, last.index - joiner.count)) {
      if (kind === chunk.PART) this.stepBackOne()
      return this.failRecord(last, `the part at offset ${this.seq} is of another record`)
    }
    if (joiner.count <= last.index) return mayGoOn(this, end - start)
    if (!joiner.isComplete) return this.failRecord(last, `it has ${joiner.bytes} bytes instead of ${joiner.length}`)
    if (!joiner.matches(last.checksum)) return this.failRecord(last, 'its checksum does not match')
    this.endRecord()
    this.whole = joiner.data === null ? NO_DATA : chunk.unescape(joiner.data)
    this.become(last)
    return RECORD
  }

  /** No more parts are collected. */
  endRecord () {
    this.last = null
    this.joiner = null
    this.min = this.least
    this.bound = this.min - this.base
  }

  /** @param {NonNullable<LargeBackwardCursor['last']>} last which is the current record, though the cursor is at its first chunk */
  become ({ seq, start, end }) {
    this.seq = seq
    this.start = start
    this.end = end
  }

  /**
   * @param {NonNullable<LargeBackwardCursor['last']>} last
   * @param {string} reason
   * @returns {number}
   */
  failRecord (last, reason) {
    this.error = errors.corruptLarge(this.blocks.file.filename, last.seq, reason)
    this.hasFailedRecord = true
    this.endRecord()
    this.become(last)
    return FAILED
  }

  /** Skips the block that `next` failed in, or only the large record. */
  skipBlock () {
    if (!this.hasFailedRecord) return super.skipBlock()
    this.hasFailedRecord = false
    this.error = null
  }

  /** @returns {{ start: number, end: number }} */
  failedRange () {
    return this.hasFailedRecord ? rangeOfRecord(this) : super.failedRange()
  }

  /** @param {import('../space/offset-map').OffsetMap} map */
  move (map) {
    const { last } = this
    if (last !== null) {
      // the record is looked for again where it is now
      this.endRecord()
      this.number = Math.floor(last.seq / this.blockSize)
      this.position = last.end + layout.LENGTH_SIZE
    }
    super.move(map)
  }

  /** What is at the cursor is no part of the record: `next` finds it again. */
  stepBackOne () {
    super.stepBack()
  }

  stepBack () {
    if (this.whole === null) super.stepBack()
    else this.isRepeated = true
  }

  /** @returns {Buffer} */
  data () {
    return this.whole ?? super.data()
  }

  /** @returns {string} */
  text () {
    return this.whole === null ? super.text() : this.whole.toString()
  }

  /** @returns {boolean} */
  isDeleted () {
    return this.whole === null && super.isDeleted()
  }

  /** @param {import('./scan').OnRecord} onRecord */
  passTo (onRecord) {
    const { whole } = this
    return whole === null ? super.passTo(onRecord) : onRecord(whole, 0, whole.length, this.seq)
  }
}

/**
 * @param {LargeForwardCursor | LargeBackwardCursor} cursor
 * @param {number} bytes of a chunk that it has passed
 * @returns {number} WAITING: other work gets its turn first
 */
function mayGoOn (cursor, bytes) {
  cursor.bytesInTurn += bytes
  if (cursor.bytesInTurn < TURN_SIZE) return NOTHING
  cursor.bytesInTurn = 0
  cursor.blocks.clock.setImmediate(cursor.onready)
  return WAITING
}

/**
 * @param {{ seq: number, start: number, end: number }} cursor
 * @returns {{ start: number, end: number }} offsets of its current record, as it is stored
 */
function rangeOfRecord ({ seq, start, end }) {
  return { start: seq, end: seq + end - start + layout.FRAME_SIZE }
}

/**
 * @param {BlockCache} blocks
 * @param {Range} range
 * @param {() => void} onready called when a block that was waited for is there
 * @returns {import('./cursor').Cursor} over the records as they were appended
 */
function openLargeCursor (blocks, range, onready) {
  return range.reverse ? new LargeBackwardCursor(blocks, range, onready) : new LargeForwardCursor(blocks, range, onready)
}

module.exports = { openLargeCursor, LargeBackwardCursor }
