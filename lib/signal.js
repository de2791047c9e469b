'use strict'

// AbortSignals of callers.

const { setMaxListeners } = require('events')
const errors = require('./errors')
const { format } = require('./format-value')

/**
 * @param {any} signal an AbortSignal, perhaps of another realm
 * @throws flumelog:invalid
 */
function mustBeSignal (signal) {
  if (signal === undefined) return
  if (typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function') return
  throw errors.invalid(`signal must be an AbortSignal; it is ${format(signal)}`)
}

/**
 * @param {AbortSignal | undefined} signal
 * @param {() => void} call called when it is aborted
 * @returns {() => void} stops waiting for that
 */
function onAbort (signal, call) {
  if (signal === undefined) return () => {}
  // any number of calls may wait for one signal, which Node.js would take for a leak
  if (signal instanceof AbortSignal) setMaxListeners(0, signal)
  signal.addEventListener('abort', call, { once: true })
  return () => signal.removeEventListener('abort', call)
}

module.exports = { mustBeSignal, onAbort }
