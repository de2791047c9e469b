'use strict'

// When the records of a block were made, as the function `time` of the option `retain` says. Not every record has a
// time: a block without one counts as old as the one before it, or if none has told a time, as the next one that does.

const { types } = require('util')
const chunk = require('../format/chunk')
const layout = require('../format/layout')
const { format } = require('../format-value')
const { readLarge } = require('../read/get')

/** Numbers that are times of these years, in seconds. In milliseconds they are days of 1970, so nearly surely a mistake, which would empty the log. */
const FIRST_SECONDS = Date.UTC(2001) / 1000
const LAST_SECONDS = Date.UTC(2100) / 1000
/** Blocks that are read for the next time, if no large record can reach further. */
const MAX_BLOCKS = 64

/** @typedef {import('../format/block').Block} Block */

class BlockTimes {
  /**
   * @param {import('../write/writer').Writer} writer
   * @param {(value: any) => number | Date} time
   * @param {import('../record-codec').RecordCodec} codec
   */
  constructor (writer, time, codec) {
    this.filename = writer.file.filename
    this.blocks = writer.blocks
    this.time = time
    this.codec = codec
    /** Of the last block that was asked for and told one; Infinity: none has. */
    this.last = Infinity
    /** The blocks from `after` up to this one tell no time, and count as having its; null: none after them has told one yet. */
    this.next = { after: 0, number: 0, time: /** @type {number | null} */ (null) }
    /** What `time` gave last that is no time, and for which record. @type {{ seq: number, given: unknown } | null} */
    this.nothing = null
    this.hasWarned = false
  }

  /**
   * @param {number} number
   * @param {Block | null} block null: it cannot be read
   * @returns {Promise<number>} time of its last record; -Infinity if it has none, Infinity if nothing tells
   */
  async of (number, block) {
    let time = block === null ? null : await this.toldBy(block)
    // parts of a large record are as old as its last chunk
    if (time === null && (this.codec.large || this.last === Infinity)) time = await this.after(number)
    time ??= this.last
    if (time !== -Infinity) this.last = time
    return time
  }

  /**
   * @param {number} number of a block that does not tell
   * @returns {Promise<number | null>} of the first one after it that does; null: none does so far. What was read is not read again
   */
  async after (number) {
    const { blocks } = this
    let { after, number: next, time } = this.next
    if (number < after || number > next || (number === next && time !== null)) [after, next, time] = [number, number, null]
    // nearly all of a block between the first chunk and the last is data, in the smallest more than a third
    const most = this.codec.large ? Math.ceil(chunk.MAX_LENGTH / (blocks.blockSize / 3)) : MAX_BLOCKS
    const { number: tail } = blocks.tail
    const end = Math.min(tail, next + most)
    while (time === null && next < end) {
      const block = await blocks.read(++next).catch(() => null)
      const told = block === null ? null : await this.toldBy(block)
      if (told !== -Infinity) time = told
    }
    // more will come into the last one
    this.next = { after, number: time === null ? Math.min(next, tail - 1) : next, time }
    if (time === null && this.last === Infinity && this.nothing !== null) {
      const { seq, given } = this.nothing
      this.warn(`\`time\` gives no time of any record so far, so none is removed for its age: of the record at offset ${seq}, it returned ${format(given)}`)
    }
    return time
  }

  /**
   * @param {Block} block
   * @returns {Promise<number | null>} of the last record that has one; -Infinity if there is no record, null if it is not known
   */
  async toldBy ({ number, buffer, end }) {
    /** @type {number | null} */
    let time = -Infinity
    for (let position = end; position > 0;) {
      position = layout.previousPosition(buffer, position)
      if (layout.isDeleted(buffer, position)) continue
      const seq = number * this.blocks.blockSize + position
      const data = this.codec.large ? await this.wholeRecord(layout.dataAt(buffer, position), seq) : layout.dataAt(buffer, position)
      // of a large record, or one that cannot be read: what is before it may be much older
      if (data === null) return null
      time = this.ofRecord(data, seq)
      if (time !== null) break
    }
    return time
  }

  /**
   * @param {Buffer} data as it is stored
   * @param {number} seq
   * @returns {Promise<Buffer | null>} null: a part of a large record, which is as old as its last chunk, or one that cannot be read
   */
  wholeRecord (data, seq) {
    const kind = chunk.kindOf(data)
    if (kind !== chunk.LAST) return Promise.resolve(kind === chunk.PART ? null : chunk.unescape(data))
    return new Promise(resolve => readLarge(this.blocks, seq, (err, whole) => resolve(err ? null : /** @type {Buffer} */ (whole))))
  }

  /**
   * @param {Buffer} data
   * @param {number} seq
   * @returns {number | null} null: it has none
   */
  ofRecord (data, seq) {
    const { codec, time } = this
    try {
      const encoded = codec.takesText && !codec.isIdentity ? layout.text(data, 0, data.length) : data
      const given = time(codec.isIdentity ? data : codec.decode(encoded, seq))
      // null would be a number, too: that of 1970, which is older than any age
      const found = given instanceof Date ? given.getTime() : given
      if (typeof found === 'number' && Number.isFinite(found)) {
        const isInSeconds = found === given && found >= FIRST_SECONDS && found < LAST_SECONDS
        if (!isInSeconds) return found
        this.warn(`\`time\` must return milliseconds, so nothing is removed for its age: of the record at offset ${seq}, it returned ${found}, which seems to be seconds`)
      }
      this.nothing = { seq, given }
      if (types.isPromise(given)) this.warnOfPromise(given, seq)
    } catch (err) {
      this.warn(`the time of the record at offset ${seq} is not known, so it may be kept for longer than age: ${err instanceof Error ? err.message : format(err)}`)
    }
    return null
  }

  /**
   * @param {Promise<unknown>} given
   * @param {number} seq
   */
  warnOfPromise (given, seq) {
    given.catch(() => {})
    this.warn(`\`time\` must return the time itself, so nothing is removed for its age: of the record at offset ${seq}, it returned a promise`)
  }

  /**
   * Nobody waits for a trim that could get an error.
   * @param {string} message
   */
  warn (message) {
    if (this.hasWarned) return
    this.hasWarned = true
    process.emitWarning(`${this.filename}: retain: ${message}`, { code: 'FLUMELOG_RETAIN' })
  }
}

module.exports = { BlockTimes }
