'use strict'

// The frames that the owner of a log and its clients send each other: docs/protocol.md in
// code. What is received is read in frame-bodies.js. Pure.

const VERSION = 3
const MAGIC = Buffer.from('flumelog', 'latin1')

/** Bytes of a frame, with its length; a connection on which more is announced is closed before it is received. */
const MAX_FRAME = 1024 * 1024
/** Bytes of frames that belong together: the chunks of the largest record, in the smallest blocks. */
const MAX_TOGETHER = 512 * 1024 * 1024
/** APPENDs that a client may have on their way, and requests. */
const MAX_APPENDS = 256
const MAX_REQUESTS = 4096
const LENGTH_SIZE = 4
/** length and type */
const HEADER_SIZE = LENGTH_SIZE + 1
/** What APPEND has in front of its records, with length and type. */
const APPEND_SIZE = HEADER_SIZE + 4 + 8 + 4 + 8 + 1
const ID_SIZE = 16
const RUN_SIZE = 8 + 4 + 8

const HELLO = 1
const APPEND = 2
const DELETE = 3
const SYNC = 4
const PING = 5
const BYE = 6
const DELETE_RANGE = 7
const RECLAIM = 8
const TRIM = 9
const COMPACT = 10
const FOLLOWED = 11
const WELCOME = 16
const LOOK = 17
const ACK = 18
const NACK = 19
const REPLY = 20
const PONG = 22
const REFUSED = 23
const RECLAIMED = 24
const TRIMMED = 25
const COMPACTED = 26
const COMPACTION = 27

/** Flags of APPEND. */
const FORCED = 1
const ATOMIC = 2
const CONTINUED = 4
/** Flags of WELCOME. */
const CHECKSUM = 1
const UNKNOWN = 2

/**
 * @typedef {object} Run records of one client that are stored in a row
 * @property {number} first number of the first one
 * @property {number} count
 * @property {number} seq of the first one
 *
 * @typedef {object} Hello
 * @property {number} version
 * @property {Buffer} id
 * @property {number} answered
 * @property {number} sent
 * @property {number} pid
 *
 * @typedef {object} Welcome
 * @property {number} version
 * @property {boolean} checksum whether blocks are sealed with a checksum
 * @property {boolean} isUnknown the owner cannot tell what became of what this client has sent
 * @property {number} blockSize in bytes
 * @property {number} window in bytes
 * @property {number} epoch
 * @property {number} stored the highest number that is stored
 * @property {Run[]} runs
 * @property {string} id of the log; another one after each compaction
 *
 * @typedef {object} AppendHeader
 * @property {number} epoch
 * @property {number} first
 * @property {number} count
 * @property {number} answered
 * @property {number} flags
 */

/**
 * @param {number} type
 * @param {number} size of the body
 * @returns {Buffer} a frame whose body is to be filled in from HEADER_SIZE on
 */
function frame (type, size) {
  const bytes = Buffer.allocUnsafe(HEADER_SIZE + size)
  bytes.writeUInt32LE(1 + size, 0)
  bytes[LENGTH_SIZE] = type
  return bytes
}

/**
 * @param {Buffer} bytes
 * @param {number} value an integer of up to 53 bits
 * @param {number} at
 * @returns {number} the position behind it
 */
function writeU64 (bytes, value, at) {
  bytes.writeUInt32LE(value % 0x100000000, at)
  bytes.writeUInt32LE(Math.floor(value / 0x100000000), at + 4)
  return at + 8
}

/** @param {Omit<Hello, 'version'>} hello */
function hello ({ id, answered, sent, pid }) {
  const bytes = frame(HELLO, 8 + 1 + ID_SIZE + 8 + 8 + 4)
  let at = HEADER_SIZE + MAGIC.copy(bytes, HEADER_SIZE)
  at = bytes.writeUInt8(VERSION, at)
  at += id.copy(bytes, at)
  at = writeU64(bytes, answered, at)
  at = writeU64(bytes, sent, at)
  bytes.writeUInt32LE(pid, at)
  return bytes
}

/** @param {Omit<Welcome, 'version'>} welcome */
function welcome ({ checksum, isUnknown, blockSize, window, epoch, stored, runs, id }) {
  const bytes = frame(WELCOME, 2 + 12 + 8 + 4 + runs.length * RUN_SIZE + Buffer.byteLength(id))
  let at = bytes.writeUInt8(VERSION, HEADER_SIZE)
  at = bytes.writeUInt8((checksum ? CHECKSUM : 0) | (isUnknown ? UNKNOWN : 0), at)
  at = bytes.writeUInt32LE(blockSize, at)
  at = bytes.writeUInt32LE(window, at)
  at = bytes.writeUInt32LE(epoch, at)
  at = writeU64(bytes, stored, at)
  at = bytes.writeUInt32LE(runs.length, at)
  for (const run of runs) at = writeRun(bytes, run, at)
  bytes.write(id, at)
  return bytes
}

/**
 * @param {Buffer} bytes
 * @param {Run} run
 * @param {number} at
 */
function writeRun (bytes, { first, count, seq }, at) {
  at = writeU64(bytes, first + count - 1, at)
  at = bytes.writeUInt32LE(count, at)
  return writeU64(bytes, seq, at)
}

/** @param {Run} run */
function ack (run) {
  const bytes = frame(ACK, RUN_SIZE)
  writeRun(bytes, run, HEADER_SIZE)
  return bytes
}

/**
 * Fills in what stands in front of the records of an APPEND.
 * @param {Buffer} bytes the frame, with its records from APPEND_SIZE on
 * @param {number} size of the frame
 * @param {AppendHeader} header
 */
function writeAppendHeader (bytes, size, { epoch, first, count, answered, flags }) {
  let at = bytes.writeUInt32LE(size - LENGTH_SIZE, 0)
  at = bytes.writeUInt8(APPEND, at)
  at = bytes.writeUInt32LE(epoch, at)
  at = writeU64(bytes, first, at)
  at = bytes.writeUInt32LE(count, at)
  at = writeU64(bytes, answered, at)
  bytes[at] = flags
}

/**
 * @param {number} request
 * @param {number} seq
 */
function del (request, seq) {
  const bytes = frame(DELETE, 12)
  writeU64(bytes, seq, bytes.writeUInt32LE(request, HEADER_SIZE))
  return bytes
}

/**
 * @param {number} request
 * @param {number} first offset
 * @param {number} last offset
 */
function delRange (request, first, last) {
  const bytes = frame(DELETE_RANGE, 20)
  writeU64(bytes, last, writeU64(bytes, first, bytes.writeUInt32LE(request, HEADER_SIZE)))
  return bytes
}

/**
 * @param {number} request
 * @param {number} offset
 */
function trim (request, offset) {
  return requestFrame(TRIM, request, offset)
}

/**
 * @param {number} request
 * @param {number} start of the log
 */
function trimmed (request, start) {
  return requestFrame(TRIMMED, request, start)
}

/**
 * @param {number} type
 * @param {number} request
 * @param {number} offset
 */
function requestFrame (type, request, offset) {
  const bytes = frame(type, 12)
  writeU64(bytes, offset, bytes.writeUInt32LE(request, HEADER_SIZE))
  return bytes
}

/** @param {number} request */
function reclaim (request) {
  const bytes = frame(RECLAIM, 4)
  bytes.writeUInt32LE(request, HEADER_SIZE)
  return bytes
}

/**
 * @param {number} request
 * @param {import('../space/reclaim').Reclaimed} freed
 */
function reclaimed (request, { blocks, bytes: freedBytes }) {
  const bytes = frame(RECLAIMED, 20)
  writeU64(bytes, freedBytes, writeU64(bytes, blocks, bytes.writeUInt32LE(request, HEADER_SIZE)))
  return bytes
}

/** @param {number} request */
function compact (request) {
  const bytes = frame(COMPACT, 4)
  bytes.writeUInt32LE(request, HEADER_SIZE)
  return bytes
}

/**
 * The answer to COMPACT.
 * @param {number} request
 * @param {import('../space/types').Compacted} result
 */
function compaction (request, result) {
  const text = Buffer.from(JSON.stringify(result))
  const bytes = frame(COMPACTION, 4 + text.length)
  text.copy(bytes, bytes.writeUInt32LE(request, HEADER_SIZE))
  return bytes
}

/**
 * The log is another file from here on.
 * @param {string} id of the log since
 */
function compacted (id) {
  const bytes = frame(COMPACTED, Buffer.byteLength(id))
  bytes.write(id, HEADER_SIZE)
  return bytes
}

/** @param {number} request */
function sync (request) {
  const bytes = frame(SYNC, 4)
  bytes.writeUInt32LE(request, HEADER_SIZE)
  return bytes
}

/**
 * @param {number} request
 * @param {Error | null} err
 */
function reply (request, err) {
  const text = err === null ? Buffer.alloc(0) : encodeError(err)
  const bytes = frame(REPLY, 4 + text.length)
  text.copy(bytes, bytes.writeUInt32LE(request, HEADER_SIZE))
  return bytes
}

/**
 * @param {number} epoch
 * @param {Error} err
 */
function nack (epoch, err) {
  const text = encodeError(err)
  const bytes = frame(NACK, 4 + text.length)
  text.copy(bytes, bytes.writeUInt32LE(epoch, HEADER_SIZE))
  return bytes
}

/** @param {Error} err */
function refused (err) {
  const text = encodeError(err)
  const bytes = frame(REFUSED, text.length)
  text.copy(bytes, HEADER_SIZE)
  return bytes
}

const ping = () => frame(PING, 0)
const pong = () => frame(PONG, 0)
const bye = () => frame(BYE, 0)
const followed = () => frame(FOLLOWED, 0)

/** @param {boolean} isChanged whether what was in the log has changed; false: there is more */
function look (isChanged) {
  const bytes = frame(LOOK, 1)
  bytes[HEADER_SIZE] = isChanged ? 1 : 0
  return bytes
}

// Errors

/** The most characters of a property of an error that are sent. */
const MAX_TEXT = 2000

/**
 * @param {any} err
 * @returns {Buffer}
 */
function encodeError (err) {
  /** @type {Record<string, unknown>} */
  const properties = { code: err.code, message: shortened(err.message) }
  for (const [name, value] of Object.entries(err)) {
    if (['string', 'number', 'boolean'].includes(typeof value)) properties[name] = shortened(value)
  }
  if (err.cause instanceof Error) properties.cause = { code: /** @type {any} */ (err.cause).code, message: shortened(err.cause.message) }
  return Buffer.from(JSON.stringify(properties))
}

/** @param {unknown} value */
function shortened (value) {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : value
}

module.exports = {
  VERSION,
  MAGIC,
  MAX_FRAME,
  MAX_TOGETHER,
  MAX_APPENDS,
  MAX_REQUESTS,
  LENGTH_SIZE,
  HEADER_SIZE,
  APPEND_SIZE,
  ID_SIZE,
  RUN_SIZE,
  HELLO,
  APPEND,
  DELETE,
  SYNC,
  PING,
  BYE,
  DELETE_RANGE,
  RECLAIM,
  TRIM,
  COMPACT,
  FOLLOWED,
  WELCOME,
  LOOK,
  ACK,
  NACK,
  REPLY,
  PONG,
  REFUSED,
  RECLAIMED,
  TRIMMED,
  COMPACTED,
  COMPACTION,
  FORCED,
  ATOMIC,
  CONTINUED,
  CHECKSUM,
  UNKNOWN,
  hello,
  welcome,
  ack,
  writeAppendHeader,
  del,
  delRange,
  reclaim,
  trim,
  reclaimed,
  trimmed,
  compact,
  compaction,
  compacted,
  sync,
  reply,
  nack,
  refused,
  ping,
  pong,
  bye,
  followed,
  look
}
