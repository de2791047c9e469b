'use strict'

// Runs programs in test/helpers/programs as child processes. They print one JSON value per
// line, and may receive messages.

const { spawn } = require('child_process')
const fs = require('fs')
const path = require('path')
const { preloading } = require('./runtime')

const FOLDER = path.join(__dirname, 'programs')

/** A running program, and its messages. */
class Program {
  /**
   * @param {string} command
   * @param {string[]} args
   */
  constructor (command, args) {
    this.messages = []
    this.listeners = new Set()
    this.stderr = ''
    this.isOver = false
    this.child = spawn(command, args, { stdio: 'pipe' })
    this.child.stderr.on('data', data => { this.stderr += data })
    // a killed program does not read its input
    this.child.stdin.on('error', () => {})
    let rest = ''
    this.child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()
      for (const line of lines) this.receive(JSON.parse(line))
    })
    /** Resolves when the process has exited and all its messages have been read. */
    this.over = new Promise((resolve, reject) => {
      this.child.on('error', reject)
      this.child.on('close', (code, signal) => {
        this.isOver = true
        this.notify()
        resolve({ code, signal, stderr: this.stderr })
      })
    })
  }

  receive (message) {
    this.messages.push(message)
    this.notify(message)
  }

  notify (message) {
    for (const listener of [...this.listeners]) listener(message)
  }

  /**
   * @param {(message: any) => any} isWanted
   * @returns {Promise<any>} the first message that is wanted, from the first one told on
   */
  message (isWanted) {
    return new Promise((resolve, reject) => {
      let seen = 0
      const look = () => {
        while (seen < this.messages.length) {
          const message = this.messages[seen++]
          if (!isWanted(message)) continue
          this.listeners.delete(look)
          return resolve(message)
        }
        if (!this.isOver) return
        this.listeners.delete(look)
        reject(new Error(`the program ended before it told what was waited for:\n${this.stderr}`))
      }
      this.listeners.add(look)
      look()
    })
  }

  /** @param {any} message */
  send (message) {
    this.child.stdin.write(JSON.stringify(message) + '\n')
  }

  kill () {
    this.child.kill('SIGKILL')
    return this.over
  }
}

/**
 * @param {import('tape').Test} t when it ends, the process does
 * @param {string} name of a file in test/helpers/programs
 * @param {any} argument for it
 * @param {{ nodeOptions?: string[], preload?: string[], shell?: string }} [options] `preload`: modules; `shell` is run before the program, by bash
 */
function start (t, name, argument, { nodeOptions = [], preload = [], shell } = {}) {
  const args = [...nodeOptions, ...preloading(preload), path.resolve(FOLDER, name), JSON.stringify(argument)]
  const program = shell === undefined
    ? new Program(process.execPath, args)
    : new Program('bash', ['-c', `${shell} && exec "$@"`, 'bash', process.execPath, ...args])
  t.teardown(() => program.kill())
  return program
}

/** For the programs: their arguments. */
function argument () {
  return JSON.parse(process.argv[2])
}

/**
 * For the programs. When it returns, the message is sent, even if the process
 * is killed right after; process.stdout would keep it while the pipe is full.
 * @param {any} message
 */
function tell (message) {
  fs.writeSync(1, JSON.stringify(message) + '\n')
}

/**
 * For the programs: exits when the test that started them does.
 * @param {(message: any) => void} [onmessage]
 */
function listen (onmessage = () => {}) {
  let rest = ''
  process.stdin.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) onmessage(JSON.parse(line))
  })
  process.stdin.on('end', () => process.exit())
}

module.exports = { start, argument, tell, listen }
