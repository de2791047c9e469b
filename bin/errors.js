'use strict'

// Error messages for the user: one line that names the file and says what to do.

const fs = require('fs')
const path = require('path')
const { counted } = require('./numbers')
const { escapeControls, paint } = require('./style')

/** @typedef {Error & { code?: string, path?: string, syscall?: string }} CodedError */

/** An error whose message is complete: it names the file, and is printed as it is. */
class UserError extends Error {}

/** Advice for a corrupt block. */
const VERIFY = 'flumelog verify to list all corrupt blocks'

/** By error code of the operating system. @type {Record<string, string>} */
const SYSTEM_ERRORS = {
  ENOENT: 'no such file; check the name',
  ENOTDIR: 'a part of this path is not a directory; check the name',
  EEXIST: 'a part of this path is not a directory; check the name',
  EISDIR: 'is a directory; give the name of a file',
  EACCES: 'permission denied; ask the owner of the file, or use another account',
  EPERM: 'permission denied; ask the owner of the file, or use another account',
  EROFS: 'the file system is read-only; copy the log elsewhere',
  ENOSPC: 'the disk is full; free some space and try again',
  EDQUOT: 'disk quota exceeded; free some space and try again',
  EFBIG: 'file size limit exceeded; see `ulimit -f`',
  EMFILE: 'too many open files; see `ulimit -n`',
  EIO: 'I/O error (EIO); copy what can still be read, and check the disk'
}

/**
 * @param {unknown} err
 * @param {string} file the log concerned
 * @returns {string}
 */
function explain (err, file) {
  const { code = '', message, path, syscall } = /** @type {CodedError} */ (err instanceof Error ? err : new Error(String(err)))
  if (err instanceof UserError) return message
  // not a backup, a cursor, or a file that is being written
  if (code === 'flumelog:locked' && / has the log (open|locked)/.test(message)) return `${file}: another program has this log open for writing and does not share it; close it there first, or open it there with \`shared: true\` (flumelog append: --shared)`
  if (code === 'flumelog:block-size') return `${message.replace('blockSize is', '--block-size is')}; omit --block-size for an existing log`
  if (code === 'flumelog:trimmed') return message.replace(' (openOffsetMap finds it)', '; flumelog dump --seqs lists the offsets')
  if (code.startsWith('flumelog:')) return message
  // an error of the log with a code of the system; its message names the file
  if (path !== undefined && syscall === undefined) return message
  return `${failedFile(err, file)}: ${SYSTEM_ERRORS[code] ?? message}`
}

/**
 * @param {any} err
 * @param {string} file
 * @returns {string} the file that an operation of the system failed for: the log, or one beside it
 */
function failedFile ({ path: failed }, file) {
  return typeof failed === 'string' && failed.startsWith(`${realPath(file)}.`) ? failed : file
}

/** @param {string} file */
function realPath (file) {
  try {
    return fs.realpathSync(file)
  } catch {
    return path.resolve(file)
  }
}

/** @param {unknown} err */
function codeOf (err) {
  return /** @type {CodedError} */ (err).code
}

/**
 * Adds advice to errors with one code.
 * @param {unknown} err
 * @param {string} code
 * @param {string} advice what to do about it
 * @returns {unknown}
 */
function advise (err, code, advice) {
  return err instanceof Error && codeOf(err) === code ? new UserError(`${err.message}; ${advice}`) : err
}

/**
 * Prints an error to stderr, in one line.
 * @param {string} message
 */
function reportError (message) {
  process.stderr.write(`${paint(process.stderr, 'red', 'flumelog:')} ${escapeControls(oneLine(message))}\n`)
}

/**
 * @param {string} line for stderr; names of files can contain anything
 */
function writeStderr (line) {
  process.stderr.write(escapeControls(line) + '\n')
}

/**
 * @param {string} file
 * @param {import('../lib/log').Cut} cut
 */
function reportRecovery (file, { offset, bytes, filename }) {
  writeStderr(`${file}: recovered: truncated ${counted(bytes, 'byte')} of a torn write at offset ${offset}` +
    (filename === null ? '' : `, kept in ${filename}`))
}

/** @param {string} text */
function oneLine (text) {
  return text.trim().replace(/\s*\n\s*/g, ' ')
}

module.exports = { UserError, realPath, VERIFY, explain, codeOf, advise, reportError, reportRecovery, writeStderr, oneLine }
