'use strict'

// Ctrl-C and SIGTERM for commands that write a file: the file is left as it was.

const { reportError } = require('./errors')
const { clearInterrupt } = require('./progress')

/** By signal. @type {Record<string, number>} */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 }

/**
 * @template T
 * @param {string} file that is written
 * @param {(signal: AbortSignal) => Promise<T>} work
 * @returns {Promise<T>} after a signal, the program ends when the work has; after the second one, at once
 */
async function untilInterrupted (file, work) {
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
    reportError(`${file}: interrupted`)
    return process.exit(code)
  } finally {
    for (const name of Object.keys(EXIT_CODES)) process.removeListener(name, oninterrupt)
  }
}

module.exports = { untilInterrupted }
