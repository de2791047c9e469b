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
  log.whenFresh((err) => {
    if (err) return cb(/** @type {any} */ (err), /** @type {any} */ (undefined))
    const problem = problemOf(log, options)
    if (problem !== null) return process.nextTick(cb, problem)
    const writer = /** @type {import('../write/writer').Writer} */ (log.state.opened?.writer)
    writer.trim(options.lt, /** @type {import('../write/trimmer').Trimmed} */ (cb))
  })
}

/**
 * @param {Log} log that is open
 * @param {TrimOptions} options
 * @returns {Error | null}
 */
function problemOf ({ state, filename }, options) {
  try {
    checkNames(options)
  } catch (err) {
    return /** @type {Error} */ (err)
  }
  const { lt } = options
  if (!Number.isSafeInteger(lt) && lt !== Infinity) return errors.invalid(`lt must be an integer, the offset of a record or any other; it is ${format(lt)}`)
  return state.opened?.writer ? null : errors.readOnly(filename, 'trim')
}

module.exports = { trim }
