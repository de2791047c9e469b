'use strict'

// Splits a stream of bytes into lines, and detects lines that exceed a limit.

const NEWLINE = 0x0a

class Lines {
  /** @param {number} maxSize of a line, in bytes */
  constructor (maxSize) {
    this.maxSize = maxSize
    /** The chunks of an incomplete line. @type {Buffer[]} */
    this.partial = []
    this.partialSize = 0
  }

  /**
   * @param {Buffer} chunk
   * @returns {Buffer[]} the lines that end in it, without newlines
   */
  push (chunk) {
    const lines = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(this.partial.length === 0 ? chunk.subarray(start, end) : this.finish(chunk.subarray(start, end)))
      start = end + 1
    }
    if (start < chunk.length) {
      this.partial.push(chunk.subarray(start))
      this.partialSize += chunk.length - start
    }
    return lines
  }

  /** @returns {boolean} whether the incomplete line already exceeds the limit */
  get isTooLong () {
    return this.partialSize > this.maxSize
  }

  /** @returns {Buffer[]} the last line, if it does not end in a newline */
  end () {
    return this.partial.length === 0 ? [] : [this.finish(Buffer.alloc(0))]
  }

  /**
   * @param {Buffer} rest
   * @returns {Buffer}
   */
  finish (rest) {
    const line = Buffer.concat([...this.partial, rest])
    this.partial = []
    this.partialSize = 0
    return line
  }
}

module.exports = { Lines }
