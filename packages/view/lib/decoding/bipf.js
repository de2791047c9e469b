'use strict'

// bipf, the binary format of ssb-db2, to be shown. Each value starts with a varint: its length, and in the lowest three bits
// its type.

const { BytesReader, objectOf, bytesText, finite } = require('./bytes-reader')

const STRING = 0
const BUFFER = 1
const INT = 2
const DOUBLE = 3
const ARRAY = 4
const OBJECT = 5
const BOOLNULL = 6

class BipfReader extends BytesReader {
  /** @returns {any} */
  value () {
    const tag = this.varint()
    const length = Math.floor(tag / 8)
    switch (tag % 8) {
      case STRING: return this.text(length)
      case BUFFER: return bytesText(this.take(length))
      case INT: return this.int(length)
      case DOUBLE: return this.double(length)
      case ARRAY: return this.itemsIn(length)
      case OBJECT: return objectOf(this.itemsIn(length))
      case BOOLNULL: return this.boolnull(length)
      default: throw new RangeError('no such type')
    }
  }

  /** @returns {number} little-endian, seven bits per byte */
  varint () {
    let result = 0
    for (let power = 0; power < 35; power += 7) {
      const byte = this.byte()
      result += (byte & 127) * 2 ** power
      if (byte < 128) return result
    }
    throw new RangeError('a length is too long')
  }

  /** @param {number} length */
  int (length) {
    if (length !== 4) throw new RangeError('no such integer')
    return this.bytes.readInt32LE(this.skip(4))
  }

  /** @param {number} length */
  double (length) {
    if (length !== 8) throw new RangeError('no such number')
    return finite(this.bytes.readDoubleLE(this.skip(8)))
  }

  /** @param {number} length */
  boolnull (length) {
    if (length === 0) return null
    const byte = length === 1 ? this.byte() : 255
    if (byte > 2) throw new RangeError('neither true nor false')
    return byte === 2 ? 'undefined' : byte === 1
  }

  /** @param {number} length in bytes */
  itemsIn (length) {
    const end = this.position + this.countOf(length)
    const items = this.itemsWhile(() => this.position < end)
    if (this.position !== end) throw new RangeError('an item is longer than what it is in')
    return items
  }
}

module.exports = { BipfReader }
