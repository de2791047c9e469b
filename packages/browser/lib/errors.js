'use strict'

// Errors of the browser, as the log and its callers know them from Node.js.

/** @type {Record<string, string>} */
const MEANING = {
  EBADF: 'bad file descriptor',
  EBUSY: 'resource busy or locked',
  EEXIST: 'file already exists',
  EINVAL: 'invalid argument',
  EIO: 'i/o error',
  ENFILE: 'too many files',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left: the quota of this origin is exhausted, or the disk is full',
  ENOSYS: 'not possible in a browser'
}
/** By the name of a DOMException. @type {Record<string, string>} */
const CODES = { QuotaExceededError: 'ENOSPC', NotFoundError: 'ENOENT', NoModificationAllowedError: 'EBUSY', InvalidStateError: 'EBADF', TypeMismatchError: 'EEXIST' }

/**
 * @param {string} code
 * @param {string} text of a system error, the name of the call; else the message
 * @param {string | object} [more] of a system error, the file
 * @returns {any}
 */
function failure (code, text, more = {}) {
  if (code.startsWith('flumelog:')) return Object.assign(new Error(text, /** @type {any} */ (more)), { code })
  const file = more === '' || typeof more !== 'string' ? '' : ` '${more}'`
  return Object.assign(new Error(`${code}: ${MEANING[code]}, ${text}${file}`), { code, syscall: text }, file === '' ? {} : { path: more })
}

/**
 * @param {any} err what a call of the browser threw
 * @param {string} call
 * @param {string} file
 * @returns {any} with a code of the operating system
 */
function translated (err, call, file) {
  if (typeof err?.code === 'string') return err
  const found = failure(CODES[err?.name] ?? 'EIO', call, file)
  found.cause = err
  return found
}

/** @param {string} name of a log */
function locked (name) {
  return Object.assign(failure('flumelog:locked', `${name} is open in another tab or worker of this origin, and one at a time can have it open: close it there`), { filename: name })
}

module.exports = { failure, translated, locked }
