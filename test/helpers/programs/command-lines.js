'use strict'

// Runs command lines of flumelog one after the other in this process, as each would run in one of its own: it is over when
// nothing is left to be done.

const fs = require('fs')
const { Readable, Writable } = require('stream')
const { tell } = require('../processes')
const { PROGRAM } = require('../command-line')
const { showOn } = require('../terminal')

/** What a command has written; `both` as it came. @type {{ stdout: Buffer[], stderr: Buffer[], both: Buffer[] }} */
let written = { stdout: [], stderr: [], both: [] }
for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
  Object.defineProperty(process, name, {
    value: new Writable({
      write (chunk, _, cb) {
        // its buffer is used again
        const copy = Buffer.from(chunk)
        written[name].push(copy)
        written.both.push(copy)
        cb()
      }
    })
  })
}
// it ended in the middle of a command: that is told where it can be seen
process.on('exit', code => code !== 0 && fs.writeSync(2, Buffer.concat(written.stderr)))
/** Events to which a command listens until its process ends. */
const EVENTS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'warning', 'uncaughtException']
let isFirst = true

process.on('beforeExit', () => {
  if (!isFirst) {
    const texts = Object.entries(written).map(([name, chunks]) => [name, Buffer.concat(chunks).toString(name === 'stdout' ? 'base64' : 'utf8')])
    tell({ code: process.exitCode ?? 0, ...Object.fromEntries(texts) })
  }
  isFirst = false
  const line = nextLine()
  if (line === '') process.exit(0)
  const { args, cwd, input, columns } = JSON.parse(line)
  written = { stdout: [], stderr: [], both: [] }
  process.exitCode = undefined
  process.stdout.removeAllListeners('error')
  process.stderr.removeAllListeners('error')
  for (const name of EVENTS) process.removeAllListeners(name)
  Object.defineProperty(process, 'stdin', { value: Readable.from(chunksOf(Buffer.from(input, 'base64')), { objectMode: false }), configurable: true })
  showOn(columns)
  if (cwd !== undefined) process.chdir(cwd)
  process.argv = [process.execPath, PROGRAM, ...args]
  delete require.cache[PROGRAM]
  // so that there is something to do, after which `beforeExit` comes again
  setImmediate(() => require(PROGRAM))
})

/** Bytes that a read of a pipe returns at most. */
const PIPE_READ = 64 * 1024

/** @param {Buffer} input */
function * chunksOf (input) {
  for (let at = 0; at < input.length; at += PIPE_READ) yield input.subarray(at, at + PIPE_READ)
}

/** Not standard input, which the commands may open. */
const COMMAND_LINES = 3

/** What was read behind the line before. */
let rest = Buffer.alloc(0)

/** @returns {string} the next line; empty at the end */
function nextLine () {
  const chunks = []
  for (;;) {
    const end = rest.indexOf('\n')
    chunks.push(end === -1 ? rest : rest.subarray(0, end))
    if (end !== -1) {
      rest = rest.subarray(end + 1)
      return Buffer.concat(chunks).toString()
    }
    rest = Buffer.alloc(PIPE_READ)
    const size = fs.readSync(COMMAND_LINES, rest)
    rest = rest.subarray(0, size)
    if (size === 0) return ''
  }
}
