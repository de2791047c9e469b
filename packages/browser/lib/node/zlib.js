'use strict'

const { crc32 } = require('../crc32')

const encoder = new TextEncoder()

module.exports = {
  /** @type {(data: Uint8Array | string, before?: number) => number} */
  crc32: (data, before) => crc32(typeof data === 'string' ? encoder.encode(data) : data, before)
}
