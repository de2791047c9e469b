'use strict'

// Asks a question on the terminal.

/** @returns {boolean} whether there is somebody to answer */
function canAsk () {
  return Boolean(process.stdin.isTTY && process.stderr.isTTY)
}

/**
 * @param {string} question
 * @returns {Promise<'yes' | 'no' | 'interrupted'>} anything but y and yes is no; Ctrl-D is, too
 */
async function ask (question) {
  const { createInterface } = require('readline')
  const lines = createInterface({ input: process.stdin, output: process.stderr, historySize: 0 })
  return await new Promise((resolve) => {
    lines.question(`${question} [y/N] `, (answer) => {
      lines.removeAllListeners()
      resolve(/^\s*y(es)?\s*$/i.test(answer) ? 'yes' : 'no')
      lines.close()
    })
    lines.once('SIGINT', () => end('interrupted'))
    lines.once('close', () => end('no'))

    /** @param {'no' | 'interrupted'} answer */
    function end (answer) {
      lines.removeAllListeners()
      resolve(answer)
      lines.close()
      // no line ends there
      process.stderr.write('\n')
    }
  })
}

module.exports = { canAsk, ask }
