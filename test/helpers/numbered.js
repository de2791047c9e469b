'use strict'

// Records derived from their number, so that a record can be identified and checked for
// completeness.

const { crc32 } = require('zlib')
const layout = require('../../lib/format/layout')

const HEAD_SIZE = 8

/**
 * @param {number} number from 1
 * @param {number} size in bytes, at least 8
 * @returns {Buffer} number, checksum, and bytes that differ from number to number
 */
function numbered (number, size) {
  const record = Buffer.alloc(Math.max(size, HEAD_SIZE), number % 251 + 1)
  record.writeUInt32LE(number, 0)
  record.writeUInt32LE(checksumOf(record), 4)
  return record
}

function checksumOf (record) {
  return crc32(record.subarray(HEAD_SIZE), crc32(record.subarray(0, 4), record.length))
}

/**
 * @param {Buffer} record
 * @returns {boolean} whether it is what `numbered` made
 */
function isIntact (record) {
  return record.length >= HEAD_SIZE && record.readUInt32LE(4) === checksumOf(record)
}

/** @param {Buffer} record */
function numberOf (record) {
  return record.readUInt32LE(0)
}

/** A codec that rejects incomplete records. */
const codec = {
  encode: record => record,
  decode: (record) => {
    if (!isIntact(record)) throw new Error('the record is not whole')
    return record
  }
}

/**
 * Mostly small; sometimes a series of large ones, which take longer to write.
 * @param {number} number
 * @param {number} most
 * @returns {number} a size that follows from the number
 */
function sizeOf (number, most) {
  const mixed = Math.imul(number, 0x9E3779B1) >>> 8
  const largest = number % 512 < 48 ? 65536 : mixed % 8 === 0 ? 2000 : 150
  return Math.min(HEAD_SIZE + mixed % largest, most)
}

/**
 * Iterates over the bytes of a valid log.
 * @param {Buffer} bytes
 * @param {number} blockSize
 * @returns {number[]} where records start, the deleted ones too
 */
function framesIn (bytes, blockSize) {
  const seqs = []
  for (let start = 0; start < bytes.length; start += blockSize) {
    const block = bytes.subarray(start, start + blockSize)
    const end = block.length === blockSize ? layout.paddingStart(block) : block.length
    for (let position = 0; position < end; position = layout.nextPosition(block, position)) seqs.push(start + position)
  }
  return seqs
}

module.exports = { numbered, isIntact, numberOf, codec, sizeOf, framesIn }
