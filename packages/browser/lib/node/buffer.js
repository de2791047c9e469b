'use strict'

// `Buffer`, as far as the log uses it, with the functions of the browser where these are faster.

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

class Buffer extends Uint8Array {
  /**
   * @param {number} size
   * @param {number} [value] of each byte
   */
  static alloc (size, value = 0) {
    const bytes = new Buffer(size)
    return value === 0 ? bytes : bytes.fill(value)
  }

  /**
   * @param {any} data
   * @param {any} [encoding] of text; of an ArrayBuffer, an offset
   * @param {number} [length]
   * @returns {any}
   */
  static from (data, encoding, length) {
    if (typeof data !== 'string') return new Buffer(/** @type {any} */ (data), encoding, length)
    if (!isLatin1(encoding)) {
      const { buffer, byteOffset, length } = encoder.encode(data)
      return new Buffer(buffer, byteOffset, length)
    }
    const bytes = new Buffer(data.length)
    for (let i = 0; i < data.length; i++) bytes[i] = data.charCodeAt(i)
    return bytes
  }

  /**
   * @param {Uint8Array[]} list
   * @param {number} [size] in bytes
   */
  static concat (list, size = list.reduce((sum, { length }) => sum + length, 0)) {
    const bytes = new Buffer(size)
    let at = 0
    for (const part of list) {
      bytes.set(part.length > size - at ? part.subarray(0, size - at) : part, at)
      at += Math.min(part.length, size - at)
    }
    return bytes
  }

  /** @param {string} text */
  static byteLength (text) {
    return encoder.encode(text).length
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
   * @param {string} [encoding]
   * @param {number} [start]
   * @param {number} [end]
   * @returns {string}
   */
  toString (encoding, start = 0, end = this.length) {
    const bytes = this.subarray(start, Math.max(start, end))
    if (encoding === 'hex') return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
    if (isLatin1(encoding) && !isAscii(bytes)) return Array.from(bytes, byte => String.fromCharCode(byte)).join('')
    return this.utf8Slice(start, start + bytes.length)
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
   * @param {Uint8Array} target
   * @param {number} [at]
   * @param {number} [start]
   * @param {number} [end]
   * @returns {number} bytes copied
   */
  copy (target, at = 0, start = 0, end = this.length) {
    const bytes = this.subarray(start, Math.min(end, start + target.length - at))
    target.set(bytes, at)
    return bytes.length
  }

  /**
   * @param {Uint8Array} other
   * @param {number} [otherStart]
   * @param {number} [otherEnd]
   * @param {number} [start]
   * @param {number} [end]
   */
  compare (other, otherStart = 0, otherEnd = other.length, start = 0, end = this.length) {
    const length = Math.min(otherEnd - otherStart, end - start)
    for (let i = 0; i < length; i++) {
      const difference = this[start + i] - other[otherStart + i]
      if (difference !== 0) return Math.sign(difference)
    }
    return Math.sign((end - start) - (otherEnd - otherStart))
  }

  /** @param {Uint8Array} other */
  equals (other) {
    return this.compare(other) === 0
  }

  /** @param {number} [at] */
  readUInt32LE (at = 0) {
    this.check(at, 4)
    return (this[at] | this[at + 1] << 8 | this[at + 2] << 16) + this[at + 3] * 0x1000000
  }

  /**
   * @param {number} value
   * @param {number} [at]
   */
  writeUInt32LE (value, at = 0) {
    this.check(at, 4)
    this[at] = value
    this[at + 1] = value >>> 8
    this[at + 2] = value >>> 16
    this[at + 3] = value >>> 24
    return at + 4
  }

  /**
   * @param {number} value
   * @param {number} [at]
   */
  writeUInt8 (value, at = 0) {
    this.check(at, 1)
    this[at] = value
    return at + 1
  }

  /**
   * @param {number} at
   * @param {number} size
   */
  check (at, size) {
    if (at < 0 || at + size > this.length) throw new RangeError(`offset ${at} is outside of ${this.length} bytes`)
  }
}

// fresh memory is all zeros here anyway
Object.assign(Buffer, { allocUnsafe: Buffer.alloc, allocUnsafeSlow: Buffer.alloc })

/**
 * @param {string | undefined} encoding
 * @throws if it is neither this one nor UTF-8
 */
function isLatin1 (encoding) {
  if (encoding === 'latin1') return true
  if (encoding === undefined || /^utf-?8$/i.test(encoding)) return false
  throw new TypeError(`Buffer does not know the encoding ${encoding} in a browser`)
}

/**
 * @param {number} offset negative: from the end
 * @param {number} length
 */
function position (offset, length) {
  const whole = Math.trunc(offset) || 0
  return whole < 0 ? Math.max(0, whole + length) : Math.min(whole, length)
}

/** @param {Uint8Array} bytes */
function isAscii (bytes) {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] > 127) return false
  return true
}

module.exports = { Buffer, isAscii }
