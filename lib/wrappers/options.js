'use strict'

// The options of wrappers, which take the log's own ones and more.

const { optionNames } = require('../option-names')
const { STREAM_NAMES, LEGACY_STREAM_NAMES } = require('../read/options')

/** @typedef {import('../read/source').Source<any>} Source */

/**
 * @param {string} of the method of the wrapper
 * @param {string[]} own options that it takes itself
 * @returns {(open: (options: any) => Source, options: any) => Source} opens a source of the log with the other options. One that
 *   does not exist is the error of the source
 */
function sourceWith (of, own) {
  const checkNames = optionNames(of, [...STREAM_NAMES, ...own], LEGACY_STREAM_NAMES)
  return (open, options = {}) => {
    if (options === null || typeof options !== 'object') return open(options ?? {})
    try {
      checkNames(options)
    } catch (err) {
      return (abort, cb) => cb(abort || /** @type {Error} */ (err), undefined)
    }
    return open(without(options, own))
  }
}

/**
 * @param {any} options
 * @param {string[]} names
 * @returns {object} the other options; those that are inherited, too
 */
function without (options, names) {
  /** @type {Record<string, unknown>} */
  const others = {}
  for (const name in options) if (!names.includes(name)) others[name] = options[name]
  return others
}

module.exports = { sourceWith }
