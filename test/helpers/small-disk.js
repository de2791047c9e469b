'use strict'

// Preloaded, it makes a program believe that no file can have more than so many bytes.

const fs = require('fs')

const { write } = fs
const size = Number(process.env.TEST_DISK_SIZE)

/** @param {any[]} args */
fs.write = (...args) => {
  const [, , , length, offset] = args
  if (!(offset + length > size)) return write(...args)
  const err = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  process.nextTick(args.at(-1), err)
}
