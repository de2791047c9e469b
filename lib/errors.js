'use strict'

// Every error the log can give. Each has a `code` that programs test and a
// message that says which file, which offset, what was found and what would be
// right. Errors of the operating system (ENOSPC, EIO, ENOENT) pass through as
// they are.

/**
 * @typedef {Error & {
 *   code: string,
 *   filename?: string | null,
 *   offset?: number,
 *   block?: number,
 *   blockSize?: number
 * }} LogError
 */

/**
 * @param {string} code
 * @param {string} message
 * @param {object} [details] further properties of the error
 * @returns {LogError}
 */
function createError (code, message, details) {
  const err = /** @type {LogError} */ (new Error(message))
  err.code = code
  return Object.assign(err, details)
}

/** How a file without a name (a storage that was given ready-made) is called in messages. */
const nameOf = (/** @type {string | null} */ filename) => filename === null ? 'the log' : filename

/**
 * @param {string | null} filename
 * @param {number} seq
 */
exports.deleted = (filename, seq) => createError('flumelog:deleted',
  `${nameOf(filename)}: the record at offset ${seq} has been deleted`, { filename, offset: seq })

/**
 * @param {string | null} filename
 * @param {number} seq
 * @param {string} why
 */
exports.notFound = (filename, seq, why) => createError('flumelog:not-found',
  `${nameOf(filename)}: no record at offset ${seq}: ${why}`, { filename, offset: seq })

/** @param {string | null} filename */
exports.noMatch = (filename) => createError('flumelog:not-found',
  `${nameOf(filename)}: no record is at or after what was searched for`, { filename })

/**
 * @param {string} message what was given, and what would be right
 * @param {unknown} [cause]
 */
exports.invalid = (message, cause) => createError('flumelog:invalid', message,
  cause === undefined ? undefined : { cause })

/**
 * @param {number} length in bytes
 * @param {number} most in bytes
 * @param {number} blockSize in bytes
 */
exports.tooLarge = (length, most, blockSize) => createError('flumelog:too-large',
  `a record of ${length} bytes does not fit: with blocks of ${blockSize} bytes a record has at most ${most}`,
  { length, most, blockSize })

/**
 * @param {number} length in bytes, with the framing between records
 * @param {number} most in bytes
 * @param {number} blockSize in bytes
 */
exports.tooLargeTogether = (length, most, blockSize) => createError('flumelog:too-large',
  `an atomic batch of ${length} bytes does not fit: it goes into one block, and with blocks of ${blockSize} bytes that has room for ${most}`,
  { length, most, blockSize })

/**
 * @param {string | null} filename
 * @param {number} block the block's number, from 0
 * @param {number} blockSize in bytes
 * @param {number} position where in the block, in bytes
 * @param {string} reason what was found and what was expected
 * @param {unknown} [cause]
 */
exports.corrupt = (filename, block, blockSize, position, reason, cause) => createError('flumelog:corrupt',
  `${nameOf(filename)}: block ${block} is damaged at offset ${block * blockSize + position}: ${reason}`,
  { filename, block, blockSize, offset: block * blockSize + position, ...(cause === undefined ? {} : { cause }) })

/**
 * @param {string | null} filename
 * @param {number} was size in bytes up to which it had been read
 * @param {number} is size in bytes now
 */
exports.shrunk = (filename, was, is) => createError('flumelog:corrupt',
  `${nameOf(filename)}: the file became shorter: ${was} bytes had been read of it, it now has ${is}; open it again`,
  { filename, offset: is })

/**
 * @param {string | null} filename
 * @param {'deleted or moved' | 'replaced by another file'} how
 */
exports.replaced = (filename, how) => createError('flumelog:replaced',
  `${nameOf(filename)}: the file was ${how} while it was open; open it again`, { filename })

/**
 * @param {string | null} filename
 * @param {number} given in bytes
 * @param {string} found what the file says
 * @param {number} [blockSize] the size found, in bytes
 */
exports.blockSize = (filename, given, found, blockSize) => createError('flumelog:block-size',
  `${nameOf(filename)}: blockSize ${given} was asked for, but ${found}`,
  { filename, ...(blockSize === undefined ? {} : { blockSize }) })

/** @param {string | null} filename */
exports.locked = (filename) => createError('flumelog:locked',
  `${nameOf(filename)}: another writer has this log open; close it first, or open with readOnly`, { filename })

/**
 * @param {string | null} filename
 * @param {unknown} cause
 */
exports.noLock = (filename, cause) => createError('flumelog:no-lock',
  `${nameOf(filename)}: lock 'required' was asked for, but the optional package fs-native-extensions, which locks files, cannot be loaded here`,
  { filename, cause })

/**
 * @param {string | null} filename
 * @param {string} what the call that was refused
 */
exports.readOnly = (filename, what) => createError('flumelog:read-only',
  `${nameOf(filename)}: cannot ${what}: the log was opened with readOnly`, { filename })

/**
 * @param {number} bytes of the append that was refused
 * @param {number} inFlight bytes
 * @param {number} highWaterMark in bytes
 */
exports.overflow = (bytes, inFlight, highWaterMark) => createError('flumelog:overflow',
  `an append of ${bytes} bytes was refused: ${inFlight} bytes are not yet written, and highWaterMark is ${highWaterMark}; wait for onDrain, or for callbacks`,
  { bytes, inFlight, highWaterMark })

/** @param {string | null} filename */
exports.closed = (filename) => createError('flumelog:closed',
  `${nameOf(filename)}: the log is closed`, { filename })

/**
 * @param {string | null} filename
 * @param {unknown} cause
 */
exports.failed = (filename, cause) => createError('flumelog:failed',
  `${nameOf(filename)}: forcing data to the disk failed, so what the disk holds is unknown; open the log again to append`,
  { filename, cause })

/**
 * What a function of the caller's threw, as an error that callbacks can be given.
 * @param {string} name of the function
 * @param {unknown} thrown
 * @returns {Error} as it was thrown, if it is an object
 */
exports.thrown = (name, thrown) => typeof thrown === 'object' && thrown !== null
  ? /** @type {Error} */ (thrown)
  : exports.invalid(`${name} threw ${String(thrown)}, which is not an error`, thrown)

/** @param {string} filename */
exports.notRegular = (filename) => createError('flumelog:invalid', `${filename}: not a regular file, so it cannot be a log`)

/** @param {string | null} filename */
exports.notALog = (filename) => createError('flumelog:not-a-log',
  `${nameOf(filename)}: not a log: it does not start with a record; check the name`, { filename })

/**
 * @param {string} filename
 * @param {number} bytes in its last part
 * @param {number} most that fit
 */
exports.nameTooLong = (filename, bytes, most) => createError('ENAMETOOLONG',
  `${filename}: the file name has ${bytes} bytes; at most ${most} fit, since the recovery point beside it has a longer name`, { filename, path: filename })
