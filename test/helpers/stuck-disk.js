'use strict'

// Preloaded, it makes a program's writes wait until it is sent SIGUSR2.

const fs = require('fs')

const { write, writeSync } = fs
let held = []
// a write that is under way keeps a program alive
const alive = setInterval(() => {}, 1e6)

/** @param {any[]} args */
fs.write = (...args) => held === null || args[3] === 0 ? write(...args) : held.push(args)

/** What is to be written at an offset is written by the calls that do not block, so that it can wait. @param {any[]} args */
fs.writeSync = (...args) => {
  if (held === null || typeof args[4] !== 'number') return writeSync(...args)
  throw new Error('it would block')
}

process.once('SIGUSR2', () => {
  const calls = held
  held = null
  clearInterval(alive)
  for (const args of calls) write(...args)
})
