'use strict'

// The file that is to take the place of a log with large records, if records can be dropped: the parts of one are
// held back until its last chunk is there, and with it the whole record, which is kept or dropped.

const chunk = require('../format/chunk')
const layout = require('../format/layout')
const { CompactedFile } = require('./compacted-file')

/** @typedef {import('./compacted-file').Keep} Keep */
/** @typedef {{ frame: Buffer, seq: number }} Held a part with its lengths, from an earlier block or this one */

class LargeCompactedFile extends CompactedFile {
  /**
   * @param {string} filename
   * @param {number} fd
   * @param {ConstructorParameters<typeof CompactedFile>[2] & { keep: Keep }} options
   * @param {import('./offset-map-writer').OffsetMapWriter} map
   */
  constructor (filename, fd, options, map) {
    super(filename, fd, options, map)
    this.keepWhole = options.keep
    this.keepSmall = unescaping(options.keep)
    /** Decides about a record in a block. @type {Keep | null} */
    this.keep = this.keepSmall
    /** The parts of a record whose last chunk has not come. @type {Held[]} */
    this.held = []
    /** @type {chunk.Joiner | null} */
    this.joiner = null
  }

  /**
   * @param {Buffer} block whose lengths are valid
   * @param {number} end of its records
   * @param {number} offset of it in the log
   */
  add (block, end, offset) {
    let from = 0
    for (let position = 0; position < end;) {
      const next = layout.nextPosition(block, position)
      const kind = kindAt(block, position, next)
      if (kind === chunk.PART || kind === chunk.LAST) {
        super.add(block.subarray(from, position), position - from, offset + from)
        this.addChunk({ frame: block.subarray(position, next), seq: offset + position }, kind)
        from = next
      } else this.dropHeld()
      position = next
    }
    super.add(block.subarray(from, end), end - from, offset + from)
  }

  /**
   * @param {Held} held
   * @param {number} kind
   */
  addChunk (held, kind) {
    const { frame, seq } = held
    if (kind === chunk.PART) return this.hold({ frame: Buffer.from(frame), seq })
    if (this.isKept(held)) {
      this.addHeld()
      this.addAsItIs(held)
    } else {
      this.dropped += this.held.length + 1
      this.held = []
    }
    this.joiner = null
  }

  /** @param {Held} held */
  hold (held) {
    const { frame } = held
    const start = layout.LENGTH_SIZE
    const end = frame.length - layout.LENGTH_SIZE
    if (chunk.indexAt(frame, start) === 0) {
      this.dropHeld()
      this.joiner = new chunk.Joiner(chunk.lengthAt(frame, start), true)
    }
    this.joiner?.add(frame, start, end, chunk.PART)
    this.held.push(held)
  }

  /** A crash has left parts without a last chunk. */
  dropHeld () {
    this.deleted += this.held.length
    this.held = []
    this.joiner = null
  }

  /**
   * @param {Held} last a last chunk
   * @returns {boolean} what is not whole is kept: reading it says what is wrong with it
   */
  isKept ({ frame, seq }) {
    const { joiner } = this
    const start = layout.LENGTH_SIZE
    const isWhole = joiner !== null && joiner.add(frame, start, frame.length - layout.LENGTH_SIZE, chunk.LAST) && joiner.isComplete &&
      joiner.matches(chunk.wholeChecksumAt(frame, start))
    if (!isWhole) return true
    const whole = chunk.unescape(/** @type {Buffer} */ (joiner.data))
    return this.keepWhole(whole, 0, whole.length, seq)
  }

  addHeld () {
    for (const held of this.held) this.addAsItIs(held)
    this.held = []
  }

  /** @param {Held} held */
  addAsItIs ({ frame, seq }) {
    this.keep = null
    super.add(frame, frame.length, seq)
    this.keep = this.keepSmall
  }
}

/**
 * @param {Buffer} block
 * @param {number} position where a record starts
 * @param {number} next where it ends
 * @returns {number}
 */
function kindAt (block, position, next) {
  const start = position + layout.LENGTH_SIZE
  return block[start] === chunk.FIRST_BYTE ? chunk.kindAt(block, start, next - layout.LENGTH_SIZE) : chunk.PLAIN
}

/**
 * @param {Keep} keep
 * @returns {Keep}
 */
function unescaping (keep) {
  return (block, start, end, seq) => {
    const isEscaped = block[start] === chunk.FIRST_BYTE && chunk.kindAt(block, start, end) === chunk.ESCAPED
    return keep(block, isEscaped ? start + chunk.ESCAPE_SIZE : start, end, seq)
  }
}

module.exports = { LargeCompactedFile }
