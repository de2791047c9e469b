'use strict'

// The bytes of the journal that the owner of a shared log keeps beside it: format.md, "Other
// files", in code. Pure: no I/O.

const { crc32 } = require('../format/crc32')

const MAGIC = Buffer.from('flumelog-clients', 'latin1')
const VERSION = 1
const HEADER_SIZE = 32
const ENTRY_SIZE = 32
/** Bytes of random data in the header. */
const SALT_SIZE = 8
const ID_SIZE = 16
const MAX_SLOT = 2 ** 24 - 1
const MAX_COUNT = 2 ** 32 - 1

const CLIENT = 1
const RUN = 2
const VOID = 3
const FORGET = 4
const MOVE = 5

/** Where a header and an entry have their checksum. */
const CHECKSUM_AT = 28

/**
 * `slot` stands for a client in the entries after its CLIENT.
 * @typedef {{ type: 1, slot: number, id: Buffer, stored: number }} ClientEntry the log has this client's records up to number `stored`
 * @typedef {{ type: 2, slot: number, first: number, count: number, seq: number }} RunEntry records of a client that are stored in a row
 * @typedef {{ type: 3, offset: number }} VoidEntry everything from this offset on was rolled back
 * @typedef {{ type: 4, slot: number }} ForgetEntry the client does not come back
 * @typedef {{ type: 5, offset: number, base: number }} MoveEntry if the log starts at `base` or after it, nothing from `offset` to there is stored:
 *   it was compacted. A `base` of 0: it was not, after all
 * @typedef {ClientEntry | RunEntry | VoidEntry | ForgetEntry | MoveEntry} Entry
 */

/**
 * @param {Uint8Array} salt
 * @returns {Buffer} the first bytes of a journal
 */
function encodeHeader (salt) {
  const bytes = Buffer.alloc(HEADER_SIZE)
  bytes.set(MAGIC, 0)
  bytes.writeUInt32LE(VERSION, 16)
  bytes.set(salt, 20)
  bytes.writeUInt32LE(checksumAt(bytes, 0, 0), CHECKSUM_AT)
  return bytes
}

/**
 * @param {Entry[]} entries
 * @param {number} before checksum of what they follow in the file
 * @returns {Buffer}
 */
function encodeEntries (entries, before) {
  const bytes = Buffer.alloc(entries.length * ENTRY_SIZE)
  let checksum = before
  for (let i = 0; i < entries.length; i++) {
    const at = i * ENTRY_SIZE
    writeEntry(bytes, at, entries[i])
    checksum = checksumAt(bytes, at, checksum)
    bytes.writeUInt32LE(checksum, at + CHECKSUM_AT)
  }
  return bytes
}

/**
 * @param {Buffer} bytes a header, or at least one entry
 * @returns {number} the checksum that what follows continues
 */
function lastChecksum (bytes) {
  return bytes.readUInt32LE(bytes.length - ENTRY_SIZE + CHECKSUM_AT)
}

/**
 * @param {Buffer} bytes of a file
 * @returns {Entry[]} up to the first that is not valid or not whole; empty if it is no journal
 */
function decodeJournal (bytes) {
  /** @type {Entry[]} */
  const entries = []
  if (!isHeader(bytes)) return entries
  let checksum = lastChecksum(bytes.subarray(0, HEADER_SIZE))
  for (let at = HEADER_SIZE; at + ENTRY_SIZE <= bytes.length; at += ENTRY_SIZE) {
    checksum = checksumAt(bytes, at, checksum)
    const entry = bytes.readUInt32LE(at + CHECKSUM_AT) === checksum ? readEntry(bytes, at) : null
    if (entry === null) break
    entries.push(entry)
  }
  return entries
}

/** @param {Buffer} bytes */
function isHeader (bytes) {
  return bytes.length >= HEADER_SIZE && bytes.compare(MAGIC, 0, MAGIC.length, 0, MAGIC.length) === 0 &&
    bytes.readUInt32LE(16) === VERSION && bytes.readUInt32LE(CHECKSUM_AT) === checksumAt(bytes, 0, 0)
}

/**
 * Each checksum continues the one before it. So an entry is valid only behind those that it was
 * written behind: what is left of a failed write, and partly overwritten, is not.
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} before
 */
function checksumAt (bytes, at, before) {
  return crc32(bytes.subarray(at, at + CHECKSUM_AT), before)
}

/**
 * @param {Buffer} bytes zeros
 * @param {number} at
 * @param {Entry} entry
 */
function writeEntry (bytes, at, entry) {
  bytes[at] = entry.type
  if ('slot' in entry) bytes.writeUIntLE(entry.slot, at + 1, 3)
  if (entry.type === CLIENT) {
    bytes.set(entry.id, at + 4)
    writeUInt64(bytes, at + 20, entry.stored)
  } else if (entry.type === RUN) {
    bytes.writeUInt32LE(entry.count, at + 4)
    writeUInt64(bytes, at + 8, entry.first)
    writeUInt64(bytes, at + 16, entry.seq)
  } else if (entry.type === VOID) {
    writeUInt64(bytes, at + 16, entry.offset)
  } else if (entry.type === MOVE) {
    writeUInt64(bytes, at + 8, entry.base)
    writeUInt64(bytes, at + 16, entry.offset)
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {Entry | null} null: no journal has such an entry
 */
function readEntry (bytes, at) {
  const entry = fieldsAt(bytes, at)
  return entry !== null && Object.values(entry).every(value => typeof value !== 'number' || Number.isSafeInteger(value)) ? entry : null
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {Entry | null}
 */
function fieldsAt (bytes, at) {
  const slot = bytes.readUIntLE(at + 1, 3)
  switch (bytes[at]) {
    case CLIENT: return { type: CLIENT, slot, id: Buffer.from(bytes.subarray(at + 4, at + 4 + ID_SIZE)), stored: readUInt64(bytes, at + 20) }
    case RUN: return { type: RUN, slot, first: readUInt64(bytes, at + 8), count: bytes.readUInt32LE(at + 4), seq: readUInt64(bytes, at + 16) }
    case VOID: return { type: VOID, offset: readUInt64(bytes, at + 16) }
    case FORGET: return { type: FORGET, slot }
    case MOVE: return { type: MOVE, offset: readUInt64(bytes, at + 16), base: readUInt64(bytes, at + 8) }
    default: return null
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} value a safe integer
 */
function writeUInt64 (bytes, at, value) {
  bytes.writeUInt32LE(value % 2 ** 32, at)
  bytes.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4)
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 */
function readUInt64 (bytes, at) {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32
}

module.exports = {
  HEADER_SIZE,
  ENTRY_SIZE,
  SALT_SIZE,
  MAX_SLOT,
  MAX_COUNT,
  CLIENT,
  RUN,
  VOID,
  FORGET,
  MOVE,
  encodeHeader,
  encodeEntries,
  decodeJournal,
  lastChecksum
}
