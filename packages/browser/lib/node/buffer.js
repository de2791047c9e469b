'use strict'

// `Buffer`: the methods of the package `buffer`, in a class of its own, since a view of that package's takes twice as long: it sets the prototype
// of each. Some functions are those of the browser, which are faster.

// here the build takes the package
const { Buffer: OfPackage } = require('buffer')

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

class Buffer extends Uint8Array {
  /**
   * @param {number} size
   * @param {any} [value]
   * @param {string} [encoding] of text
   */
  static alloc (size, value = 0, encoding = undefined) {
    const bytes = new Buffer(size)
    return value === 0 ? bytes : /** @type {any} */ (bytes).fill(value, 0, size, encoding)
  }

  /**
   * @param {any} data
   * @param {any} [encoding] of text; of an ArrayBuffer, an offset
   * @param {number} [length]
   * @returns {any}
   */
  static from (data, encoding, length) {
    if (data instanceof ArrayBuffer || data instanceof Uint8Array) return new Buffer(/** @type {any} */ (data), encoding, length)
    const { buffer, byteOffset, length: size } = typeof data === 'string' && isUtf8Name(encoding) ? encoder.encode(data) : OfPackage.from(data, encoding)
    return new Buffer(buffer, byteOffset, size)
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
    if (!isUtf8Name(encoding)) return OfPackage.prototype.toString.call(this, encoding, start, end)
    return this.utf8Slice(start, Math.max(start, Math.min(end, this.length)))
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
}

const own = Object.getOwnPropertyNames(Buffer.prototype)
for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(OfPackage.prototype))) {
  if (!own.includes(name)) Object.defineProperty(Buffer.prototype, name, property)
}
const { isBuffer, isEncoding, byteLength, compare } = OfPackage
// fresh memory is all zeros here anyway
Object.assign(Buffer, { isBuffer, isEncoding, byteLength, compare, allocUnsafe: Buffer.alloc, allocUnsafeSlow: Buffer.alloc })

/** @param {string | undefined} encoding */
function isUtf8Name (encoding) {
  return encoding === undefined || /^utf-?8$/i.test(encoding)
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
