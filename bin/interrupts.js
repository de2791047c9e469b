'use strict'

// Ctrl-C for commands that write a file: the file is left as it was.

const { UserError } = require('./errors')
const { clearInterrupt } = require('./progress')

const INTERRUPTED = 130

/**
 * @template T
 * @param {string} file that is written
 * @param {(signal: AbortSignal) => Promise<T>} work
 * @returns {Promise<T>} rejects when the work has ended after Ctrl-C; the second one ends the program at once
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
    process.exitCode = INTERRUPTED
    throw new UserError(`${file}: interrupted`)
  } finally {
    process.removeListener('SIGINT', oninterrupt)
  }
}

module.exports = { untilInterrupted }
