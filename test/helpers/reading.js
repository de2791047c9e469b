'use strict'

// Common reads of a log, as promises.

const { isDeepStrictEqual } = require('util')
const pull = require('pull-stream')

/**
 * @param {import('../../lib/log').FlumeLog<any>} log
 * @param {import('../../lib/read/options').StreamOptions} [options]
 * @returns {Promise<any[]>} all that a stream gives
 */
function collect (log, options) {
  return collectSource(log.stream(options))
}

function collectSource (source) {
  return new Promise((resolve, reject) => {
    pull(source, pull.collect((err, all) => err ? reject(err) : resolve(all)))
  })
}

/**
 * @param {Promise<any>} promise
 * @returns {Promise<string>} the code of the error it ends with; what it gave, if it ends well
 */
async function codeOf (promise) {
  try {
    return `no error, but ${JSON.stringify(await promise)}`
  } catch (err) {
    return err.code ?? `an error without a code: ${err.stack}`
  }
}

/**
 * @param {(resolve: (value?: any) => void) => void} start
 * @returns {Promise<any>} of what `start` hands to its argument
 */
function event (start) {
  return new Promise(start)
}

/**
 * @param {() => any} isSo
 * @returns {Promise<void>}
 */
async function until (isSo) {
  // on Bun, a loop of setImmediate keeps events of watched files from being reported
  while (!await isSo()) await event(setTimeout)
}

/** Compares faster than tape's deepEqual, which takes seconds for thousands of records. */
const isSame = isDeepStrictEqual

/** @returns {number} how many functions are on the stack */
function frames () {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = Infinity
  const count = /** @type {string} */ (new Error().stack).split('\n').length
  Error.stackTraceLimit = stackTraceLimit
  return count
}

module.exports = { collect, collectSource, codeOf, event, until, isSame, frames }
