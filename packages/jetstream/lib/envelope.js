'use strict'

// A message of a stream with what a stream knows of it beyond its data, as a pull with `envelope` stores it: a line of JSON, and the data.

/** @type {any} */
const JSON_CODEC = { encode: JSON.stringify, decode: JSON.parse, buffer: false }
const LINE_END = 10

/**
 * @typedef {object} MessageInfo
 * @property {number} seq in the stream
 * @property {number} time at which it was stored, in milliseconds since 1970, by the server's clock
 * @property {string} subject
 */

/**
 * @param {MessageInfo} info
 * @param {Uint8Array} data
 * @returns {Buffer}
 */
function enveloped ({ seq, time, subject }, data) {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ seq, time, subject })}\n`), data])
}

/**
 * @template [T=any] what the data is, which nothing checks
 * @overload
 * @param {'json'} codec of the data
 * @returns {import('flumelog-random-access-file').Codec<MessageInfo & { value: T }>} of what a pull with `envelope` stores
 */
/**
 * @template [T=Buffer]
 * @overload
 * @param {import('flumelog-random-access-file').Codec<T>} [codec] of the data; without one, it is a Buffer
 * @returns {import('flumelog-random-access-file').Codec<MessageInfo & { value: T }>} of what a pull with `envelope` stores
 */
/**
 * @param {any} [codec]
 * @returns {any}
 */
function envelope (codec) {
  const { encode, decode, buffer } = codec === 'json' ? JSON_CODEC : codec ?? { encode: (/** @type {any} */ data) => data, decode: (/** @type {any} */ data) => data }
  return {
    buffer: true,
    encode: (/** @type {MessageInfo & { value: any }} */ message) => enveloped(message, Buffer.from(encode(message.value))),
    decode (/** @type {Buffer} */ bytes) {
      const end = bytes.indexOf(LINE_END)
      const data = bytes.subarray(end + 1)
      return { ...JSON.parse(bytes.toString('utf8', 0, end)), value: decode(buffer === false ? data.toString() : data) }
    }
  }
}

/**
 * @param {string} reply subject of a message that a consumer delivers: `$JS.ACK`, perhaps the domain and the account, the stream, the consumer, how often it was
 *   delivered, two sequences, the time in nanoseconds, and more
 * @returns {number} the time in milliseconds
 */
function timeIn (reply) {
  const parts = reply.split('.')
  return Number(parts[parts.length === 9 ? 7 : 9].slice(0, -6))
}

module.exports = { envelope, enveloped, timeIn }
