'use strict'

// The frames that the owner of a log and its clients send each other: docs/protocol.md in code. APPEND and ACK are binary, the bodies of all
// others are JSON. Nothing that is received is believed before it is checked. Pure.

const errors = require('../errors')

const PROTOCOL = 'flumelog'
const VERSION = 4

/** Bytes of a client's frame, with its length; a connection on which more is announced is closed before it is received. */
const MAX_FRAME = 1024 * 1024
/** Bytes of an APPEND: it may have the chunks of the largest record, in the smallest blocks. */
const MAX_APPEND = 512 * 1024 * 1024
/** APPENDs and requests that a client may have in flight. */
const MAX_APPENDS = 256
const MAX_REQUESTS = 4096
const LENGTH_SIZE = 4
/** length and type */
const HEADER_SIZE = LENGTH_SIZE + 1
/** The header of an APPEND, with length and type: its records follow. */
const APPEND_SIZE = HEADER_SIZE + 4 + 8 + 4 + 8 + 1
/** Bytes of a client's id. */
const ID_SIZE = 16
const RUN_SIZE = 8 + 4 + 8

const HELLO = 1
const APPEND = 2
const REQUEST = 3
const PING = 4
const BYE = 5
const FOLLOWED = 6
const WELCOME = 16
const LOOK = 17
const ACK = 18
const NACK = 19
const REPLY = 20
const PONG = 21
const REFUSED = 22
const COMPACTED = 23

/** Flags of APPEND. */
const FORCED = 1
const ATOMIC = 2

/**
 * @typedef {object} Run records of one client that are stored in a row
 * @property {number} first number of the first one
 * @property {number} count
 * @property {number} seq of the first one
 *
 * @typedef {object} Hello
 * @property {string} id of the client, in hex
 * @property {number} answered
 * @property {number} sent
 * @property {number} pid
 *
 * @typedef {object} Welcome
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
 * @param {number} type
 * @param {object} [body] undefined: the type says everything. Errors in it are sent with their properties
 * @returns {Buffer}
 */
function encode (type, body) {
  if (body === undefined) return frame(type, 0)
  const text = Buffer.from(JSON.stringify(body, (name, value) => value instanceof Error ? propertiesOf(value) : value))
  const bytes = frame(type, text.length)
  text.copy(bytes, HEADER_SIZE)
  return bytes
}

/** @param {Hello} fields */
function hello (fields) {
  return encode(HELLO, { protocol: PROTOCOL, version: VERSION, ...fields })
}

/** @param {Welcome} fields */
function welcome (fields) {
  return encode(WELCOME, { version: VERSION, ...fields })
}

// Bodies that are JSON

const isNatural = (/** @type {unknown} */ value) => Number.isSafeInteger(value) && Number(value) >= 0
const isBoolean = (/** @type {unknown} */ value) => typeof value === 'boolean'
const isString = (/** @type {unknown} */ value) => typeof value === 'string'
const isClientId = (/** @type {unknown} */ value) => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)
/** @param {any} value */
const isObject = (value) => typeof value === 'object' && value !== null
/** @param {any} value */
const isRun = (value) => isObject(value) && isNatural(value.first) && isNatural(value.count) && isNatural(value.seq)
const isVersion = (/** @type {unknown} */ value) => value === VERSION

/** What the members of a body have to be. @type {Record<string, Record<string, (value: any) => boolean>>} */
const MEMBERS = {
  [HELLO]: { protocol: value => value === PROTOCOL, version: isVersion, id: isClientId, answered: isNatural, sent: isNatural, pid: isNatural },
  [REQUEST]: { request: isNatural, ask: isObject },
  [WELCOME]: {
    version: isVersion,
    checksum: isBoolean,
    isUnknown: isBoolean,
    blockSize: isNatural,
    window: isNatural,
    epoch: isNatural,
    stored: isNatural,
    runs: value => Array.isArray(value) && value.every(isRun),
    id: isString
  },
  [LOOK]: { changed: isBoolean },
  [NACK]: { epoch: isNatural, error: isObject },
  [REPLY]: { request: isNatural },
  [REFUSED]: { error: isObject },
  [COMPACTED]: { id: isString }
}

/** What the offsets of a request are called. @type {Record<string, string[]>} */
const OFFSETS = { sync: [], delete: ['seq'], deleteRange: ['first', 'last'], trim: ['offset'], reclaim: [], compact: [] }

/**
 * @param {number} type
 * @param {Buffer} body
 * @returns {any} with errors instead of their properties
 * @throws flumelog:protocol
 */
function decode (type, body) {
  /** @type {any} */
  let value
  try {
    value = JSON.parse(body.toString())
  } catch (cause) {
    throw errors.protocol(`the body of a frame of type ${type} is not JSON`, cause)
  }
  if (!isObject(value)) throw errors.protocol(`the body of a frame of type ${type} is not an object`)
  for (const [name, isValid] of Object.entries(MEMBERS[type])) {
    if (isValid(value[name])) continue
    const got = String(JSON.stringify(value[name])).slice(0, 100)
    if (isValid !== isVersion) throw errors.protocol(`${name} in a frame of type ${type} is ${got}`)
    throw errors.protocol(`version ${got} of the protocol is not supported; this process has version ${VERSION}`)
  }
  if (type === REQUEST) checkAsk(value.ask)
  if (isObject(value.error)) value.error = errorOf(value.error)
  return value
}

/** @param {any} ask */
function checkAsk (ask) {
  const offsets = Object.hasOwn(OFFSETS, ask.op) ? OFFSETS[ask.op] : null
  if (offsets === null) throw errors.protocol(`a request is ${String(ask.op).slice(0, 100)}; it should be one of ${Object.keys(OFFSETS).join(', ')}`)
  for (const name of offsets) if (!isNatural(ask[name])) throw errors.protocol(`${name} of a request is ${String(ask[name]).slice(0, 100)}; it should be an offset`)
}

/** The most characters of a property of an error that are sent. */
const MAX_TEXT = 2000

/**
 * @param {any} err
 * @returns {object}
 */
function propertiesOf (err) {
  /** @type {Record<string, unknown>} */
  const properties = { code: err.code, message: shortened(err.message) }
  for (const [name, value] of Object.entries(err)) {
    if (['string', 'number', 'boolean'].includes(typeof value)) properties[name] = shortened(value)
  }
  if (err.cause instanceof Error) properties.cause = { code: /** @type {any} */ (err.cause).code, message: shortened(err.cause.message) }
  return properties
}

/** @param {unknown} value */
function shortened (value) {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : value
}

/** @param {any} properties */
function errorOf ({ message, cause, ...rest }) {
  return errors.fromOwner(String(message), cause && errors.fromOwner(String(cause.message), undefined, { code: cause.code }), rest)
}

// Bodies that are binary

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

/** @param {Run} run */
function ack ({ first, count, seq }) {
  const bytes = frame(ACK, RUN_SIZE)
  const at = writeU64(bytes, first, HEADER_SIZE)
  writeU64(bytes, seq, bytes.writeUInt32LE(count, at))
  return bytes
}

/**
 * @param {Buffer} body
 * @returns {Run}
 */
function decodeAck (body) {
  if (body.length !== RUN_SIZE) throw errors.protocol(`an ACK has a body of ${body.length} bytes; it should have ${RUN_SIZE}`)
  return { first: readU64(body, 0), count: body.readUInt32LE(8), seq: readU64(body, 12) }
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
 * @param {Buffer} body
 * @returns {AppendHeader & { records: Buffer }}
 */
function decodeAppend (body) {
  const size = APPEND_SIZE - HEADER_SIZE
  if (body.length < size) throw errors.protocol(`an APPEND has a body of ${body.length} bytes; it should have ${size} or more`)
  return {
    epoch: body.readUInt32LE(0),
    first: readU64(body, 4),
    count: body.readUInt32LE(12),
    answered: readU64(body, 16),
    flags: body[24],
    records: body.subarray(size)
  }
}

module.exports = {
  VERSION,
  MAX_FRAME,
  MAX_APPEND,
  MAX_APPENDS,
  MAX_REQUESTS,
  LENGTH_SIZE,
  HEADER_SIZE,
  APPEND_SIZE,
  ID_SIZE,
  HELLO,
  APPEND,
  REQUEST,
  PING,
  BYE,
  FOLLOWED,
  WELCOME,
  LOOK,
  ACK,
  NACK,
  REPLY,
  PONG,
  REFUSED,
  COMPACTED,
  FORCED,
  ATOMIC,
  encode,
  decode,
  hello,
  welcome,
  ack,
  decodeAck,
  writeAppendHeader,
  decodeAppend
}
