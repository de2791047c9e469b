'use strict'

// AbortSignals of callers.

const { callAll } = require('./callbacks')
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

/** What waits for each signal: Node.js warns of a leak if one has more than ten listeners. @type {WeakMap<AbortSignal, Waiting>} */
const waiting = new WeakMap()

/** @typedef {{ calls: Set<() => void>, onabort: () => void }} Waiting */

/**
 * @param {AbortSignal | undefined} signal
 * @param {() => void} call called when it is aborted
 * @returns {() => void} stops waiting for that
 */
function onAbort (signal, call) {
  if (signal === undefined) return () => {}
  const { calls, onabort } = waiting.get(signal) ?? listen(signal)
  calls.add(call)
  return () => {
    if (!calls.delete(call) || calls.size > 0) return
    waiting.delete(signal)
    signal.removeEventListener('abort', onabort)
  }
}

/**
 * @param {AbortSignal} signal
 * @returns {Waiting}
 */
function listen (signal) {
  const calls = new Set()
  const onabort = () => {
    waiting.delete(signal)
    const all = [...calls]
    calls.clear()
    callAll(all, undefined)
  }
  const listening = { calls, onabort }
  waiting.set(signal, listening)
  signal.addEventListener('abort', onabort, { once: true })
  return listening
}

module.exports = { mustBeSignal, onAbort }
