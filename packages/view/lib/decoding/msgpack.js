'use strict'

// MessagePack, to be shown.

const { BytesReader, objectOf, bytesText, finite } = require('./bytes-reader')

/** Of extensions: a point in time. */
const TIMESTAMP = -1

class MessagePackReader extends BytesReader {
  /** @returns {any} */
  value () {
    const first = this.byte()
    if (first < 0x80) return first
    if (first < 0x90) return objectOf(this.items(2 * (first & 15)))
    if (first < 0xa0) return this.items(first & 15)
    if (first < 0xc0) return this.text(first & 31)
    if (first >= 0xe0) return first - 256
    switch (first) {
      case 0xc0: return null
      case 0xc2: return false
      case 0xc3: return true
      case 0xc4: case 0xc5: case 0xc6: return bytesText(this.take(this.length(first - 0xc4)))
      case 0xc7: case 0xc8: case 0xc9: return this.extension(this.length(first - 0xc7))
      case 0xca: return finite(this.bytes.readFloatBE(this.skip(4)))
      case 0xcb: return finite(this.bytes.readDoubleBE(this.skip(8)))
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return this.unsigned(2 ** (first - 0xcc))
      case 0xd0: case 0xd1: case 0xd2: case 0xd3: return this.signed(2 ** (first - 0xd0))
      case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: return this.extension(2 ** (first - 0xd4))
      case 0xd9: case 0xda: case 0xdb: return this.text(this.length(first - 0xd9))
      case 0xdc: case 0xdd: return this.items(this.length(first - 0xdb))
      case 0xde: case 0xdf: return objectOf(this.items(2 * this.length(first - 0xdd)))
      default: throw new RangeError('no such type')
    }
  }

  /**
   * @param {number} power
   * @returns {number}
   */
  length (power) {
    return Number(this.unsigned(2 ** power))
  }

  /** @param {number} length */
  extension (length) {
    const type = Number(this.signed(1))
    const data = this.take(length)
    return type === TIMESTAMP ? timeText(data) : { extension: type, value: bytesText(data) }
  }
}

/** @param {Buffer} data of a timestamp */
function timeText (data) {
  let seconds = 0
  let nanoseconds = 0
  if (data.length === 4) seconds = data.readUInt32BE(0)
  else if (data.length === 8) {
    nanoseconds = data.readUInt32BE(0) >>> 2
    seconds = (data.readUInt32BE(0) & 3) * 2 ** 32 + data.readUInt32BE(4)
  } else if (data.length === 12) {
    nanoseconds = data.readUInt32BE(0)
    seconds = Number(data.readBigInt64BE(4))
  } else throw new RangeError('no such time')
  return new Date(seconds * 1000 + nanoseconds / 1e6).toISOString()
}

module.exports = { MessagePackReader }
