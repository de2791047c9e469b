'use strict'

// Runs programs in a pseudo-terminal, with a terminal emulator that draws the screen.

const { Terminal } = require('@xterm/headless')

const ROWS = 24

/** Why tests with a terminal are skipped; false: they are not. @type {string | false} */
let noTerminal = false
/** @type {typeof import('@lydell/node-pty').spawn} */
let spawn
try {
  spawn = require('@lydell/node-pty').spawn
} catch (err) {
  noTerminal = `there is no pseudo-terminal for this platform: ${err.message.split('\n')[0]}`
}

/**
 * @typedef {object} ScreenOptions
 * @property {number} [columns] default 80
 * @property {number} [row] in which the cursor is at the start; default 0
 * @property {NodeJS.ProcessEnv} [env] additions
 * @property {string} [cwd]
 */

/** A program that runs in a terminal. */
class Screen {
  /**
   * @param {string} program
   * @param {string[]} args
   * @param {ScreenOptions} [options]
   */
  constructor (program, args, { columns = 80, row = 0, env = {}, cwd } = {}) {
    const { NO_COLOR, ...clean } = process.env
    this.terminal = new Terminal({ cols: columns, rows: ROWS, scrollback: 1000, allowProposedApi: true })
    /** What the program has printed. */
    this.output = ''
    this.onprinted = new Set()
    this.isOver = false
    this.terminal.write('\n'.repeat(row))
    this.pty = spawn(program, args, { cols: columns, rows: ROWS, cwd, env: { ...clean, ...env }, name: 'xterm-256color' })
    this.pty.onData((data) => {
      this.output += data
      this.terminal.write(data, () => this.notify())
    })
    // programs may ask where the cursor is
    this.terminal.onData(data => this.pty.write(data))
    /** @type {Promise<number>} the exit code; 128 and the number of the signal that ended it */
    this.ended = new Promise(resolve => this.pty.onExit(({ exitCode, signal }) => {
      // after all that was written before
      this.terminal.write('', () => {
        this.isOver = true
        this.notify()
        resolve(signal ? 128 + signal : exitCode)
      })
    }))
  }

  notify () {
    for (const look of [...this.onprinted]) look()
  }

  /** @returns {string[]} all lines that have been on the screen, from the row where the program started, without empty ones at the end */
  get lines () {
    const { active } = this.terminal.buffer
    const lines = Array.from({ length: active.length }, (_, i) => active.getLine(i)?.translateToString(true) ?? '')
    return lines.join('\n').trim().split('\n').map(line => line.trimEnd())
  }

  get text () { return this.lines.join('\n') }

  /**
   * @param {RegExp} pattern
   * @returns {Promise<void>} once it is on the screen
   */
  shows (pattern) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.test(this.text)
        if (!found && !this.isOver) return
        this.onprinted.delete(look)
        if (found) resolve()
        else reject(new Error(`it ended before it showed ${pattern}:\n${this.text}`))
      }
      this.onprinted.add(look)
      look()
    })
  }

  /** @param {string} keys */
  type (keys) {
    this.pty.write(keys)
  }
}

/**
 * @param {import('tape').Test} t when it ends, the program does
 * @param {string} program
 * @param {string[]} args
 * @param {ScreenOptions} [options]
 */
function openScreen (t, program, args, options) {
  const screen = new Screen(program, args, options)
  t.teardown(async () => {
    if (!screen.isOver) screen.pty.kill('SIGKILL')
    await screen.ended
    screen.terminal.dispose()
  })
  return screen
}

module.exports = { openScreen, noTerminal, ROWS }
