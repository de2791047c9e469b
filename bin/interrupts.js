'use strict'

// Ctrl-C for commands that write a file: the file is left as it was.

const { reportError } = require('./errors')
const { clearInterrupt } = require('./progress')

const INTERRUPTED = 130

/**
 * @template T
 * @param {string} file that is written
 * @param {(signal: AbortSignal) => Promise<T>} work
 * @returns {Promise<T>} after Ctrl-C, the program ends when the work has; after the second one, at once
 */
async function untilInterrupted (file, work) {
  const interrupt = new AbortController()
  const oninterrupt = () => {
    if (interrupt.signal.aborted) process.exit(INTERRUPTED)
    clearInterrupt()
    interrupt.abort()
  }
  process.on('SIGINT', oninterrupt)
  try {
    return await work(interrupt.signal)
  } catch (err) {
    if (err !== interrupt.signal.reason) throw err
    reportError(`${file}: interrupted`)
    return process.exit(INTERRUPTED)
  } finally {
    process.removeListener('SIGINT', oninterrupt)
  }
}

module.exports = { untilInterrupted }
