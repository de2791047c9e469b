'use strict'

// Records as they cross between a page and its worker: all bytes of a batch in one buffer, which is transferred, not copied.

/** The length of a record that was deleted. */
const DELETED = 0xFFFFFFFF
const MIN_SIZE = 4096
/** Bytes of UTF-8 that a unit of UTF-16 takes at most. */
const MAX_PER_UNIT = 3

const encoder = new TextEncoder()

/**
 * @typedef {object} Packed
 * @property {Uint8Array<ArrayBuffer>} bytes
 * @property {Uint32Array<ArrayBuffer>} lengths
 */

class Packer {
  constructor () {
    this.bytes = new Uint8Array(MIN_SIZE)
    this.size = 0
    /** @type {number[]} */
    this.lengths = []
  }

  /** @param {number} more bytes */
  reserve (more) {
    const { bytes, size } = this
    if (size + more <= bytes.length) return
    this.bytes = new Uint8Array(Math.max(2 * bytes.length, size + more))
    this.bytes.set(bytes.subarray(0, size))
  }

  /** @param {Uint8Array | string | null} record null: it was deleted */
  add (record) {
    const { size } = this
    if (record === null) {
      this.lengths.push(DELETED)
      return
    }
    this.reserve(record.length * (typeof record === 'string' ? MAX_PER_UNIT : 1))
    if (typeof record === 'string') this.size += encoder.encodeInto(record, this.bytes.subarray(size)).written
    else {
      this.bytes.set(record, size)
      this.size += record.length
    }
    this.lengths.push(this.size - size)
  }

  /** @returns {Packed} what was added */
  finish () {
    return { bytes: this.bytes.subarray(0, this.size), lengths: Uint32Array.from(this.lengths) }
  }
}

/**
 * @param {Packed} packed
 * @returns {Array<Uint8Array | null>} views of one buffer; null: the record was deleted
 */
function unpack ({ bytes, lengths }) {
  const records = new Array(lengths.length)
  let start = 0
  for (let i = 0; i < lengths.length; i++) {
    if (lengths[i] === DELETED) records[i] = null
    else records[i] = bytes.subarray(start, start += lengths[i])
  }
  return records
}

/** @param {Packed} packed */
function buffersOf ({ bytes, lengths }) {
  return [bytes.buffer, lengths.buffer]
}

/**
 * Errors cross as objects, since their properties would be lost.
 * @param {any} err
 */
function packError (err) {
  if (!(err instanceof Error)) return { thrown: err }
  return { name: err.name, message: err.message, stack: err.stack, details: JSON.parse(JSON.stringify({ ...err, cause: undefined })) }
}

/** @param {any} packed */
function unpackError (packed) {
  if ('thrown' in packed) return packed.thrown
  const { message, stack, details } = packed
  return Object.assign(new Error(message), { stack }, details)
}

module.exports = { Packer, unpack, buffersOf, packError, unpackError }
