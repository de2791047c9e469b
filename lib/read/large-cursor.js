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
 * @typedef {{ seq: number, start: number, end: number, checksum: number }} LastChunk
 */

/**
 * What both directions have in common: the current record may be put together, and reading it may fail where reading its blocks does not.
 * @template {new (...args: any[]) => import('./cursor').Cursor} Base
 * @param {Base} Direction
 */
const putTogether = (Direction) => class extends Direction {
  /** @param {any[]} args those of a cursor */
  constructor (...args) {
    super(...args)
    /** @type {Range} */
    this.range = args[1]
    /** The current record, if it is large or escaped; null: it is as it is stored. @type {Buffer | null} */
    this.whole = null
    /** What was read of a large record. @type {chunk.Joiner | null} */
    this.joiner = null
    this.bytesInTurn = 0
    this.hasFailedRecord = false
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
    return this.hasFailedRecord ? { start: this.seq, end: this.seq + this.size } : super.failedRange()
  }

  /**
   * @param {Buffer} data of a large record, or of an escaped one
   * @returns {number}
   */
  give (data) {
    this.whole = data
    return RECORD
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

  /**
   * @param {number} bytes of a chunk that it has passed
   * @returns {number} WAITING: other work gets its turn first
   */
  passChunk (bytes) {
    this.bytesInTurn += bytes
    if (this.bytesInTurn < TURN_SIZE) return NOTHING
    this.bytesInTurn = 0
    this.blocks.clock.setImmediate(this.onready)
    return WAITING
  }
}

/** Forward: the data of parts is kept until the last chunk comes. */
class LargeForwardCursor extends putTogether(ForwardCursor) {
  /** Number of the block with the last part that was read. */
  lastPart = 0
  /** Reads a record of which parts were not passed: they are before the range, or missing. @type {LargeBackwardCursor | null} */
  lookBack = null

  /** @returns {number} */
  next () {
    this.whole = null
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
      case chunk.ESCAPED: return this.give(chunk.unescape(super.data()))
    }
    const { joiner } = this
    this.joiner = null
    if (joiner === null || !joiner.add(buffer, start, end, chunk.LAST) || !joiner.isComplete) return this.startLookBack()
    if (joiner.matches(chunk.wholeChecksumAt(buffer, start))) return this.give(joiner.data === null ? NO_DATA : chunk.unescape(joiner.data))
    return this.failRecord(errors.corruptLarge(this.blocks.file.filename, this.seq, 'its checksum does not match'))
  }

  /** @returns {number} */
  keepPart () {
    const { buffer, start, end } = this
    if (chunk.indexAt(buffer, start) === 0) this.joiner = new chunk.Joiner(chunk.lengthAt(buffer, start), this.range.needsData !== false)
    if (this.joiner !== null && !this.joiner.add(buffer, start, end, chunk.PART)) this.joiner = null
    this.lastPart = this.number
    return this.passChunk(end - start)
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

  /** @param {Block} block */
  enterBlock (block) {
    super.enterBlock(block)
    // the parts of a record fill the blocks between its ends: these have no last chunk
    if (this.joiner !== null && block.number > this.lastPart + 1) this.joiner = null
  }

  stop () {
    super.stop()
    this.lookBack?.stop()
    this.lookBack = null
    this.joiner = null
  }
}

/** Backward: the last chunk comes first, and says how many parts to collect. */
class LargeBackwardCursor extends putTogether(BackwardCursor) {
  /** The last chunk of the record whose parts are being collected. @type {LastChunk | null} */
  last = null
  /** Whether parts of the last record that was found were trimmed, so that it is gone. */
  isCutOff = false
  /** The least seq of a record, while parts in front of it are collected. */
  least = this.range.min

  /** @returns {number} */
  next () {
    this.whole = null
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
      case chunk.PART: return this.passChunk(end - start)
      case chunk.ESCAPED: return this.give(chunk.unescape(super.data()))
    }
    this.last = { seq, start, end, checksum: chunk.wholeChecksumAt(buffer, start) }
    this.joiner = new chunk.Joiner(chunk.lengthAt(buffer, start), this.range.needsData !== false, chunk.indexAt(buffer, start))
    // the parts may be before the range
    this.least = this.min
    this.min = this.bound = -Infinity
    return this.addChunk(this.last, this.joiner, chunk.LAST)
  }

  /**
   * @param {LastChunk} last
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
      if (this.blocks.start === 0) return this.failLarge(last, 'its first part is missing')
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
    this.stepBack()
    return this.failLarge(last, `a part is missing before offset ${this.seq + end - start + layout.FRAME_SIZE}`)
  }

  /**
   * @param {LastChunk} last
   * @param {chunk.Joiner} joiner
   * @param {number} kind
   * @returns {number}
   */
  addChunk (last, joiner, kind) {
    const { buffer, start, end } = this
    if (!joiner.add(buffer, start, end, kind)) {
      // what is there is no part of the record
      if (kind === chunk.PART) this.stepBack()
      return this.failLarge(last, `the part at offset ${this.seq} is of another record`)
    }
    if (joiner.index >= 0) return this.passChunk(end - start)
    if (!joiner.isComplete) return this.failLarge(last, `it has ${joiner.bytes} bytes instead of ${joiner.length}`)
    if (!joiner.matches(last.checksum)) return this.failLarge(last, 'its checksum does not match')
    this.endRecord()
    this.become(last)
    return this.give(joiner.data === null ? NO_DATA : chunk.unescape(joiner.data))
  }

  /** No more parts are collected. */
  endRecord () {
    this.last = null
    this.joiner = null
    this.min = this.least
    this.bound = this.min - this.base
  }

  /** @param {LastChunk} last which is the current record, though the cursor is at its first chunk */
  become ({ seq, start, end }) {
    this.seq = seq
    this.start = start
    this.end = end
  }

  /**
   * @param {LastChunk} last
   * @param {string} reason
   * @returns {number}
   */
  failLarge (last, reason) {
    this.endRecord()
    this.become(last)
    return this.failRecord(errors.corruptLarge(this.blocks.file.filename, last.seq, reason))
  }

  /** @param {import('../space/offset-map').OffsetMap} map */
  move (map) {
    const { last } = this
    if (last !== null) {
      this.endRecord()
      this.returnTo(last)
    }
    super.move(map)
  }

  stepBack () {
    if (this.whole === null) super.stepBack()
    else this.returnTo(this)
  }

  /**
   * `next` finds the record again, in whichever file it is then.
   * @param {{ seq: number, end: number }} last its last chunk
   */
  returnTo ({ seq, end }) {
    this.block = null
    this.bound = 0
    this.number = Math.floor(seq / this.blockSize)
    this.position = end + layout.LENGTH_SIZE
  }
}

module.exports = { LargeForwardCursor, LargeBackwardCursor }
