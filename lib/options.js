'use strict'

// The options of a log: defaults and validation.

const chunk = require('./format/chunk')
const layout = require('./format/layout')
const errors = require('./errors')
const { format } = require('./format-value')
const { optionNames } = require('./option-names')
const { retainOf } = require('./space/retain-options')

const MIB = 1024 * 1024
const DEFAULT_BLOCK_SIZE = 65536

/**
 * @template [T=Buffer]
 * @typedef {object} Codec converts records to bytes and back, as in flumecodec and level-codec
 * @property {(value: T) => Uint8Array | string} encode may return a string, which is stored as UTF-8
 * @property {(data: any) => T} decode gets a Buffer, or a string if `buffer` is false or this is `JSON.parse`
 * @property {boolean} [buffer] false: records are decoded from text, which takes less time than a Buffer if `decode` needs
 *   text anyway; default true
 */

/**
 * @template [T=Buffer]
 * @typedef {object} Options
 * @property {number} [blockSize] bytes per block of a new file, 32 to 65536; default 65536. For an existing file
 *   its own block size is used; `flumelog:block-size` if that is not the one given
 * @property {number} [block] alias of `blockSize`, as in flumelog-aligned-offset
 * @property {Codec<T> | 'json'} [codec] `'json'`: records are values of JSON. Default: records are Buffers; Uint8Arrays and strings can be
 *   appended too
 * @property {(data: Buffer) => boolean} [validate] called by recovery for records that no checksum covers yet; those for
 *   which it returns false (or throws) count as torn; default: whether the codec can decode them
 * @property {number} [cacheSize] maximum bytes of blocks in the cache; default 64 MiB; 0: no cache
 * @property {'always' | 'interval' | 'never'} [sync] when to fsync: before every callback, within
 *   `syncInterval` and `syncBytes`, or only in sync() and close(); default 'interval'
 * @property {number} [syncInterval] with 'interval': milliseconds until acknowledged data is fsynced; default 1000
 * @property {number} [syncBytes] with 'interval': maximum bytes that are acknowledged and not fsynced; default 16 MiB
 * @property {boolean} [checksum] write a checksum into every full block, and verify it on reading; default true
 * @property {boolean | 'required'} [lock] allow only one writer at a time, across processes; default true.
 *   'required': fail with `flumelog:no-lock` where files cannot be locked, instead of a warning
 * @property {number} [highWaterMark] limit on the bytes in flight (appended, not yet acknowledged) of each sink, beyond which it waits;
 *   default 16 MiB; can be changed while the log is open
 * @property {boolean} [blocking] small reads and writes use synchronous I/O while it stays fast; false: the event
 *   loop never waits for the file; default true
 * @property {boolean} [shared] let several processes append: the first one owns the file, the others send it what they append; default false.
 *   See docs/processes.md
 * @property {number} [timeout] with `shared`: milliseconds that the owner may be silent before calls get `flumelog:unreachable`; default 10000
 * @property {import('./space/retain-options').RetainOptions} [retain] trim blocks at the head of the log, as `trim` does, as far as these limits
 *   allow; with `shared`, those of the owner count; default: everything stays
 * @property {boolean} [large] store records that do not fit into a block, of up to 256 MiB, in chunks, and read them as they were appended;
 *   without it, readers see the chunks. Can be switched on at any time; default false
 * @property {boolean} [readOnly] read without a lock and without recovery, following a log that another process writes; default false
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
 * @property {boolean} blocking
 * @property {boolean} shared
 * @property {number} timeout
 * @property {import('./space/retain-options').RetainOptions | null} retain
 * @property {boolean} large
 * @property {boolean} readOnly
 * @property {number} [sequentialShare] see `BlockCache`; no option of callers
 * @property {boolean} [holes] false: a block of which all records are deleted does not become a hole, so each of them can be found; no option of callers
 */

/** @type {Codec<any>} */
const JSON_CODEC = { encode: JSON.stringify, decode: JSON.parse, buffer: false }
/** The default codec. @type {Codec<any>} */
const IDENTITY = { encode: value => value, decode: data => data, buffer: true }

const checkNames = optionNames('the log', [
  'blockSize', 'block', 'codec', 'validate', 'cacheSize', 'sync', 'syncInterval', 'syncBytes', 'checksum', 'lock', 'highWaterMark',
  'blocking', 'shared', 'timeout', 'retain', 'large', 'readOnly'
])

/**
 * @param {Codec<any> | 'json' | undefined} given
 * @returns {Codec<any>}
 * @throws flumelog:invalid
 */
function codecOf (given) {
  const codec = given === 'json' ? JSON_CODEC : given ?? IDENTITY
  if (typeof codec !== 'object' || typeof codec.encode !== 'function' || typeof codec.decode !== 'function') {
    throw errors.invalid(`codec must be 'json', or an object with the functions encode and decode; it is ${format(codec)}`)
  }
  return codec
}

/**
 * @param {Options<any>} options
 * @returns {Settings}
 * @throws flumelog:invalid
 */
function settingsOf (options) {
  checkNames(options)
  const blockSize = options.blockSize ?? options.block
  if (options.block !== undefined && options.block !== blockSize) {
    throw errors.invalid(`blockSize and block are the same option; they are ${format(blockSize)} and ${format(options.block)}`)
  }
  if (blockSize !== undefined) {
    mustBeInteger('blockSize', blockSize, layout.MIN_BLOCK_SIZE, layout.MAX_BLOCK_SIZE)
  }
  const codec = codecOf(options.codec)
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
  const large = mustBeBoolean('large', options.large ?? false)
  if (large && blockSize !== undefined) mustSplit(blockSize)
  const readOnly = mustBeBoolean('readOnly', options.readOnly ?? false)
  const shared = mustBeBoolean('shared', options.shared ?? false)
  const timeout = options.timeout ?? 10_000
  mustBeInteger('timeout', timeout, 1, 2 ** 31 - 1)
  const lock = options.lock ?? true
  if (![true, false, 'required'].includes(lock)) throw errors.invalid(`lock must be true, false or 'required'; it is ${format(lock)}`)
  if (shared && readOnly) throw errors.invalid('shared and readOnly cannot be combined: a log that is only read needs no owner')
  if (shared && !lock) throw errors.invalid('shared requires the lock, which decides which process writes; lock is false')
  const highWaterMark = checkHighWaterMark(options.highWaterMark ?? 16 * MIB)
  const retain = retainOf(options.retain)
  return { blockSize, codec, validate: options.validate, cacheSize, sync, syncInterval, syncBytes, checksum, lock, highWaterMark, blocking, shared, timeout, retain, large, readOnly }
}

/**
 * @param {number} blockSize
 * @throws flumelog:invalid if a block is too small for a part of a large record
 */
function mustSplit (blockSize) {
  if (blockSize < chunk.MIN_BLOCK_SIZE) throw errors.invalid(`large requires a blockSize of ${chunk.MIN_BLOCK_SIZE} or more; it is ${blockSize}`)
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

module.exports = { settingsOf, checkHighWaterMark, mustBeBoolean, DEFAULT_BLOCK_SIZE, IDENTITY }
