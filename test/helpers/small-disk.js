'use strict'

// Preloaded, it makes a program believe that no file can have more than so many bytes.

const fs = require('fs')

const { write, writeSync } = fs
const size = Number(process.env.TEST_DISK_SIZE)

/** @param {any[]} args */
fs.write = (...args) => {
  if (fits(args)) return write(...args)
  process.nextTick(args.at(-1), full())
}

/** @param {any[]} args */
fs.writeSync = (...args) => {
  if (fits(args)) return writeSync(...args)
  throw full()
}

/** @param {any[]} args */
function fits ([, , , length, offset]) {
  return !(offset + length > size)
}

function full () {
  return Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
}
