'use strict'

// The options of wrappers, which take the log's own ones and more.

const errors = require('../errors')
const { optionNames, pick } = require('../option-names')
const { STREAM_NAMES } = require('../read/options')

/** @typedef {import('../read/source').Source<any>} Source */

/**
 * @param {string} of the method of the wrapper
 * @param {string[]} own options that it takes itself
 * @returns {(open: (options: any) => Source, options: any) => Source} opens a source of the log with the other options. One that
 *   does not exist is the error of the source
 */
function sourceWith (of, own) {
  const checkNames = optionNames(of, [...STREAM_NAMES, ...own])
  return (open, options = {}) => {
    if (options === null || typeof options !== 'object') return open(options ?? {})
    try {
      checkNames(options)
      return open(pick(options, STREAM_NAMES))
    } catch (thrown) {
      const err = errors.thrown('an option', thrown)
      return (abort, cb) => cb(abort || err, undefined)
    }
  }
}

module.exports = { sourceWith }
