'use strict'

// `Buffer` of the package `buffer`, with the browser's own functions where they are faster.

// here the build takes the package
const { Buffer } = require('buffer')

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * @this {Uint8Array}
 * @param {string} text
 * @param {number} offset
 * @param {number} [length]
 */
function utf8Write (text, offset, length) {
  return encoder.encodeInto(text, new Uint8Array(this.buffer, this.byteOffset + offset, length ?? this.length - offset)).written
}

/**
 * @this {Uint8Array}
 * @param {number} start
 * @param {number} end
 */
function utf8Slice (start, end) {
  return decoder.decode(new Uint8Array(this.buffer, this.byteOffset + start, end - start))
}

Object.assign(Buffer.prototype, { utf8Write, utf8Slice })
// fresh memory is all zeros here anyway
Buffer.allocUnsafeSlow = Buffer.allocUnsafe = Buffer.alloc

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
