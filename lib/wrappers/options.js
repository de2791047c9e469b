'use strict'

// The options of wrappers, which take the log's own ones and more.

const errors = require('../errors')
const { optionNames, pick } = require('../option-names')
const { STREAM_NAMES } = require('../read/options')
const { openSource } = require('../read/source')

/** @typedef {import('../read/source').Source<any>} Source */

/**
 * @param {(options: any) => Source} open
 * @param {string[]} names of the options that `open` takes
 * @param {(options: any) => void} check throws if there is an option that does not exist, which is the error of the source
 * @param {any} [options]
 * @returns {Source}
 */
function openPicked (open, names, check, options) {
  return openSource(() => {
    check(options ?? {})
    return open(pick(options ?? {}, names))
  })
}

/**
 * @param {string} of the method of the wrapper
 * @param {string[]} own options that it takes itself
 * @returns {(open: (options: any) => Source, options: any) => Source} opens a source of the log with the other options
 */
function sourceWith (of, own) {
  const check = optionNames(of, [...STREAM_NAMES, ...own])
  return (open, options) => openPicked(open, STREAM_NAMES, check, options)
}

/**
 * It would be the callback of what is wrapped, and nobody would learn of the outcome.
 * @param {string} of the method of the wrapper
 * @param {unknown} options
 * @throws flumelog:invalid
 */
function mustBeNoCallback (of, options) {
  if (typeof options === 'function') throw errors.invalid(`${of} gives a promise, and takes no callback`)
}

module.exports = { mustBeNoCallback, openPicked, sourceWith }
