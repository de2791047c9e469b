'use strict'

// AbortSignals of callers.

const errors = require('./errors')
const { format } = require('./format-value')

/**
 * @param {any} signal an AbortSignal, perhaps of another realm
 * @throws flumelog:invalid
 */
function mustBeSignal (signal) {
  if (signal === undefined) return
  if (typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function') return
  throw errors.invalid(`signal must be an AbortSignal; it is ${format(signal)}`)
}

module.exports = { mustBeSignal }
