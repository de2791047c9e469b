'use strict'

// All errors of the log. Each has a `code` that programs test, and a message with the file,
// the offset, what was found and what would be right. Errors of the operating system
// (ENOSPC, EIO, ENOENT) pass through unchanged.

/**
 * The codes of the log's own errors; docs/api.md says when each occurs.
 * @typedef {'flumelog:deleted' | 'flumelog:trimmed' | 'flumelog:not-found' | 'flumelog:invalid' | 'flumelog:too-large' | 'flumelog:corrupt' |
 *   'flumelog:not-a-log' | 'flumelog:block-size' | 'flumelog:locked' | 'flumelog:unreachable' | 'flumelog:no-lock' |
 *   'flumelog:read-only' | 'flumelog:conflict' | 'flumelog:replaced' | 'flumelog:failed' | 'flumelog:protocol' |
 *   'flumelog:closed' | 'flumelog:compacted' | 'flumelog:server'} ErrorCode
 * @typedef {`E${string}`} SystemErrorCode such as 'ENOSPC'
 */

/**
 * @typedef {object} LogErrorDetails
 * @property {ErrorCode} code what went wrong
 * @property {string | null} [filename] the log's
 * @property {number} [offset] where in the file, in bytes; the seq of a record
 * @property {number} [block] the number of the corrupt block, from 0
 * @property {number} [index] of the record that cannot be stored, in the array of several that was to be appended
 * @property {number} [blockSize] in bytes; with `flumelog:block-size`, that of the file
 * @property {string} [reason] with `flumelog:corrupt`, of a block: what was found, and what was expected
 * @property {number} [start] with `flumelog:trimmed`: where the log starts, in bytes
 * @property {number} [after] with `flumelog:conflict`: the option, as it was given
 * @property {number} [seq] with `flumelog:conflict`: that of the log's last record, -1 if there is none
 *
 * @typedef {object} SystemErrorDetails
 * @property {SystemErrorCode} [code] such as 'ENOSPC'; missing if what threw was a function of the caller's
 * @property {number} [errno] the operating system's number for it
 * @property {string} [syscall] the system call that failed
 * @property {string} [path] the file it was called for
 */

/**
 * @typedef {Error & LogErrorDetails} LogError an error of the log itself
 * @typedef {Error & SystemErrorDetails} SystemError an error passed on unchanged: of the operating system, of a codec, or of
 *   another function of the caller's
 * @typedef {LogError | SystemError} CallbackError what callbacks and rejections give; test `code` to tell which it is
 */

/**
 * @template {ErrorCode | SystemErrorCode} C
 * @param {C} code
 * @param {string} message
 * @param {object} [details] further properties of the error
 * @returns {C extends ErrorCode ? LogError : SystemError}
 */
function createError (code, message, details) {
  return Object.assign(/** @type {any} */ (new Error(message)), { code }, details)
}

exports.createError = createError

/** What has a file locked. */
const HOLDER = 'another process, or another log object of this one,'

/**
 * @param {string} filename
 * @param {number} seq
 */
exports.deleted = (filename, seq) => createError('flumelog:deleted',
  `${filename}: the record at offset ${seq} has been deleted`, { filename, offset: seq })

/**
 * @param {string} filename
 * @param {number} offset
 * @param {number} start of the log
 * @param {number} [base] the log has been compacted, and no record since is before this
 */
exports.trimmed = (filename, offset, start, base = 0) => createError('flumelog:trimmed',
  `${filename}: offset ${offset} is before the log's start at ${start}: what was there was trimmed` +
    (offset < base ? ', or has moved in a compaction (openOffsetMap finds it)' : ''),
  { filename, offset, start })

/**
 * @param {string} filename
 * @param {number} seq
 * @param {string} message which record there is not
 */
exports.notFound = (filename, seq, message) => createError('flumelog:not-found',
  `${filename}: ${message}`, { filename, offset: seq })

/**
 * @param {string} filename
 * @param {string} message why a value cannot be a record
 * @param {unknown} [cause]
 */
exports.refusedRecord = (filename, message, cause) => createError('flumelog:invalid', `${filename}: ${message}`,
  cause === undefined ? { filename } : { filename, cause })

/**
 * @param {any} err that says why a record cannot be stored
 * @param {number} index of the record in the array that was to be appended
 * @param {number} length of the array
 * @returns {unknown} the same, which also says that of an array of several
 */
exports.refusedArray = (err, index, length) => length === 1
  ? err
  : Object.assign(err, { message: `${err.message}; this is record ${index} of the array (counted from 0), of which nothing was stored`, index })

/**
 * @param {string} filename
 * @param {number} seq
 */
exports.noRecordStarts = (filename, seq) => exports.notFound(filename, seq, `no record starts at offset ${seq}`)

/**
 * @param {string} filename
 * @param {number} seq
 */
exports.startsPart = (filename, seq) => exports.notFound(filename, seq, `no record starts at offset ${seq}, only a chunk of a large one`)

/** @param {string} filename */
exports.noMatch = (filename) => createError('flumelog:not-found',
  `${filename}: no record matches the search`, { filename })

/**
 * @param {string} message what was given, and what is valid
 * @param {unknown} [cause]
 */
exports.invalid = (message, cause) => createError('flumelog:invalid', message,
  cause === undefined ? undefined : { cause })

/** @param {string} filename */
exports.compacted = (filename) => createError('flumelog:compacted',
  `${filename}: the log has been compacted, so its records have new offsets; start again`, { filename })

/**
 * @param {unknown} err
 * @returns {boolean} whether it is the system's, for a disk that is full, or for a user's part of it
 */
exports.isNoRoom = (err) => ['ENOSPC', 'EDQUOT'].includes(String(/** @type {NodeJS.ErrnoException} */ (err).code))

/**
 * @param {string} filename
 * @param {number} length in bytes
 * @param {number} most in bytes
 * @param {number} blockSize in bytes
 */
exports.tooLarge = (filename, length, most, blockSize) => createError('flumelog:too-large',
  `${filename}: a record of ${length} bytes is too large: the maximum is ${most} bytes, with blocks of ${blockSize}; use the option large for larger ones`,
  { filename, length, most, blockSize })

/**
 * @param {string} filename
 * @param {number} length in bytes
 * @param {number} most in bytes
 * @param {number} blockSize in bytes
 */
exports.tooLargeToSplit = (filename, length, most, blockSize) => createError('flumelog:too-large',
  `${filename}: a record of ${length} bytes is too large: the maximum is ${most} bytes, with the option large and blocks of ${blockSize}`,
  { filename, length, most, blockSize })

/**
 * @param {string} filename
 * @param {number} length in bytes, with the framing between records
 * @param {number} most in bytes
 * @param {number} blockSize in bytes
 */
exports.tooLargeTogether = (filename, length, most, blockSize) => createError('flumelog:too-large',
  `${filename}: an atomic batch of ${length} bytes is too large for one block: the maximum is ${most} bytes, with blocks of ${blockSize}`,
  { filename, length, most, blockSize })

/**
 * @param {string} filename
 * @param {number} length in bytes
 * @param {number} most in bytes
 */
exports.tooLargeToSend = (filename, length, most) => createError('flumelog:too-large',
  `${filename}: a conditional append of ${length} bytes is too large for a client: the maximum is ${most} bytes`, { filename, length, most })

/**
 * @param {string} filename
 * @param {number} block the block's number, from 0
 * @param {number} blockSize in bytes
 * @param {number} position where in the block, in bytes
 * @param {string} reason what was found and what was expected
 * @param {unknown} [cause]
 */
exports.corrupt = (filename, block, blockSize, position, reason, cause) => createError('flumelog:corrupt',
  `${filename}: block ${block} is corrupt at offset ${block * blockSize + position}: ${reason}`,
  { filename, block, blockSize, offset: block * blockSize + position, reason, ...(cause === undefined ? {} : { cause }) })

/**
 * @param {string} filename
 * @param {number} offset of a record
 */
exports.wrongCodec = (filename, offset) => createError('flumelog:invalid',
  `${filename}: the codec, or \`validate\`, refuses the record at offset ${offset}, though it is whole; nothing was truncated: ` +
  'open the log with the codec that it was written with (flumelog dump shows its records, flumelog repair keeps all of them)', { filename, offset })

/**
 * @param {string} filename
 * @param {number} seq of a large record
 * @param {string} reason what was found and what was expected
 */
exports.corruptLarge = (filename, seq, reason) => createError('flumelog:corrupt',
  `${filename}: the large record at offset ${seq} is corrupt: ${reason}`, { filename, offset: seq })

/**
 * @param {string} filename of a backup
 * @param {import('./maintenance/ranges').Range} range of it
 */
exports.corruptBackup = (filename, { start, offset, reason }) => createError('flumelog:corrupt',
  `${filename}: the backup is corrupt at offset ${offset}: ${reason}; nothing was restored (flumelog verify lists what is corrupt, flumelog repair makes a valid log of the rest)`,
  { filename, offset: start })

/**
 * @param {string} filename of the map that a compaction has left
 * @param {number} page number
 */
exports.corruptMap = (filename, page) => createError('flumelog:corrupt',
  `${filename}: page ${page} is corrupt; the log itself is not affected`, { filename })

/**
 * @param {string} filename of FILE.meta
 * @param {number} offset of the line in it
 */
exports.corruptMetadata = (filename, offset) => createError('flumelog:corrupt',
  `${filename}: the line at offset ${offset} is corrupt; restore a backup, or move this file away to open the log without its id and the deletions listed here`, { filename, offset })

/** @param {string} filename of the map of a compaction, or of an import */
exports.mapClosed = (filename) => createError('flumelog:closed', `${filename}: the map is closed`, { filename })

/** @param {string} filename of a copy that was just written */
exports.copyDiffers = (filename) => createError('flumelog:corrupt',
  `${filename}: the copy differs from what was written when read back; check the disk`, { filename })

/** @param {string} filename that is to be created */
exports.exists = (filename) => createError('EEXIST',
  `${filename}: the file exists already; choose another name, or remove it`, { filename, path: filename })

/**
 * @param {string} filename
 * @param {string} log that has a file of this name, or can have one
 */
exports.sideFile = (filename, log) => createError('flumelog:invalid',
  `${filename}: this name is for a file beside the log ${log}, which would replace or remove it; choose another name, or open it with readOnly`, { filename })

/** @param {string} filename that is to be written */
exports.isDirectory = (filename) => createError('EISDIR', `${filename}: is a directory; give the name of a file`, { filename, path: filename })

/** @param {string} filename of a backup */
exports.backupInUse = (filename) => createError('flumelog:locked',
  `${filename}: another program has this backup open for writing; wait until it is done`, { filename })

/** @param {string} filename of a log under a temporary name */
exports.beingWritten = (filename) => createError('flumelog:locked',
  `${filename}: another program is writing it; wait until it is done`, { filename })

/** @param {string} filename of what is to be restored */
exports.notClosed = (filename) => createError('flumelog:locked',
  `${filename}: another program has it open for writing, so it is not a backup; close it there first, or use backup to copy an open log`, { filename })

/**
 * @param {string} filename of what should be a backup
 * @param {string | null} log
 * @param {string} reason what is different
 */
exports.notABackup = (filename, log, reason) => createError('flumelog:invalid',
  `${filename}: not a backup of ${log}: ${reason}; choose another name, or replace it with \`full\``, { filename })

/**
 * @param {string} filename
 * @param {string} suffix of a file beside it
 */
exports.existsBeside = (filename, suffix) => createError('EEXIST',
  `${filename}${suffix}: this file belongs to an earlier log named ${filename}, and would corrupt a new one; choose another name, or remove it`,
  { filename, path: filename + suffix })

/**
 * @param {string} filename
 * @param {number} was its size in bytes, as far as it had been read
 * @param {number} is its size in bytes now
 */
exports.shrunk = (filename, was, is) => createError('flumelog:corrupt',
  `${filename}: the file was truncated: ${was} bytes had been read, it now has ${is}; open it again`,
  { filename, offset: is })

/**
 * @param {string} filename
 * @param {number} offset
 * @param {number} size bytes that were to be read there
 */
exports.shortRead = (filename, offset, size) => createError('EPARTIALREAD',
  `EPARTIALREAD: the file ends before ${offset + size}, read '${filename}'`, { path: filename, offset })

/**
 * @param {string} filename
 * @param {'deleted or moved' | 'replaced by another file'} how
 */
exports.replaced = (filename, how) => createError('flumelog:replaced',
  `${filename}: the file was ${how} while it was open; open it again`, { filename })

/**
 * @param {string} filename
 * @param {number} given in bytes
 * @param {string} found what the file says
 * @param {number} [blockSize] the size found, in bytes
 */
exports.blockSize = (filename, given, found, blockSize) => createError('flumelog:block-size',
  `${filename}: blockSize is ${given}, but ${found}`,
  { filename, ...(blockSize === undefined ? {} : { blockSize }) })

/** @param {string} filename */
exports.locked = (filename) => createError('flumelog:locked',
  `${filename}: another writer has the log open, in another process (fuser finds it) or in this one; close it first, open the log with readOnly, or open it with shared everywhere`, { filename })

/**
 * @param {string} filename
 * @param {string | undefined} reason
 * @param {unknown} cause
 */
exports.noLock = (filename, reason, cause) => createError('flumelog:no-lock',
  `${filename}: lock is 'required', but files cannot be locked here: ${reason}`,
  { filename, cause })

/**
 * @param {string} filename
 * @param {string} what was attempted, as a verb
 */
exports.readOnly = (filename, what) => createError('flumelog:read-only',
  `${filename}: cannot ${what}: the log was opened with readOnly`, { filename })

/**
 * @param {string} filename
 * @param {number} after which record was expected to be the last one; -1: none
 * @param {number} seq of the last record; -1: there is none
 */
exports.conflict = (filename, after, seq) => createError('flumelog:conflict',
  `${filename}: an append after ${after === -1 ? 'no record' : `the record at ${after}`} was refused: ${seq === -1 ? 'the log is empty' : `the last record is at ${seq}`}; ` +
  'read what was appended since, and decide again', { filename, after, seq })

/** @param {string} filename */
exports.closed = (filename) => createError('flumelog:closed',
  `${filename}: the log is closed`, { filename })

/**
 * @param {string} filename
 * @param {unknown} cause
 * @param {string} [call]
 */
exports.failed = (filename, cause, call = 'an fsync') => createError('flumelog:failed',
  `${filename}: ${call} failed, so it is unknown which data is durable; reopen the log to append`,
  { filename, cause })

/**
 * Turns what a function of the caller threw into an error that callbacks can be given.
 * @param {string} name of the function
 * @param {unknown} thrown
 * @returns {Error} `thrown` itself, if it is an object
 */
exports.thrown = (name, thrown) => typeof thrown === 'object' && thrown !== null
  ? /** @type {Error} */ (thrown)
  : exports.invalid(`${name} threw ${String(thrown)}, which is not an error`, thrown)

/** @param {string} filename */
exports.notRegular = (filename) => createError('flumelog:invalid', `${filename}: not a regular file, so it cannot be a log`)

/** @param {string} filename */
exports.notALog = (filename) => createError('flumelog:not-a-log', `${filename}: not a log: ` +
  'neither a valid block nor enough whole records were found; check the name, or import it if another program has written it: ' +
  `npx flumelog import ${filename} NEW, with the package flumelog-convert`, { filename })

/**
 * @param {string} filename
 * @param {number} bytes in its last part
 * @param {number} most that fit
 */
exports.nameTooLong = (filename, bytes, most) => createError('ENAMETOOLONG',
  `${filename}: the file name has ${bytes} bytes; the maximum is ${most}, since names of files beside it are longer`, { filename, path: filename })

/**
 * @param {string} filename
 * @param {number} timeout in milliseconds
 * @param {unknown} cause
 */
exports.unreachable = (filename, timeout, cause) => createError('flumelog:unreachable',
  `${filename}: ${cause === undefined
    ? `the process that owns the log has not answered for ${timeout} ms`
    : `no process has owned the log for ${timeout} ms, and this one cannot: ${/** @type {Error} */ (cause).message}`
  }; it is unknown whether the call has taken effect, and it is not repeated`,
  { filename, ...(cause === undefined ? {} : { cause }) })

/** @param {string} filename */
exports.forgotten = (filename) => createError('flumelog:unreachable',
  `${filename}: the process that owned the log is gone, and its successor cannot tell whether the call has taken effect; it is not repeated`, { filename })

/**
 * @param {string} filename
 * @param {number} timeout in milliseconds
 */
exports.lockedUnshared = (filename, timeout) => createError('flumelog:locked',
  `${filename}: ${HOLDER} has the log locked and has not answered for ${timeout} ms; it may have opened the log without shared`, { filename })

/**
 * @param {string} filename
 * @param {Error} cause of Deno; its message names the permission that is missing, and how to give it
 */
exports.notAllowed = (filename, cause) => createError('ERR_ACCESS_DENIED', `${filename}: ${cause.message}`, { filename, path: filename, cause })

/**
 * @param {string} filename
 * @param {string | undefined} reason
 */
exports.cannotShare = (filename, reason) => createError('flumelog:no-lock',
  `${filename}: a log cannot be shared here, since files cannot be locked: ${reason}`, { filename })

/**
 * @param {string} filename
 * @param {boolean} checksum of the owner
 */
exports.otherChecksum = (filename, checksum) => createError('flumelog:invalid',
  `${filename}: checksum is ${!checksum}, but the process that owns the log has opened it with ${checksum}; it must be the same in all processes`, { filename })

/**
 * @param {string} message what was received, and what would be right
 * @param {unknown} [cause]
 */
exports.protocol = (message, cause) => createError('flumelog:protocol', message, cause === undefined ? undefined : { cause })

/**
 * An error that happened in the process that owns the log.
 * @param {string} message
 * @param {unknown} cause
 * @param {Record<string, unknown>} properties `code` among them
 */
exports.fromOwner = (message, cause, { code, ...details }) => createError(/** @type {ErrorCode} */ (String(code)), message, cause ? { ...details, cause } : details)

/**
 * @param {string} filename of a socket
 * @param {string} folder for temporary files
 */
exports.socketPathTooLong = (filename, folder) => createError('ENAMETOOLONG',
  `${filename}: the path is too long for a socket, and so is that of a link to it in ${folder}; set TMPDIR to a shorter path`, { filename, path: filename })

/** @param {string} filename of a file where a socket is to be placed */
exports.socketInTheWay = (filename) => createError('EEXIST',
  `${filename}: a file is where the socket of the shared log belongs; move it, or rename the log`, { filename, path: filename })

/**
 * @param {string} filename of a cursor
 * @param {string} name the cursor's
 */
exports.cursorLocked = (filename, name) => createError('flumelog:locked',
  `${filename}: ${HOLDER} holds the cursor '${name}'; close it there first, or use a cursor of another name`, { filename })

/**
 * @param {string} filename of a cursor
 * @param {string} name the cursor's
 */
exports.corruptCursor = (filename, name) => createError('flumelog:corrupt',
  `${filename}: the file of the cursor '${name}' is corrupt: neither of its lines has a valid checksum; restore it, or delete it to start again`, { filename })

/**
 * @param {string} filename of a cursor
 * @param {string} name the caller's
 * @param {string} other the file's
 */
exports.otherCase = (filename, name, other) => createError('flumelog:invalid',
  `${filename}: the file belongs to the cursor '${other}': this file system does not distinguish '${name}' from it; use '${other}', or another name`, { filename })

/**
 * @param {string} filename of a cursor
 * @param {string} name the cursor's
 */
exports.cursorClosed = (filename, name) => createError('flumelog:closed', `${filename}: the cursor '${name}' is closed`, { filename })

/**
 * @param {string} filename of a cursor
 * @param {string} name the cursor's
 * @param {number} seq where it is
 * @param {string} reason why its record is not there
 */
exports.cursorOutside = (filename, name, seq, reason) => createError('flumelog:invalid',
  `${filename}: the record of the cursor '${name}' at offset ${seq} is missing: ${reason}; the log was replaced or restored from a backup; ` +
  'commit another position with rewind: true, or delete the cursor to start again', { filename, offset: seq })

/**
 * @param {any} err that `validate` has thrown
 * @returns {boolean} whether it ends the opening, and nothing is recovered; another one says that the record is torn
 */
exports.isValidateError = (err) => err?.isValidateError === true
