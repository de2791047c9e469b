'use strict'

// What the log uses of `Buffer`.

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
/** Bytes per call: arguments are on the stack. */
const PIECE_SIZE = 8192

class Buffer extends Uint8Array {
  /**
   * @param {number} size
   * @param {number} [value]
   */
  static alloc (size, value = 0) {
    const bytes = new Buffer(size)
    return value === 0 ? bytes : bytes.fill(value)
  }

  /** @param {number} size fresh memory is all zeros anyway */
  static allocUnsafe (size) {
    return new Buffer(size)
  }

  /** @param {number} size */
  static allocUnsafeSlow (size) {
    return new Buffer(size)
  }

  /**
   * @param {any} data text, an ArrayBuffer, which is not copied, or bytes, which are
   * @param {any} [encoding] of an ArrayBuffer, an offset
   * @param {number} [length]
   * @returns {any}
   */
  static from (data, encoding, length) {
    if (typeof data !== 'string') return new Buffer(data, encoding, length)
    if (encoding === 'latin1') return super.from(data, (/** @type {any} */ character) => character.charCodeAt(0))
    if (encoding !== undefined && encoding !== 'utf8') throw unknown(encoding)
    const bytes = encoder.encode(data)
    return new Buffer(bytes.buffer, 0, bytes.length)
  }

  /** @param {string} text */
  static byteLength (text) {
    return encoder.encode(text).length
  }

  /** @param {Uint8Array[]} list */
  static concat (list) {
    const bytes = new Buffer(list.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of list) {
      bytes.set(part, at)
      at += part.length
    }
    return bytes
  }

  /**
   * The same memory: faster than that of Uint8Array, which looks for the class of the result.
   * @param {number} [start]
   * @param {number} [end]
   * @returns {any}
   */
  subarray (start = 0, end = this.length) {
    const from = position(start, this.length)
    return new Buffer(this.buffer, this.byteOffset + from, Math.max(0, position(end, this.length) - from))
  }

  /**
   * The same memory, too.
   * @param {number} [start]
   * @param {number} [end]
   */
  slice (start, end) {
    return this.subarray(start, end)
  }

  /**
   * @param {Uint8Array} target
   * @param {number} [targetStart]
   * @param {number} [start]
   * @param {number} [end]
   * @returns {number} bytes copied
   */
  copy (target, targetStart = 0, start = 0, end = this.length) {
    const length = Math.max(0, Math.min(end, this.length) - start)
    const count = Math.max(0, Math.min(length, target.length - targetStart))
    if (count > 0) target.set(new Uint8Array(this.buffer, this.byteOffset + start, count), targetStart)
    return count
  }

  /**
   * @param {Uint8Array} other
   * @param {number} [otherStart]
   * @param {number} [otherEnd]
   * @param {number} [start]
   * @param {number} [end]
   * @returns {number} 0: the bytes are the same
   */
  compare (other, otherStart = 0, otherEnd = other.length, start = 0, end = this.length) {
    const most = Math.min(end - start, otherEnd - otherStart)
    for (let i = 0; i < most; i++) {
      const difference = this[start + i] - other[otherStart + i]
      if (difference !== 0) return Math.sign(difference)
    }
    return Math.sign(end - start - (otherEnd - otherStart))
  }

  /** @param {Uint8Array} other */
  equals (other) {
    return this.compare(other) === 0
  }

  /** @param {number} [at] */
  readUInt32LE (at = 0) {
    if (!(at >= 0 && at + 4 <= this.length)) throw outside(at, this.length)
    return (this[at] | this[at + 1] << 8 | this[at + 2] << 16) + this[at + 3] * 0x1000000
  }

  /**
   * @param {number} value
   * @param {number} [at]
   * @returns {number} the offset after it
   */
  writeUInt32LE (value, at = 0) {
    if (!(at >= 0 && at + 4 <= this.length)) throw outside(at, this.length)
    this[at] = value
    this[at + 1] = value >>> 8
    this[at + 2] = value >>> 16
    this[at + 3] = value >>> 24
    return at + 4
  }

  /**
   * @param {number} value
   * @param {number} [at]
   * @returns {number} the offset after it
   */
  writeUInt8 (value, at = 0) {
    if (!(at >= 0 && at < this.length)) throw outside(at, this.length)
    this[at] = value
    return at + 1
  }

  /**
   * @param {string} text
   * @param {number} offset
   * @param {number} [length]
   */
  utf8Write (text, offset, length) {
    return encoder.encodeInto(text, new Uint8Array(this.buffer, this.byteOffset + offset, length ?? this.length - offset)).written
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  utf8Slice (start, end) {
    return decoder.decode(new Uint8Array(this.buffer, this.byteOffset + start, end - start))
  }

  /**
   * @param {string} [encoding]
   * @param {number} [start]
   * @param {number} [end]
   */
  toString (encoding = 'utf8', start = 0, end = this.length) {
    if (encoding === 'utf8') return this.utf8Slice(start, Math.max(start, Math.min(end, this.length)))
    const bytes = this.subarray(start, end)
    if (encoding === 'hex') return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
    if (encoding !== 'latin1') throw unknown(encoding)
    if (isAscii(bytes)) return decoder.decode(bytes)
    let text = ''
    for (let at = 0; at < bytes.length; at += PIECE_SIZE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE_SIZE))
    return text
  }
}

/**
 * @param {number} index negative: from the end
 * @param {number} length
 */
function position (index, length) {
  return index < 0 ? Math.max(0, length + index) : Math.min(index, length)
}

/**
 * @param {number} at
 * @param {number} length
 */
function outside (at, length) {
  return new RangeError(`offset ${at} is outside of ${length} bytes`)
}

/** @param {unknown} encoding */
function unknown (encoding) {
  return new TypeError(`the encoding ${encoding} is not there in a browser`)
}

/** @param {Uint8Array} bytes */
function isAscii (bytes) {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] > 127) return false
  return true
}

/** @param {Uint8Array} bytes */
function isUtf8 (bytes) {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

module.exports = { Buffer, isAscii, isUtf8 }
