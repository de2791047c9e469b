'use strict'

// Logs of which each record is compressed. Only what most records have in common is unpacked: otherwise, a filter that compares bytes
// would pass over single records.

const { isUtf8 } = require('buffer')
const zlib = require('zlib')

/** Bytes of a record, unpacked: more than that are shown as they are stored. */
const MAX_UNPACKED = 16 * 1024 * 1024
/** Which share of the records must be packed. */
const FITTING = 0.8

/** @typedef {(data: Buffer, options: { maxOutputLength: number }) => Buffer} Unpack */

/** By name: how records are unpacked, and the bytes that they start with; brotli has none. @type {Record<string, { unpack: Unpack | undefined, magic: number[] }>} */
const PACKINGS = {
  gzip: { unpack: zlib.gunzipSync, magic: [0x1f, 0x8b] },
  // Node.js has it from 22.15 on
  zstd: { unpack: /** @type {{ zstdDecompressSync?: Unpack }} */ (zlib).zstdDecompressSync, magic: [0x28, 0xb5, 0x2f, 0xfd] },
  brotli: { unpack: zlib.brotliDecompressSync, magic: [] }
}

/**
 * @param {Buffer[]} samples
 * @returns {string | null} the name of what they are packed with
 */
function packingOf (samples) {
  return Object.keys(PACKINGS).find(name => {
    const fitting = samples.filter(data => {
      const unpacked = startsWith(data, PACKINGS[name].magic) ? unpack(data, name) : null
      // without a magic number, bytes of another kind could be unpacked, too
      return unpacked !== null && (name !== 'brotli' || (!isUtf8(data) && isUtf8(unpacked) && unpacked.length > 0))
    })
    return fitting.length > 0 && fitting.length >= FITTING * samples.length
  }) ?? null
}

/**
 * @param {Buffer} data
 * @param {string} packing
 * @returns {Buffer | null} null: it is not packed so, is longer than what is shown, or this Node.js cannot unpack it
 */
function unpack (data, packing) {
  try {
    return PACKINGS[packing].unpack?.(data, { maxOutputLength: MAX_UNPACKED }) ?? null
  } catch {
    return null
  }
}

/**
 * @param {Buffer} data
 * @param {number[]} magic
 */
function startsWith (data, magic) {
  return magic.every((byte, i) => data[i] === byte)
}

module.exports = { packingOf, unpack }
