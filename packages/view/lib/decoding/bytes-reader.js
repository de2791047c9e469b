'use strict'

// Reads values from bytes, for the decoders of binary formats. A record is shown as such a format only if all of it is
// well-formed, so whatever is not throws.

/** Levels of nesting that a viewer shows; more are taken for something else. */
const MAX_DEPTH = 200

/** @abstract */
class BytesReader {
  /**
   * @param {Buffer} bytes
   * @returns {any} of what JSON can have
   * @throws if they are not one whole value
   */
  static decode (bytes) {
    const reader = new this(bytes)
    const value = reader.value()
    if (reader.position !== bytes.length) throw new RangeError(`${bytes.length - reader.position} bytes follow`)
    return value
  }

  /** @param {Buffer} bytes */
  constructor (bytes) {
    this.bytes = bytes
    this.position = 0
    this.depth = 0
  }

  /**
   * @abstract
   * @returns {any} the value that starts here
   */
  value () {}

  /**
   * @param {number} length
   * @returns {number} where these bytes start
   */
  skip (length) {
    const start = this.position
    if (length > this.bytes.length - start) throw new RangeError('it ends too early')
    this.position += length
    return start
  }

  byte () {
    return this.bytes[this.skip(1)]
  }

  /** @param {number} length */
  take (length) {
    const start = this.skip(length)
    return this.bytes.subarray(start, start + length)
  }

  /** @param {number} length */
  text (length) {
    return utf8.decode(this.take(length))
  }

  /** @param {number} length 1, 2, 4 or 8 */
  unsigned (length) {
    return length === 8 ? numberOf(this.bytes.readBigUInt64BE(this.skip(8))) : this.bytes.readUIntBE(this.skip(length), length)
  }

  /** @param {number} length 1, 2, 4 or 8 */
  signed (length) {
    return length === 8 ? numberOf(this.bytes.readBigInt64BE(this.skip(8))) : this.bytes.readIntBE(this.skip(length), length)
  }

  /**
   * @param {number | bigint} count of items, each of one byte or more
   * @returns {number}
   */
  countOf (count) {
    if (count > this.bytes.length - this.position) throw new RangeError('it ends too early')
    return Number(count)
  }

  /**
   * @param {() => boolean} hasMore
   * @returns {any[]} an array that grows with what is there: hostile bytes can have many counts within each other
   */
  itemsWhile (hasMore) {
    if (++this.depth > MAX_DEPTH) throw new RangeError('it is nested too deeply')
    const items = []
    while (hasMore()) items.push(this.value())
    this.depth--
    return items
  }

  /** @param {number | bigint} count */
  items (count) {
    let left = this.countOf(count)
    return this.itemsWhile(() => left-- > 0)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * @param {unknown[]} items a key, its value, and so on
 * @returns {Record<string, unknown>} without a prototype: `__proto__` is a key like any other
 */
function objectOf (items) {
  if (items.length % 2 === 1) throw new RangeError('a key has no value')
  const object = Object.create(null)
  for (let i = 0; i < items.length; i += 2) {
    const key = items[i]
    // JSON has no keys but text
    object[typeof key === 'string' ? key : JSON.stringify(key) ?? String(key)] = items[i + 1]
  }
  return object
}

/**
 * @param {bigint} integer
 * @returns {number | string} text where a number would be rounded
 */
function numberOf (integer) {
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : String(integer)
}

/**
 * @param {Uint8Array} bytes
 * @returns {string} as in the diagnostic notation of CBOR
 */
function bytesText (bytes) {
  return `h'${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}'`
}

/**
 * @param {number} number
 * @returns {number | string} text for what JSON does not have
 */
function finite (number) {
  return Number.isFinite(number) ? number : String(number)
}

module.exports = { BytesReader, objectOf, numberOf, bytesText, finite }
