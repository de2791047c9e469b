'use strict'

// Ctrl-C and other signals: for commands that write a file, which is left as it was, and for those that run until they are stopped.

const { reportError } = require('./errors')
const { clearInterrupt, clearProgress } = require('./progress')

/** By signal. @type {Record<string, number>} */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 }
/** What stops a command that runs until it is stopped. */
const STOPPING = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * @typedef {object} InterruptOptions
 * @property {() => string} [left] what the user is told of what is left, and how to go on
 */

/**
 * @template T
 * @param {string} file that is written
 * @param {(signal: AbortSignal) => Promise<T>} work
 * @param {InterruptOptions} [options]
 * @returns {Promise<T>} after a signal, the program ends when the work has; after the second one, at once
 */
async function untilInterrupted (file, work, { left = () => 'nothing is left of it' } = {}) {
  const interrupt = new AbortController()
  let code = 0
  const oninterrupt = (/** @type {string} */ name) => {
    if (interrupt.signal.aborted) process.exit(code)
    code = EXIT_CODES[name]
    if (name === 'SIGINT') clearInterrupt()
    interrupt.abort()
  }
  for (const name of Object.keys(EXIT_CODES)) process.on(name, oninterrupt)
  try {
    return await work(interrupt.signal)
  } catch (err) {
    if (err !== interrupt.signal.reason) throw err
    clearProgress()
    reportError(`${file}: interrupted; ${left()}`)
    return process.exit(code)
  } finally {
    for (const name of Object.keys(EXIT_CODES)) process.removeListener(name, oninterrupt)
  }
}

/**
 * @param {(signal: AbortSignal) => Promise<unknown>} work
 * @returns {Promise<void>} resolves when it is over, also when a signal has ended it; after the second signal, the program ends at once
 */
async function untilStopped (work) {
  const stop = new AbortController()
  const onsignal = (/** @type {string} */ name) => {
    if (stop.signal.aborted) process.exit(0)
    if (name === 'SIGINT') clearInterrupt()
    stop.abort()
  }
  for (const name of STOPPING) process.on(name, onsignal)
  try {
    await work(stop.signal)
  } catch (err) {
    if (err !== stop.signal.reason) throw err
  } finally {
    for (const name of STOPPING) process.removeListener(name, onsignal)
  }
}

/** @returns {Promise<void>} resolves when a signal stops the program */
function stopped () {
  return untilStopped((signal) => new Promise(resolve => { signal.onabort = resolve }))
}

module.exports = { stopped, untilInterrupted, untilStopped }
