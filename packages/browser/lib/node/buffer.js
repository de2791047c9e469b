'use strict'

// The class `Buffer`, with what the log uses of that of Node.js: a Uint8Array that can be read as text and written as numbers.

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
/** What invalid UTF-8 is decoded to. */
const REPLACEMENT = '\uFFFD'
/** Arguments of a call. */
const MAX_ARGUMENTS = 4096
const HIGH_BITS = 0x80808080

class Buffer extends Uint8Array {
  /**
   * @param {string} [encoding] utf8, latin1 or hex
   * @param {number} [start]
   * @param {number} [end]
   */
  toString (encoding = 'utf8', start = 0, end = this.length) {
    const bytes = start === 0 && end === this.length ? this : this.subarray(start, end)
    if (encoding === 'utf8') return decoder.decode(bytes)
    if (encoding === 'latin1') return latin1(bytes)
    if (encoding === 'hex') return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
    throw new TypeError(`unknown encoding: ${encoding}`)
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  utf8Slice (start, end) {
    return decoder.decode(new Uint8Array(this.buffer, this.byteOffset + start, end - start))
  }

  /**
   * @param {string} text
   * @param {number} [offset]
   * @returns {number} bytes written
   */
  utf8Write (text, offset = 0) {
    return encoder.encodeInto(text, new Uint8Array(this.buffer, this.byteOffset + offset, this.length - offset)).written
  }

  /** @param {number} [offset] */
  readUInt32LE (offset = 0) {
    mustContain(this, offset, 4)
    return (this[offset] | this[offset + 1] << 8 | this[offset + 2] << 16 | this[offset + 3] << 24) >>> 0
  }

  /**
   * @param {number} value
   * @param {number} [offset]
   */
  writeUInt32LE (value, offset = 0) {
    mustContain(this, offset, 4)
    if (value !== value >>> 0) throw new RangeError(`${value} is no unsigned integer of 32 bits`)
    this[offset] = value
    this[offset + 1] = value >>> 8
    this[offset + 2] = value >>> 16
    this[offset + 3] = value >>> 24
    return offset + 4
  }

  /**
   * @param {number} value
   * @param {number} [offset]
   */
  writeUInt16LE (value, offset = 0) {
    mustContain(this, offset, 2)
    if (value !== (value & 0xFFFF)) throw new RangeError(`${value} is no unsigned integer of 16 bits`)
    this[offset] = value
    this[offset + 1] = value >>> 8
    return offset + 2
  }

  /**
   * @param {number} value
   * @param {number} [offset]
   */
  writeUInt8 (value, offset = 0) {
    mustContain(this, offset, 1)
    if (value !== (value & 0xFF)) throw new RangeError(`${value} is no unsigned integer of 8 bits`)
    this[offset] = value
    return offset + 1
  }

  /**
   * @param {Uint8Array} target
   * @param {number} [targetStart]
   * @param {number} [start]
   * @param {number} [end]
   * @returns {number} bytes that had room
   */
  copy (target, targetStart = 0, start = 0, end = this.length) {
    const bytes = this.subarray(start, Math.min(end, start + Math.max(0, target.length - targetStart)))
    target.set(bytes, targetStart)
    return bytes.length
  }

  /**
   * @param {Uint8Array} other
   * @param {number} [otherStart]
   * @param {number} [otherEnd]
   * @param {number} [start]
   * @param {number} [end]
   * @returns {number} the order of the two
   */
  compare (other, otherStart = 0, otherEnd = other.length, start = 0, end = this.length) {
    mustContain(this, start, end - start)
    mustContain(other, otherStart, otherEnd - otherStart)
    const length = Math.min(end - start, otherEnd - otherStart)
    for (let i = 0; i < length; i++) if (this[start + i] !== other[otherStart + i]) return Math.sign(this[start + i] - other[otherStart + i])
    return Math.sign((end - start) - (otherEnd - otherStart))
  }

  /** @param {Uint8Array} other */
  equals (other) {
    return this.compare(other) === 0
  }
}

// not in the class, since `from` of a Uint8Array takes other arguments
/** @type {Record<string, (...args: any[]) => any>} */
const functions = {
  // fresh memory is all zeros here anyway
  alloc: (size) => new Buffer(size),
  allocUnsafe: (size) => new Buffer(size),
  allocUnsafeSlow: (size) => new Buffer(size),
  byteLength: (text) => encoder.encode(text).length,
  isBuffer: (value) => value instanceof Buffer,

  /** A copy; of an ArrayBuffer, a view. */
  from (value, encoding, length) {
    if (value instanceof ArrayBuffer) return new Buffer(value, encoding, length)
    if (typeof value !== 'string') return new Buffer(value)
    if (encoding === 'latin1') return new Buffer(Array.from({ length: value.length }, (_, i) => value.charCodeAt(i)))
    if (encoding !== undefined && encoding !== 'utf8') throw new TypeError(`unknown encoding: ${encoding}`)
    const bytes = encoder.encode(value)
    return new Buffer(bytes.buffer, bytes.byteOffset, bytes.length)
  },

  /** @param {Uint8Array[]} list */
  concat (list) {
    const all = new Buffer(list.reduce((size, { length }) => size + length, 0))
    let size = 0
    for (const bytes of list) {
      all.set(bytes, size)
      size += bytes.length
    }
    return all
  }
}
for (const [name, value] of Object.entries(functions)) Object.defineProperty(Buffer, name, { value })

/**
 * @param {Uint8Array} bytes
 * @param {number} offset
 * @param {number} size
 */
function mustContain (bytes, offset, size) {
  if (!(offset >= 0 && offset + size <= bytes.length)) throw new RangeError(`${size} bytes at ${offset} are outside of a buffer of ${bytes.length} bytes`)
}

/** @param {Uint8Array} bytes */
function latin1 (bytes) {
  // most often it is ASCII, which is the same in UTF-8
  const text = decoder.decode(bytes)
  if (text.length === bytes.length && !text.includes(REPLACEMENT)) return text
  const parts = []
  for (let start = 0; start < bytes.length; start += MAX_ARGUMENTS) parts.push(String.fromCharCode(...bytes.subarray(start, start + MAX_ARGUMENTS)))
  return parts.join('')
}

/** @param {Uint8Array} bytes */
function isAscii ({ buffer, byteOffset, length }) {
  const aligned = byteOffset % 4 === 0 ? length >>> 2 : 0
  const words = new Uint32Array(buffer, byteOffset - byteOffset % 4, aligned)
  for (let i = 0; i < words.length; i++) if ((words[i] & HIGH_BITS) !== 0) return false
  const rest = new Uint8Array(buffer, byteOffset + 4 * aligned, length - 4 * aligned)
  return rest.every(byte => byte < 128)
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
