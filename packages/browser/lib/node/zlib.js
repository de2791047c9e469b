'use strict'

const { crc32: ofBytes } = require('../crc32')

const encoder = new TextEncoder()

/** @type {(data: Uint8Array | string, before?: number) => number} */
const crc32 = (data, before) => ofBytes(typeof data === 'string' ? encoder.encode(data) : data, before)

module.exports = { crc32 }
