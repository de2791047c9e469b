'use strict'

// Bytes in, lines out. A line that is too long to be of use is not gathered.

const NEWLINE = 0x0a

class Lines {
  /** @param {number} longest bytes that a line can have */
  constructor (longest) {
    this.longest = longest
    /** Parts of a line whose end has not come. @type {Buffer[]} */
    this.begun = []
    this.begunLength = 0
  }

  /**
   * @param {Buffer} chunk
   * @returns {Buffer[]} the lines that end in it, without their ends
   */
  push (chunk) {
    const lines = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(this.begun.length === 0 ? chunk.subarray(start, end) : this.finish(chunk.subarray(start, end)))
      start = end + 1
    }
    if (start < chunk.length) {
      this.begun.push(chunk.subarray(start))
      this.begunLength += chunk.length - start
    }
    return lines
  }

  /** @returns {boolean} whether the line that has begun is longer than any can be */
  get isTooLong () {
    return this.begunLength > this.longest
  }

  /** @returns {Buffer[]} the last line, if there is no newline behind it */
  end () {
    return this.begun.length === 0 ? [] : [this.finish(Buffer.alloc(0))]
  }

  /**
   * @param {Buffer} rest
   * @returns {Buffer}
   */
  finish (rest) {
    const line = Buffer.concat([...this.begun, rest])
    this.begun = []
    this.begunLength = 0
    return line
  }
}

module.exports = { Lines }
