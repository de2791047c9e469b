'use strict'

// `log.trim`: checks what a caller gives.

const errors = require('../errors')
const { optional } = require('../callbacks')
const { format } = require('../format-value')
const { optionNames } = require('../option-names')

/**
 * @typedef {{ filename: string, state: { opened: import('../opening').Opened | null }, whenFresh: (cb: (err: Error | null) => void) => void }} Log
 * @typedef {import('./types').TrimOptions} TrimOptions
 */

const checkNames = optionNames('trim', ['lt'])

/**
 * @param {Log} log
 * @param {TrimOptions} options
 * @param {import('../types').Trimmed} [callback]
 */
function trim (log, options, callback) {
  const cb = optional(callback) ?? (() => {})
  // now: the caller may change them before the log is open
  const { lt, problem } = read(options)
  log.whenFresh((err) => {
    if (err) return cb(/** @type {any} */ (err), /** @type {any} */ (undefined))
    const writer = /** @type {import('../write/writer').Writer | null} */ (log.state.opened?.writer ?? null)
    if (problem !== null || writer === null) return process.nextTick(cb, problem ?? errors.readOnly(log.filename, 'trim'))
    writer.trim(lt, /** @type {import('../write/trimmer').Trimmed} */ (cb))
  })
}

/**
 * @param {TrimOptions} options
 * @returns {{ lt: number, problem: Error | null }} problem: what is wrong with them
 */
function read (options) {
  try {
    checkNames(options)
    const { lt } = options
    if (Number.isInteger(lt) || lt === Infinity) return { lt, problem: null }
    throw errors.invalid(`lt must be an integer, the offset of a record or any other; it is ${format(lt)}`)
  } catch (thrown) {
    return { lt: -1, problem: errors.thrown('an option', thrown) }
  }
}

module.exports = { trim }
