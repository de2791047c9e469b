'use strict'

// Reads the bodies of frames that were received, and believes nothing that it has not
// checked. Pure.

const errors = require('../errors')
const { APPEND_SIZE, CHECKSUM, HEADER_SIZE, ID_SIZE, MAGIC, RUN_SIZE, UNKNOWN, VERSION } = require('./frames')

/**
 * @typedef {import('./frames').Hello} Hello
 * @typedef {import('./frames').Welcome} Welcome
 * @typedef {import('./frames').Run} Run
 * @typedef {import('./frames').AppendHeader} AppendHeader
 */

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {number}
 * @throws flumelog:protocol if it has more than 53 bits
 */
function readU64 (bytes, at) {
  const high = bytes.readUInt32LE(at + 4)
  if (high > 0x1fffff) throw errors.protocol('an integer is 2^53 or more')
  return high * 0x100000000 + bytes.readUInt32LE(at)
}

/**
 * @param {Buffer} text
 * @returns {import('../errors').LogError}
 * @throws flumelog:protocol if it is no error
 */
function decodeError (text) {
  let properties
  try {
    properties = JSON.parse(text.toString())
  } catch (cause) {
    throw errors.protocol('an error is not JSON', cause)
  }
  if (properties === null || typeof properties !== 'object') throw errors.protocol('an error is not an object')
  const { message, cause, ...rest } = properties
  return errors.fromOwner(String(message), cause && errors.fromOwner(String(cause.message), undefined, { code: cause.code }), rest)
}

/**
 * @param {Buffer} body
 * @returns {Hello}
 */
function parseHello (body) {
  if (body.length < 9 || !body.subarray(0, 8).equals(MAGIC)) throw errors.protocol('HELLO does not start with "flumelog"')
  const version = body[8]
  if (version !== VERSION) return { version, id: Buffer.alloc(ID_SIZE), answered: 0, sent: 0, pid: 0 }
  mustHave(body, 8 + 1 + ID_SIZE + 20)
  return { version, id: Buffer.from(body.subarray(9, 25)), answered: readU64(body, 25), sent: readU64(body, 33), pid: body.readUInt32LE(41) }
}

/**
 * @param {Buffer} body
 * @returns {Welcome}
 */
function parseWelcome (body) {
  mustHave(body, 26, true)
  const count = body.readUInt32LE(22)
  const afterRuns = 26 + count * RUN_SIZE
  mustHave(body, afterRuns, true)
  return {
    version: body[0],
    checksum: (body[1] & CHECKSUM) !== 0,
    isUnknown: (body[1] & UNKNOWN) !== 0,
    blockSize: body.readUInt32LE(2),
    window: body.readUInt32LE(6),
    epoch: body.readUInt32LE(10),
    stored: readU64(body, 14),
    runs: Array.from({ length: count }, (_, i) => readRun(body, 26 + i * RUN_SIZE)),
    id: body.toString('utf8', afterRuns)
  }
}

/**
 * @param {Buffer} body
 * @param {number} at
 * @returns {Run}
 */
function readRun (body, at) {
  const number = readU64(body, at)
  const count = body.readUInt32LE(at + 8)
  return { first: number - count + 1, count, seq: readU64(body, at + 12) }
}

/**
 * @param {Buffer} body
 * @returns {Run}
 */
function parseAck (body) {
  mustHave(body, RUN_SIZE)
  return readRun(body, 0)
}

/**
 * @param {Buffer} body
 * @returns {AppendHeader & { records: Buffer }}
 */
function parseAppend (body) {
  const size = APPEND_SIZE - HEADER_SIZE
  mustHave(body, size, true)
  return {
    epoch: body.readUInt32LE(0),
    first: readU64(body, 4),
    count: body.readUInt32LE(12),
    answered: readU64(body, 16),
    flags: body[24],
    records: body.subarray(size)
  }
}

/**
 * @param {Buffer} body
 * @returns {{ request: number, seq: number }}
 */
function parseDelete (body) {
  mustHave(body, 12)
  return { request: body.readUInt32LE(0), seq: readU64(body, 4) }
}

/**
 * @param {Buffer} body
 * @returns {{ request: number, first: number, last: number }}
 */
function parseDeleteRange (body) {
  mustHave(body, 20)
  return { request: body.readUInt32LE(0), first: readU64(body, 4), last: readU64(body, 12) }
}

/**
 * @param {Buffer} body
 * @returns {{ request: number, trim: number }}
 */
function parseTrim (body) {
  mustHave(body, 12)
  return { request: body.readUInt32LE(0), trim: readU64(body, 4) }
}

/**
 * @param {Buffer} body
 * @returns {{ request: number, start: number }}
 */
function parseTrimmed (body) {
  mustHave(body, 12)
  return { request: body.readUInt32LE(0), start: readU64(body, 4) }
}

/**
 * @param {Buffer} body
 * @returns {{ request: number, reclaimed: import('../space/reclaim').Reclaimed }}
 */
function parseReclaimed (body) {
  mustHave(body, 20)
  return { request: body.readUInt32LE(0), reclaimed: { blocks: readU64(body, 4), bytes: readU64(body, 12) } }
}

/**
 * @param {Buffer} body
 * @returns {{ request: number, compacted: import('../space/types').Compacted }}
 */
function parseCompaction (body) {
  mustHave(body, 4, true)
  try {
    const { id, before, after, records, deleted, dropped, start } = JSON.parse(body.toString('utf8', 4))
    for (const value of [before, after, records, deleted, dropped, start]) if (!Number.isSafeInteger(value)) throw new Error(`${value} is not an integer`)
    return { request: body.readUInt32LE(0), compacted: { id: String(id), before, after, records, deleted, dropped, start } }
  } catch (cause) {
    throw errors.protocol('what COMPACTION has is no result of a compaction', cause)
  }
}

/**
 * @param {Buffer} body of SYNC, RECLAIM or COMPACT
 * @returns {number} the request
 */
function parseSync (body) {
  mustHave(body, 4)
  return body.readUInt32LE(0)
}

/**
 * @param {Buffer} body
 * @returns {{ request: number, error: Error | null }}
 */
function parseReply (body) {
  mustHave(body, 4, true)
  return { request: body.readUInt32LE(0), error: body.length === 4 ? null : decodeError(body.subarray(4)) }
}

/**
 * @param {Buffer} body
 * @returns {{ epoch: number, error: Error }}
 */
function parseNack (body) {
  mustHave(body, 4, true)
  return { epoch: body.readUInt32LE(0), error: decodeError(body.subarray(4)) }
}

/**
 * @param {Buffer} body
 * @param {number} size
 * @param {boolean} [orMore]
 */
function mustHave (body, size, orMore = false) {
  if (body.length === size || (orMore && body.length > size)) return
  throw errors.protocol(`a frame has a body of ${body.length} bytes; it should have ${size}${orMore ? ' or more' : ''}`)
}

module.exports = {
  decodeError,
  parseHello,
  parseWelcome,
  parseAck,
  parseAppend,
  parseDelete,
  parseDeleteRange,
  parseReclaimed,
  parseTrim,
  parseTrimmed,
  parseCompaction,
  parseSync,
  parseReply,
  parseNack
}
