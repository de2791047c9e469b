'use strict'

// Callbacks of callers: they can be missing, not be functions, and throw.

const { callbackify } = require('util')
const errors = require('./errors')
const { format } = require('./format-value')

/**
 * Calls all of them. What one throws is thrown again on a stack of its own, where it
 * affects nothing else.
 * @template T
 * @param {Array<(argument: T) => void>} functions
 * @param {T} argument
 */
function callAll (functions, argument) {
  for (const call of functions) {
    try {
      call(argument)
    } catch (err) {
      rethrowLater(err)
    }
  }
}

/**
 * What a caller's function throws concerns that caller only: it is thrown again on a stack of its own.
 * @param {unknown} err
 */
function rethrowLater (err) {
  process.nextTick(rethrow, err)
}

/** @param {unknown} err */
function rethrow (err) {
  throw err
}

/**
 * Throws in the call itself if a callback is not a function: an error could not be reported later.
 * @param {string} name
 * @param {unknown} value
 * @throws flumelog:invalid
 */
function mustBeFunction (name, value) {
  if (typeof value !== 'function') throw errors.invalid(`${name} must be a function; it is ${format(value)}`)
}

/**
 * @template {Function} F
 * @param {F | null | undefined} cb
 * @returns {F | undefined} undefined: there is none
 * @throws flumelog:invalid
 */
function optional (cb) {
  if (cb === undefined || cb === null) return undefined
  mustBeFunction('the callback', cb)
  return cb
}

/**
 * @template T
 * @param {(cb: (err?: any, result?: T) => void) => void} start
 * @returns {Promise<T>} what `start` calls back, as a promise; rejected with the reason itself of what calls back with `callBack`
 */
function promised (start) {
  return new Promise((resolve, reject) => start((err, result) => {
    if (err) reject(err.code === 'ERR_FALSY_VALUE_REJECTION' ? err.reason : err)
    else resolve(/** @type {T} */ (result))
  }))
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {(err: any, result: T) => void} cb called later. What a caller throws, or aborts a signal with, may be falsy, which would be no
 *   error: `cb` gets an ERR_FALSY_VALUE_REJECTION then, with that as its `reason`
 */
function callBack (promise, cb) {
  callbackify(() => promise)((err, result) => {
    if (result === undefined) /** @type {(err: any) => void} */ (cb)(err)
    else cb(err, result)
  })
}

module.exports = { callAll, callBack, promised, rethrowLater, mustBeFunction, optional }
