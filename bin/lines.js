'use strict'

// Splits a stream of bytes into lines, and detects lines that exceed a limit.

const { view } = require('../lib/format/layout')

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
    /** @type {Buffer[]} */
    const lines = []
    const { buffer: memory, byteOffset } = chunk
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = view(memory, byteOffset + start, end - start)
      lines.push(this.partial.length === 0 ? line : this.finish(line))
      start = end + 1
    }
    if (start < chunk.length) {
      // copied: the caller may use the chunk's memory again
      this.partial.push(Buffer.from(chunk.subarray(start)))
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

/**
 * @param {Buffer} chunk
 * @returns {Buffer} the lines that `push` of this chunk returns, except the first one, which may start before the chunk
 */
function linesWithin (chunk) {
  return chunk.subarray(chunk.indexOf(NEWLINE) + 1, Math.max(0, chunk.lastIndexOf(NEWLINE)))
}

module.exports = { Lines, linesWithin }
