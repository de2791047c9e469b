'use strict'

// What a log is opened with, checked.

const { inspect } = require('util')
const layout = require('./format/layout')
const errors = require('./errors')

const MIB = 1024 * 1024
const DEFAULT_BLOCK_SIZE = 65536

/**
 * @template [T=Buffer]
 * @typedef {object} Codec how records become bytes, as in flumecodec and level-codec
 * @property {(value: T) => Uint8Array | string} encode a string is stored as UTF-8
 * @property {(data: any) => T} decode is given a Buffer, or a string if `buffer` is false
 * @property {boolean} [buffer] default true
 */

/**
 * @template [T=Buffer]
 * @typedef {object} Options
 * @property {number} [blockSize] bytes in a block of a new file, 32 to 65536; default 65536. A file that
 *   exists is opened with the size found in it; if it contradicts the one given, that is `flumelog:block-size`
 * @property {number} [block] the same, as flumelog-aligned-offset calls it
 * @property {Codec<T>} [codec] default: records are Buffers; Uint8Arrays and strings are taken too
 * @property {(data: Buffer) => boolean} [validate] on opening, records that are not yet covered by a checksum
 *   and for which it gives false (or throws) count as torn; default: all are taken that the codec can decode
 * @property {number} [cacheSize] bytes of blocks kept in the cache; default 64 MiB; 0: none
 * @property {'always' | 'interval' | 'never'} [sync] when data is forced to the disk: before each
 *   acknowledgement, within `syncInterval` and `syncBytes` after it, or only by sync() and close(); default 'interval'
 * @property {number} [syncInterval] with 'interval': at most so many milliseconds unsynced; default 1000
 * @property {number} [syncBytes] with 'interval': at most so many bytes unsynced; default 16 MiB
 * @property {boolean} [checksum] seal blocks with a checksum, and check it when one is read; default true
 * @property {boolean | 'required'} [lock] one writer at a time, across processes; default true.
 *   'required': not to be able to lock is an error (`flumelog:no-lock`) instead of a warning
 * @property {number} [highWaterMark] bytes appended and not yet written, at which `overflow` sets in and a sink
 *   waits; default 16 MiB; can be changed while the log is open
 * @property {'queue' | 'reject'} [overflow] what becomes of an append past the mark: it is taken all the same, or gets
 *   `flumelog:overflow` and is not stored; default 'queue'; can be changed while the log is open
 * @property {boolean} [blocking] small reads and writes are made by calls that block, while these are quick, which
 *   spares them a trip to the thread pool; false: the event loop never waits for the file; default true
 * @property {boolean} [readOnly] no lock, no writing, no repair; follows a log that another process writes; default false
 */

/**
 * @typedef {object} Settings options with their defaults
 * @property {number | undefined} blockSize
 * @property {Codec<any>} codec
 * @property {((data: Buffer) => boolean) | undefined} validate
 * @property {number} cacheSize
 * @property {'always' | 'interval' | 'never'} sync
 * @property {number} syncInterval
 * @property {number} syncBytes
 * @property {boolean} checksum
 * @property {boolean | 'required'} lock
 * @property {number} highWaterMark
 * @property {'queue' | 'reject'} overflow
 * @property {boolean} blocking
 * @property {boolean} readOnly
 */

/** Where the options name none. @type {Codec<any>} */
const IDENTITY = { encode: value => value, decode: data => data, buffer: true }

/**
 * @param {Options<any>} options
 * @returns {Settings}
 * @throws flumelog:invalid
 */
function settingsOf (options) {
  if (options === null || typeof options !== 'object') {
    throw errors.invalid(`options must be an object; they are ${format(options)}`)
  }
  const blockSize = options.blockSize ?? options.block
  if (blockSize !== undefined) {
    mustBeInteger('blockSize', blockSize, layout.MIN_BLOCK_SIZE, layout.MAX_BLOCK_SIZE)
  }
  const codec = options.codec ?? IDENTITY
  if (typeof codec !== 'object' || typeof codec.encode !== 'function' || typeof codec.decode !== 'function') {
    throw errors.invalid('codec must be an object with the functions encode and decode')
  }
  if (options.validate !== undefined && typeof options.validate !== 'function') {
    throw errors.invalid(`validate must be a function; it is ${format(options.validate)}`)
  }
  const cacheSize = options.cacheSize ?? 64 * MIB
  mustBeInteger('cacheSize', cacheSize, 0, Number.MAX_SAFE_INTEGER)
  const sync = options.sync ?? 'interval'
  if (!['always', 'interval', 'never'].includes(sync)) {
    throw errors.invalid(`sync must be 'always', 'interval' or 'never'; it is ${format(sync)}`)
  }
  const syncInterval = options.syncInterval ?? 1000
  mustBeInteger('syncInterval', syncInterval, 0, 2 ** 31 - 1)
  const syncBytes = options.syncBytes ?? 16 * MIB
  mustBeInteger('syncBytes', syncBytes, 1, Number.MAX_SAFE_INTEGER)
  const checksum = mustBeBoolean('checksum', options.checksum ?? true)
  const blocking = mustBeBoolean('blocking', options.blocking ?? true)
  const readOnly = mustBeBoolean('readOnly', options.readOnly ?? false)
  const lock = options.lock === 'required' ? 'required' : mustBeBoolean('lock', options.lock ?? true)
  const highWaterMark = checkHighWaterMark(options.highWaterMark ?? 16 * MIB)
  const overflow = checkOverflow(options.overflow ?? 'queue')
  return { blockSize, codec, validate: options.validate, cacheSize, sync, syncInterval, syncBytes, checksum, lock, highWaterMark, overflow, blocking, readOnly }
}

/**
 * @param {unknown} value
 * @returns {number}
 */
function checkHighWaterMark (value) {
  mustBeInteger('highWaterMark', value, 1, Number.MAX_SAFE_INTEGER)
  return Number(value)
}

/**
 * @param {unknown} value
 * @returns {'queue' | 'reject'}
 */
function checkOverflow (value) {
  if (value === 'queue' || value === 'reject') return value
  throw errors.invalid(`overflow must be 'queue' or 'reject'; it is ${format(value)}`)
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} least
 * @param {number} most
 */
function mustBeInteger (name, value, least, most) {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return
  throw errors.invalid(`${name} must be an integer from ${least} to ${most}; it is ${format(value)}`)
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {boolean}
 */
function mustBeBoolean (name, value) {
  if (typeof value === 'boolean') return value
  throw errors.invalid(`${name} must be true or false; it is ${format(value)}`)
}

/**
 * @param {unknown} value
 * @returns {string} as it may stand in a message
 */
function format (value) {
  return inspect(value, { depth: 0, breakLength: Infinity, maxStringLength: 80 })
}

module.exports = { settingsOf, checkHighWaterMark, checkOverflow, format, DEFAULT_BLOCK_SIZE, IDENTITY }
