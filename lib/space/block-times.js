'use strict'

// When the records of a block were made, as the function `time` of the option `retain` says.

const { types } = require('util')
const chunk = require('../format/chunk')
const layout = require('../format/layout')
const { format } = require('../format-value')
const { readLarge } = require('../read/get')

/** Numbers that are times of these years, in seconds. In milliseconds they are days of 1970, so nearly surely a mistake, which would empty the log. */
const FIRST_SECONDS = Date.UTC(2001) / 1000
const LAST_SECONDS = Date.UTC(2100) / 1000

class BlockTimes {
  /**
   * @param {import('../write/writer').Writer} writer
   * @param {(value: any) => any} time of a record, or anything else
   * @param {import('../record-codec').RecordCodec} codec
   */
  constructor (writer, time, codec) {
    this.filename = writer.file.filename
    this.blocks = writer.blocks
    this.time = time
    this.codec = codec
    /** What `time` did that gives no time, with the last record; null: a record had a time, or the warning was given. @type {string | null} */
    this.nothing = ''
  }

  /**
   * @param {number} number of a block
   * @returns {Promise<number | null>} of its last record that has a time; null: none has, or it cannot be read
   */
  async of (number) {
    const block = await this.blocks.read(number).catch(() => null)
    if (block === null) return null
    const { buffer, end } = block
    for (let position = end; position > 0;) {
      position = layout.previousPosition(buffer, position)
      if (layout.isDeleted(buffer, position)) continue
      const seq = number * this.blocks.blockSize + position
      const data = this.codec.large ? await this.wholeRecord(layout.dataAt(buffer, position), seq) : layout.dataAt(buffer, position)
      const time = data === null ? null : this.ofRecord(data, seq)
      if (time !== null) return time
    }
    return null
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
    let nothing
    try {
      const encoded = codec.takesText && !codec.isIdentity ? layout.text(data, 0, data.length) : data
      const given = time(codec.isIdentity ? data : codec.decode(encoded, seq))
      // null would be a number, too: that of 1970, which is older than any age
      const found = types.isDate(given) ? given.getTime() : given
      const isInSeconds = found === given && found >= FIRST_SECONDS && found < LAST_SECONDS
      if (Number.isFinite(found) && !isInSeconds) {
        this.nothing = null
        return found
      }
      nothing = `it returned ${format(given)}`
    } catch (err) {
      nothing = `it failed: ${err instanceof Error ? err.message : format(err)}`
    }
    if (this.nothing !== null) this.nothing = `of the record at offset ${seq}, ${nothing}`
    return null
  }

  /** If no record had a time so far, says so once: nobody waits for a trim that could get an error. */
  warn () {
    if (!this.nothing) return
    process.emitWarning(`${this.filename}: retain: \`time\` must return a Date or milliseconds, so nothing is removed for its age: ${this.nothing}`, { code: 'FLUMELOG_RETAIN' })
    this.nothing = null
  }
}

module.exports = { BlockTimes }
