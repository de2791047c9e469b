'use strict'

// When preloaded, limits the size of files that a program can write.

const fs = require('fs')

const size = Number(process.env.TEST_DISK_SIZE)

/** The offset and the number of bytes, from the arguments of each call. */
const CALLS = {
  write: ([, , , length, offset]) => ({ offset, length }),
  writeSync: ([, , , length, offset]) => ({ offset, length }),
  writev: ([, buffers, offset]) => ({ offset, length: sizeOf(buffers) }),
  writevSync: ([, buffers, offset]) => ({ offset, length: sizeOf(buffers) })
}

for (const [name, whatOf] of Object.entries(CALLS)) {
  const call = fs[name]
  fs[name] = (...args) => {
    const { offset, length } = whatOf(args)
    if (!(offset + length > size)) return call(...args)
    const err = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    if (name.endsWith('Sync')) throw err
    process.nextTick(args.at(-1), err)
  }
}

function sizeOf (buffers) {
  return buffers.reduce((sum, { length }) => sum + length, 0)
}
