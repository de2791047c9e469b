'use strict'

// Spawns the program flumelog, and collects its output.

const { spawn } = require('child_process')
const fs = require('fs')
const path = require('path')
const { preloading, signal: sendSignal } = require('./runtime')

const PROGRAM = path.join(__dirname, '..', '..', 'bin', 'flumelog.js')
/** When preloaded, makes a program behave as on a terminal. */
const TERMINAL = path.join(__dirname, 'terminal.js')

/**
 * @typedef {object} RunOptions
 * @property {string | Buffer} [input] for standard input
 * @property {string | number} [stdin] 'pipe', or an open file
 * @property {string | number} [stdout] the same
 * @property {number} [columns] of the terminal that the program believes in
 * @property {string[]} [preload] modules
 * @property {NodeJS.ProcessEnv} [env] additions
 * @property {string} [cwd]
 *
 * @typedef {{ code: number | null, signal: string | null, stdout: string, bytes: Buffer, stderr: string }} Ended
 */

/** A running flumelog. */
class Running {
  /**
   * @param {string[]} args
   * @param {RunOptions} [options]
   */
  constructor (args, { stdin = 'pipe', stdout = 'pipe', columns, preload = [], env = {}, cwd } = {}) {
    const { NO_COLOR, ...clean } = process.env
    const modules = columns === undefined ? preload : [...preload, TERMINAL]
    this.child = spawn(process.execPath, [...preloading(modules), PROGRAM, ...args], {
      cwd,
      env: { ...clean, ...env, ...(columns === undefined ? {} : { TEST_COLUMNS: String(columns) }) },
      stdio: [stdin, stdout, 'pipe']
    })
    /** @type {Buffer[]} */
    this.chunks = []
    this.stderr = ''
    this.onprinted = new Set()
    // a program that has exited does not read its input
    this.child.stdin?.on('error', () => {})
    this.child.stdout?.on('data', (chunk) => {
      this.chunks.push(chunk)
      this.notify()
    })
    this.child.stderr.on('data', (chunk) => {
      this.stderr += chunk
      this.notify()
    })
    /** @type {Promise<Ended>} */
    this.ended = new Promise((resolve, reject) => {
      this.child.on('error', reject)
      this.child.on('close', (code, signal) => {
        this.isOver = true
        this.notify()
        resolve({ code, signal, stdout: this.stdout, bytes: Buffer.concat(this.chunks), stderr: this.stderr })
      })
    })
  }

  get stdout () { return Buffer.concat(this.chunks).toString() }
  get pid () { return this.child.pid }

  notify () {
    for (const look of [...this.onprinted]) look()
  }

  /**
   * @param {(running: Running) => any} isThere
   * @returns {Promise<void>} it has printed what is waited for
   */
  printed (isThere) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = isThere(this)
        if (!found && !this.isOver) return
        this.onprinted.delete(look)
        if (found) resolve()
        else reject(new Error(`it ended before it printed what was waited for:\n${this.stdout}\n${this.stderr}`))
      }
      this.onprinted.add(look)
      look()
    })
  }

  /** @param {string | Buffer} input */
  send (input) {
    return new Promise(resolve => this.child.stdin.write(input, resolve))
  }

  /** @param {NodeJS.Signals} signal */
  kill (signal) {
    sendSignal(this.child, signal)
    return this.ended
  }

  /** @returns {number | null} the most memory that it has had, in bytes; null where the system does not tell */
  peakMemory () {
    const status = readIfThere(`/proc/${this.pid}/status`)
    const peak = status?.match(/^VmHWM:\s+(\d+) kB$/m)
    return peak ? Number(peak[1]) * 1024 : null
  }

  /** @returns {Promise<void>} it waits for something, and does nothing meanwhile */
  async atRest () {
    let calm = 0
    for (let before = ''; calm < 20; calm++) {
      await pause()
      if (this.isOver) throw new Error(`it ended instead of waiting:\n${this.stdout}\n${this.stderr}`)
      const [, state, times] = readIfThere(`/proc/${this.pid}/stat`)?.match(/\) (\w) (?:\S+ ){10}(\S+ \S+)/) ?? []
      if (state !== 'S' || times !== before) calm = 0
      before = times
    }
  }
}

/** @param {string} name */
function readIfThere (name) {
  try {
    return fs.readFileSync(name, 'utf8')
  } catch {
    return null
  }
}

function pause () {
  return new Promise(resolve => setTimeout(resolve, 10))
}

/**
 * @param {() => any} isTrue
 * @returns {Promise<void>}
 */
async function until (isTrue) {
  while (!await isTrue()) await pause()
}

/**
 * Runs flumelog until it exits.
 * @param {string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<Ended>}
 */
function flumelog (args, options = {}) {
  const running = new Running(args, options)
  running.child.stdin?.end(options.input ?? '')
  return running.ended
}

/**
 * Starts flumelog.
 * @param {import('tape').Test} t when it ends, the process does
 * @param {string[]} args
 * @param {RunOptions} [options]
 */
function start (t, args, options) {
  const running = new Running(args, options)
  t.teardown(() => running.kill('SIGKILL'))
  return running
}

/**
 * Asserts that it exited with one line on stderr, without a stack trace, and an empty standard output.
 * @param {import('tape').Test} t
 * @param {Ended} ended
 * @param {number} wanted the exit code
 * @param {RegExp} pattern of the line
 * @param {string} what was tried
 */
function refuses (t, { code, stdout, stderr }, wanted, pattern, what) {
  t.equal(code, wanted, `${what}: exit code ${wanted}`)
  t.equal(stderr.trimEnd().split('\n').length, 1, `${what}: one line`)
  t.match(stderr, pattern, `${what}: ${stderr.trim()}`)
  t.doesNotMatch(stderr, /at .*\.js:\d/, `${what}: no stack trace`)
  t.equal(stdout, '', `${what}: nothing on standard output`)
}

/**
 * Runs work for each item, two at a time.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => Promise<void>} work
 */
async function inTurns (items, work) {
  const left = [...items]
  await Promise.all(Array.from({ length: 2 }, async () => {
    while (left.length > 0) await work(left.shift())
  }))
}

module.exports = { flumelog, start, until, refuses, inTurns, PROGRAM }
