'use strict'

// Creates files with lib/format/layout.js, without a log.

const layout = require('../../lib/format/layout')
const { writeChecksum } = require('../../lib/format/checksum')

/**
 * @param {number} blockSize
 * @param {Uint8Array[]} records that fit
 * @param {{ checksum?: boolean }} [options]
 * @returns {Buffer} a sealed block of them
 */
function sealedBlock (blockSize, records, { checksum = true } = {}) {
  const block = Buffer.alloc(blockSize)
  layout.seal(block, writeAll(block, records))
  if (checksum) writeChecksum(block)
  return block
}

/**
 * @param {Uint8Array[]} records
 * @returns {Buffer} a tail of them
 */
function tailOf (records) {
  const size = records.reduce((size, record) => size + record.length + layout.FRAME_SIZE, 0)
  const tail = Buffer.alloc(size)
  writeAll(tail, records)
  return tail
}

function writeAll (block, records) {
  return records.reduce((position, record) => layout.writeRecord(block, position, record), 0)
}

/**
 * @param {number} size
 * @param {number} [byte]
 * @returns {Buffer} a record's data
 */
function dataOf (size, byte = 7) {
  return Buffer.alloc(size, byte)
}

module.exports = { sealedBlock, tailOf, dataOf }
