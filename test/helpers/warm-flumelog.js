'use strict'

// flumelog for tests that run many commands: starting Node.js takes most of the time of each, so they run one after the other
// in one process. With `--thorough`, each has a process of its own, as it has anyway if it gets a file to read, other modules, or the like.

const { spawn } = require('child_process')
const path = require('path')
const test = require('tape')
const { flumelog } = require('./command-line')
const { isNode } = require('./runtime')
const { thorough } = require('./thorough')

const COMMAND_LINES = path.join(__dirname, 'programs', 'command-lines.js')

const isWarm = !thorough && isNode
/** Options that a command can have in the process of others. */
const WARM_OPTIONS = ['cwd', 'input', 'columns']

/** The process, and who waits for the results of its command lines. */
class Warm {
  constructor () {
    /** @type {Array<{ resolve: (ended: any) => void, reject: (err: Error) => void }>} */
    this.waiting = []
    const { NO_COLOR, ...env } = process.env
    this.child = spawn(process.execPath, [COMMAND_LINES], { env, stdio: ['ignore', 'pipe', 'inherit', 'pipe'] })
    this.input = /** @type {import('stream').Writable} */ (this.child.stdio[3])
    let rest = ''
    this.child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n')
      rest = /** @type {string} */ (lines.pop())
      for (const line of lines) this.answer(JSON.parse(line))
    })
    this.input.on('error', () => {})
    this.child.on('close', (code, signal) => this.waiting.forEach(({ reject }) => reject(new Error(`the process ended with ${signal ?? `code ${code}`} in the middle of a command`))))
    test.onFinish(() => this.input.end())
  }

  answer ({ code, stdout, stderr, both }) {
    const bytes = Buffer.from(stdout, 'base64')
    this.waiting.shift().resolve({ code, signal: null, stdout: bytes.toString(), bytes, stderr, both })
  }

  run (args, { cwd, input = '', columns }) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject })
      this.input.write(JSON.stringify({ args, cwd, columns, input: Buffer.from(input).toString('base64') }) + '\n')
    })
  }
}

/** @type {Warm | null} */
let warm = null

/**
 * @param {string[]} args
 * @param {import('./command-line').RunOptions} [options]
 * @returns {Promise<import('./command-line').Ended>}
 */
function warmFlumelog (args, options = {}) {
  if (!isWarm || Object.keys(options).some(name => !WARM_OPTIONS.includes(name))) return flumelog(args, options)
  return warmly(args, options)
}

/**
 * For examples in pages.
 * @param {(command: string) => string} shell
 * @param {string} cwd
 * @returns {(command: string) => string | Promise<string>} what a command prints on stdout and stderr: by the shell, or here if that
 *   would have nothing to do but to start flumelog
 */
function shellOrWarm (shell, cwd) {
  return (command) => isWarm && /^flumelog [\w./ -]*$/.test(command) ? warmly(command.split(' ').slice(1), { cwd }).then(({ both }) => both) : shell(command)
}

/**
 * @param {string[]} args
 * @param {Pick<import('./command-line').RunOptions, 'cwd' | 'input' | 'columns'>} options
 */
function warmly (args, options) {
  warm ??= new Warm()
  return warm.run(args, options)
}

module.exports = { flumelog: warmFlumelog, shellOrWarm }
