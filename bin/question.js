'use strict'

// Asks a question on the terminal.

const { writeStderr } = require('./errors')

const INTERRUPTED = 130

/**
 * For commands that cannot be undone.
 * @param {boolean | undefined} yes the option
 * @param {import('commander').Command} command ends with wrong usage if nobody can be asked
 */
function mustBeAskable (yes, command) {
  if (!yes && !canAsk()) command.error(`--yes is required: ${command.name()} cannot ask, since standard input or stderr is not a terminal`)
}

/**
 * @param {string} question
 * @param {string} otherwise what is printed if the answer is no: that nothing was done
 * @returns {Promise<boolean>} false: the exit code is set
 */
async function confirm (question, otherwise) {
  const answer = await ask(question)
  if (answer === 'yes') return true
  process.exitCode = answer === 'interrupted' ? INTERRUPTED : 1
  writeStderr(otherwise)
  return false
}

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

module.exports = { mustBeAskable, confirm }
