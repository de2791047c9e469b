'use strict'

// What the user is told when something goes wrong: one line that names the file and
// says what to do.

const { paint } = require('./style')

/** @typedef {Error & { code?: string }} CodedError */

/** An error whose message says all there is to say. */
class UserError extends Error {}

/** What the operating system's errors mean, and what to do. @type {Record<string, string>} */
const SYSTEM_ERRORS = {
  ENOENT: 'there is no such file; check the name',
  ENOTDIR: 'a part of this path is a file, not a folder; check the name',
  EEXIST: 'a part of this path is a file, not a folder; check the name',
  EISDIR: 'this is a folder; give the name of a file',
  EACCES: 'permission denied; ask its owner, or use another account',
  EPERM: 'permission denied; ask its owner, or use another account',
  EROFS: 'the file system can only be read; copy the log elsewhere',
  ENOSPC: 'the disk is full; make room and try again',
  EDQUOT: 'your share of the disk is used up; make room and try again',
  EFBIG: 'the file would become larger than is allowed here; see `ulimit -f`',
  EMFILE: 'too many files are open; see `ulimit -n`',
  EIO: 'the disk cannot be read or written (EIO); copy what is left, and look at the disk'
}

/**
 * @param {unknown} err
 * @param {string} file the log at which it happened
 * @returns {string}
 */
function explain (err, file) {
  const { code = '', message } = /** @type {CodedError} */ (err instanceof Error ? err : new Error(String(err)))
  if (err instanceof UserError) return message
  if (code === 'flumelog:locked') return `${file}: another program has this log open for writing; close that one first`
  if (code === 'flumelog:block-size') return `${message}; leave --block-size out for a log that exists`
  if (code.startsWith('flumelog:')) return message
  if (code in SYSTEM_ERRORS) return `${file}: ${SYSTEM_ERRORS[code]}`
  return `${file}: ${message}`
}

/**
 * Adds what to do to an error of one kind.
 * @param {unknown} err
 * @param {string} code of that kind
 * @param {string} advice
 * @returns {unknown}
 */
function advise (err, code, advice) {
  return err instanceof Error && /** @type {CodedError} */ (err).code === code ? new UserError(`${err.message}; ${advice}`) : err
}

/**
 * Says it on stderr, in one line.
 * @param {string} message
 */
function complain (message) {
  say(`${paint(process.stderr, 'red', 'flumelog:')} ${oneLine(message)}`)
}

/**
 * @param {string} line for stderr
 */
function say (line) {
  process.stderr.write(line + '\n')
}

/** After the ^C that a terminal shows, what comes next begins a line of its own. */
function endInterruptedLine () {
  if (process.stderr.isTTY) say('')
}

/** @param {string} text */
function oneLine (text) {
  return text.trim().replace(/\s*\n\s*/g, ' ')
}

module.exports = { UserError, explain, advise, complain, say, endInterruptedLine, oneLine }
