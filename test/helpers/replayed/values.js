'use strict'

// Records of the fuzzer: each has its number and a size in it, and can be told from a
// torn one. As Buffers, or as objects with a JSON codec.

const { crc32 } = require('zlib')

const HEAD_SIZE = 12

/** Records without a codec: number, size, a checksum, and bytes that follow from the number. */
const buffers = {
  name: 'buffers',
  options: { validate: (value) => numberInBuffer(value) !== null },
  invalid: [Buffer.alloc(0), '', Buffer.alloc(9), 42, null, undefined, {}],

  make (number, size) {
    const value = Buffer.alloc(Math.max(size, HEAD_SIZE), 1 + number % 255)
    value.writeUInt32LE(number, 0)
    value.writeUInt32LE(value.length, 4)
    value.writeUInt32LE(crc32(value.subarray(HEAD_SIZE), number), 8)
    return value
  },

  encode: (value) => value,
  numberOf: numberInBuffer
}

/** @param {Buffer} value */
function numberInBuffer (value) {
  if (value.length < HEAD_SIZE || value.readUInt32LE(4) !== value.length) return null
  const number = value.readUInt32LE(0)
  return value.readUInt32LE(8) === crc32(value.subarray(HEAD_SIZE), number) ? number : null
}

/**
 * Objects, with a codec that notices when it is given the same one twice.
 * @param {(message: string) => void} violate
 */
function objects (violate) {
  const encoded = new WeakSet()
  const encode = (value) => Buffer.from(JSON.stringify(value))
  const text = (number, length) => String.fromCharCode(97 + number % 26).repeat(length)
  return {
    name: 'objects',
    options: {
      codec: {
        encode (value) {
          if (typeof value === 'object' && value !== null) {
            if (encoded.has(value)) violate('a value was encoded twice')
            encoded.add(value)
          }
          return encode(value)
        },
        decode: (data) => JSON.parse(data.toString())
      }
    },
    invalid: [undefined, () => {}],
    make (number, size) {
      const value = { number, text: '' }
      value.text = text(number, Math.max(0, size - encode(value).length))
      return value
    },
    encode,
    numberOf: (value) => value?.text === text(value?.number, value?.text?.length) ? value.number : null
  }
}

module.exports = { buffers, objects, HEAD_SIZE }
