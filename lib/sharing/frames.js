'use strict'

// The frames that the owner of a log and its clients send each other: docs/protocol.md in code. APPEND and ACK are binary, the bodies of all
// others are JSON. Nothing that is received is believed before it is checked. Pure.

const errors = require('../errors')
const layout = require('../format/layout')

const PROTOCOL = 'flumelog'
const VERSION = 6

/** Bytes of an APPEND, with its length, that may have several records, and of any other frame: JSON takes far more memory, and time, than its bytes do. */
const MAX_FRAME = 1024 * 1024
/** Bytes of an APPEND: it may have the chunks of the largest record, in the smallest blocks. */
const MAX_APPEND = 512 * 1024 * 1024
/**
 * Bytes that a client has in flight, and what an APPEND counts as at least and at most, and a REQUEST: each takes some memory and time, and a large one
 * must leave room for others.
 */
const WINDOW = 1024 * 1024
const MIN_APPEND_COST = 4096
const MAX_APPEND_COST = WINDOW / 2
const REQUEST_COST = 256
const LENGTH_SIZE = 4
/** length and type */
const HEADER_SIZE = LENGTH_SIZE + 1
/** The header of an APPEND, with length and type: its records follow. */
const APPEND_SIZE = HEADER_SIZE + 8 + 4 + 8 + 1
/** The condition of an APPEND, between its header and its records. */
const CONDITION_SIZE = 8
/** Bytes of a client's id. */
const ID_SIZE = 8
const RUN_SIZE = 8 + 4 + 8

const HELLO = 1
const APPEND = 2
const REQUEST = 3
const PING = 4
const BYE = 5
const WELCOME = 16
const LOOK = 17
const ACK = 18
const NACK = 19
const REPLY = 20
const PONG = 21
const REFUSED = 22
const CONFLICT = 23

/** Flags of APPEND. */
const SYNC = 1
const ATOMIC = 2
const CONDITIONAL = 4

/**
 * @typedef {object} Run records of one client that are stored in a row
 * @property {number} first number of the first one
 * @property {number} count
 * @property {number} seq of the first one
 *
 * @typedef {object} Conflict records of one client that are not stored, because of their condition
 * @property {number} first number of the first one
 * @property {number} count
 * @property {number} seq of the log's last record; -1: there is none
 * @property {number} end offset after it
 *
 * @typedef {object} Hello
 * @property {string} id of the client, in hex
 * @property {number} answered
 * @property {string | null} log the id of the log that it reads; null: it has not opened it yet
 * @property {number} pid
 *
 * @typedef {object} Welcome
 * @property {boolean} checksum whether blocks are sealed with a checksum
 * @property {boolean} isUnknown the owner cannot tell what became of what this client has sent
 * @property {number} blockSize in bytes
 * @property {number} window in bytes
 * @property {Run[]} runs that are stored and were not answered
 * @property {string} id of the log; another one after each compaction
 *
 * @typedef {{ op: 'delete', seq: number } | { op: 'deleteRange', first: number, last: number } | { op: 'trim', offset: number } | { op: 'compact', id: string } |
 *   { op: 'sync' }} Ask
 * @typedef {{ request: number, ask: Ask }} Asked
 *
 * @typedef {object} AppendHeader
 * @property {number} first
 * @property {number} count
 * @property {number} answered
 * @property {number} flags
 * @property {number | null} after the seq that the log's last record must have; -1: there must be none; null: there is no condition
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
  if (type === ACK) return ack(/** @type {Run} */ (body))
  const text = Buffer.from(JSON.stringify(body, (name, value) => value instanceof Error ? propertiesOf(value) : value))
  const bytes = frame(type, text.length)
  text.copy(bytes, HEADER_SIZE)
  return bytes
}

/** @param {Hello} fields */
function hello (fields) {
  return encode(HELLO, { protocol: PROTOCOL, version: VERSION, ...fields })
}

// Bodies that are JSON

const isNatural = (/** @type {unknown} */ value) => Number.isSafeInteger(value) && Number(value) >= 0
const isString = (/** @type {unknown} */ value) => typeof value === 'string'
const isFlag = (/** @type {unknown} */ value) => typeof value === 'boolean'
const isClientId = (/** @type {unknown} */ value) => typeof value === 'string' && /^[0-9a-f]{16}$/.test(value)
/** @param {any} value */
const isObject = (value) => typeof value === 'object' && value !== null
const isVersion = (/** @type {unknown} */ value) => value === VERSION
const isBlockSize = (/** @type {unknown} */ value) => isNatural(value) && Number(value) >= layout.MIN_BLOCK_SIZE && Number(value) <= layout.MAX_BLOCK_SIZE
/** @param {any} value */
const isRun = (value) => isObject(value) && [value.first, value.count, value.seq].every(isNatural)
/** @param {any} value */
const isError = (value) => isObject(value) && isString(value.code) && isString(value.message)

/** What the members of what is received have to be. @type {Record<string, Record<string, (value: any) => boolean>>} */
const MEMBERS = {
  [HELLO]: { protocol: value => value === PROTOCOL, version: isVersion, id: isClientId, answered: isNatural, log: value => value === null || isString(value), pid: isNatural },
  [REQUEST]: { request: isNatural, ask: isObject },
  [WELCOME]: { version: isVersion, checksum: isFlag, isUnknown: isFlag, blockSize: isBlockSize, window: isNatural, runs: value => Array.isArray(value) && value.every(isRun), id: isString },
  [NACK]: { error: isError },
  [REPLY]: { request: isNatural, error: value => value === undefined || isError(value) },
  [REFUSED]: { error: isError },
  [CONFLICT]: { first: isNatural, count: isNatural, seq: value => value === -1 || isNatural(value), end: isNatural }
}

/** What the members of a request have to be, by what is asked for. @type {Record<string, Record<string, (value: any) => boolean>>} */
const ASKS = {
  sync: {},
  delete: { seq: isNatural },
  deleteRange: { first: isNatural, last: isNatural },
  trim: { offset: isNatural },
  compact: { id: isString }
}

/**
 * @param {number} type
 * @param {Buffer} body
 * @returns {any} with errors instead of their properties
 * @throws flumelog:protocol
 */
function decode (type, body) {
  if (type === APPEND) return decodeAppend(body)
  if (type === ACK) return decodeAck(body)
  /** @type {any} */
  let value
  try {
    value = JSON.parse(body.toString())
  } catch (cause) {
    throw errors.protocol(`the body of a frame of type ${type} is not JSON`, cause)
  }
  if (!isObject(value)) throw errors.protocol(`the body of a frame of type ${type} is not an object`)
  for (const [name, isValid] of Object.entries(MEMBERS[type] ?? {})) {
    if (isValid(value[name])) continue
    const got = shown(value[name])
    if (isValid !== isVersion) throw errors.protocol(`${name} in a frame of type ${type} is ${got}`)
    throw errors.protocol(`version ${got} of the protocol is not supported; this process has version ${VERSION}`)
  }
  if (type === REQUEST) checkAsk(value.ask)
  if (isError(value.error)) value.error = errorOf(value.error)
  return value
}

/** @param {any} ask */
function checkAsk (ask) {
  if (!isString(ask.op) || !Object.hasOwn(ASKS, ask.op)) throw errors.protocol(`a request is ${shown(ask.op)}; it should be one of ${Object.keys(ASKS).join(', ')}`)
  for (const [name, isValid] of Object.entries(ASKS[ask.op])) {
    if (!isValid(ask[name])) throw errors.protocol(`${name} of a request is ${shown(ask[name])}`)
  }
}

/**
 * @param {unknown} value that was received
 * @returns {string} for a message. Objects are not shown: they may have a `toString` that is no function, or be nested so deeply that the stack overflows
 */
function shown (value) {
  return isObject(value) ? 'an object' : String(JSON.stringify(value)).slice(0, 100)
}

/** The most characters of a property of an error that are sent. */
const MAX_TEXT = 2000

/**
 * @param {any} err
 * @returns {object}
 */
function propertiesOf (err) {
  /** @type {Record<string, unknown>} */
  const properties = { code: String(err.code), message: shortened(String(err.message)) }
  for (const [name, value] of Object.entries(err)) {
    if (!(name in properties) && ['string', 'number', 'boolean'].includes(typeof value)) properties[name] = shortened(value)
  }
  if (err.cause instanceof Error) properties.cause = { code: String(/** @type {any} */ (err.cause).code), message: shortened(String(err.cause.message)) }
  return properties
}

/** @param {unknown} value */
function shortened (value) {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : value
}

/** @param {any} properties */
function errorOf ({ message, cause, ...rest }) {
  return errors.fromOwner(message, isError(cause) ? errors.fromOwner(cause.message, undefined, { code: cause.code }) : undefined, rest)
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
 * @param {Buffer} bytes the frame, with its records behind that
 * @param {number} size of the frame
 * @param {AppendHeader} header
 */
function writeAppendHeader (bytes, size, { first, count, answered, flags, after }) {
  let at = bytes.writeUInt32LE(size - LENGTH_SIZE, 0)
  at = bytes.writeUInt8(APPEND, at)
  at = writeU64(bytes, first, at)
  at = bytes.writeUInt32LE(count, at)
  at = writeU64(bytes, answered, at)
  at = bytes.writeUInt8(flags, at)
  if (after !== null) writeU64(bytes, after + 1, at)
}

/**
 * @param {Buffer} body
 * @returns {AppendHeader & { records: Buffer }}
 */
function decodeAppend (body) {
  const isConditional = (body[APPEND_SIZE - HEADER_SIZE - 1] & CONDITIONAL) !== 0
  const size = APPEND_SIZE - HEADER_SIZE + (isConditional ? CONDITION_SIZE : 0)
  if (body.length < size) throw errors.protocol(`an APPEND has a body of ${body.length} bytes; it should have ${size} or more`)
  return {
    first: readU64(body, 0),
    count: body.readUInt32LE(8),
    answered: readU64(body, 12),
    flags: body[20],
    after: isConditional ? readU64(body, 21) - 1 : null,
    records: body.subarray(size)
  }
}

/**
 * @param {number} size of an APPEND, in bytes
 * @returns {number} bytes of the window that it takes
 */
function costOf (size) {
  return Math.min(Math.max(size, MIN_APPEND_COST), MAX_APPEND_COST)
}

module.exports = {
  VERSION,
  MAX_FRAME,
  MAX_APPEND,
  WINDOW,
  MIN_APPEND_COST,
  REQUEST_COST,
  costOf,
  LENGTH_SIZE,
  HEADER_SIZE,
  APPEND_SIZE,
  CONDITION_SIZE,
  ID_SIZE,
  HELLO,
  APPEND,
  REQUEST,
  PING,
  BYE,
  WELCOME,
  LOOK,
  ACK,
  NACK,
  REPLY,
  PONG,
  REFUSED,
  CONFLICT,
  SYNC,
  ATOMIC,
  CONDITIONAL,
  encode,
  decode,
  hello,
  writeAppendHeader
}
