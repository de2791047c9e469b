'use strict'

// CBOR (RFC 8949), to be shown.

const { BytesReader, objectOf, numberOf, bytesText, finite } = require('./bytes-reader')

/** Major types. */
const UNSIGNED = 0
const NEGATIVE = 1
const BYTES = 2
const TEXT = 3
const ARRAY = 4
const MAP = 5
const TAG = 6

const INDEFINITE = 31
const BREAK = 0xff

/** Tags whose content says enough: dates, and what is nothing but a marker. */
const PLAIN_TAGS = [0, 1, 55799]
const POSITIVE_BIGNUM = 2
const NEGATIVE_BIGNUM = 3

class CborReader extends BytesReader {
  /** @returns {any} */
  value () {
    const first = this.byte()
    const type = first >> 5
    const info = first & 31
    if (type > TAG) return this.simple(info)
    if (info === INDEFINITE) return this.indefinite(type)
    const argument = this.argument(info)
    switch (type) {
      case UNSIGNED: return numberOf(argument)
      case NEGATIVE: return numberOf(-1n - argument)
      case BYTES: return bytesText(this.take(this.countOf(argument)))
      case TEXT: return this.text(this.countOf(argument))
      case ARRAY: return this.items(argument)
      case MAP: return objectOf(this.items(2n * argument))
      default: return this.tagged(argument)
    }
  }

  /**
   * @param {number} info
   * @returns {bigint}
   */
  argument (info) {
    if (info < 24) return BigInt(info)
    if (info > 27) throw new RangeError('no such length')
    return BigInt(this.unsigned(2 ** (info - 24)))
  }

  /** @param {number} type */
  indefinite (type) {
    if (type !== BYTES && type !== TEXT && type !== ARRAY && type !== MAP) throw new RangeError('no such length')
    const items = this.itemsWhile(() => this.bytes[this.position] !== BREAK)
    this.skip(1)
    if (type === ARRAY) return items
    if (type === MAP) return objectOf(items)
    return type === TEXT ? items.join('') : `h'${items.map(part => String(part).slice(2, -1)).join('')}'`
  }

  /** @param {bigint} tag */
  tagged (tag) {
    const number = Number(tag)
    if (number === POSITIVE_BIGNUM || number === NEGATIVE_BIGNUM) {
      const content = this.value()
      if (!/^h'[\da-f]*'$/.test(content)) throw new RangeError('no bignum')
      const magnitude = BigInt(`0x0${content.slice(2, -1)}`)
      return numberOf(number === POSITIVE_BIGNUM ? magnitude : -1n - magnitude)
    }
    const [content] = this.items(1)
    return PLAIN_TAGS.includes(number) ? content : { tag: numberOf(tag), value: content }
  }

  /** @param {number} info */
  simple (info) {
    switch (info) {
      case 20: return false
      case 21: return true
      case 22: return null
      case 23: return 'undefined'
      case 25: return finite(halfFloat(this.unsigned(2)))
      case 26: return finite(this.bytes.readFloatBE(this.skip(4)))
      case 27: return finite(this.bytes.readDoubleBE(this.skip(8)))
      case 24: return `simple(${this.byte()})`
    }
    if (info < 20) return `simple(${info})`
    throw new RangeError('no such value')
  }
}

/** @param {number | string} bits */
function halfFloat (bits) {
  const number = Number(bits)
  const sign = number & 0x8000 ? -1 : 1
  const exponent = number >> 10 & 31
  const fraction = number & 1023
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15))
}

module.exports = { CborReader }
