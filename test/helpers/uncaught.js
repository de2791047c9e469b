'use strict'

// Exceptions that nobody catches, as an application with its own handler sees them.

/**
 * @param {() => Promise<any>} work
 * @returns {Promise<any[]>} what was thrown meanwhile; the test runner does not see it
 */
async function uncaughtDuring (work) {
  const listeners = process.listeners('uncaughtException')
  const thrown = []
  const keep = (err) => thrown.push(err)
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', keep)
  try {
    await work()
  } finally {
    process.off('uncaughtException', keep)
    for (const listener of listeners) process.on('uncaughtException', listener)
  }
  return thrown
}

module.exports = { uncaughtDuring }
