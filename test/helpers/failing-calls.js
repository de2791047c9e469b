'use strict'

// Lets synchronous calls of fs fail, as on a full disk.

const fs = require('fs')

/**
 * @template T
 * @param {{ room?: number, ftruncate?: boolean, rename?: boolean, open?: boolean, readFile?: boolean }} faults room: bytes that `writeSync` still
 *   writes; the others: whether the call fails
 * @param {() => T} run
 * @returns {T}
 */
function failing ({ room, ...calls }, run) {
  const originals = {}
  const replace = (name, call) => {
    originals[name] = fs[name]
    fs[name] = call
  }
  const fail = (name) => { throw Object.assign(new Error(`ENOSPC: no space left on device, ${name}`), { code: 'ENOSPC' }) }
  for (const [name, fails] of Object.entries(calls)) {
    if (fails) replace(`${name}Sync`, () => fail(name))
  }
  if (room !== undefined) {
    replace('writeSync', (fd, bytes, from, length, offset) => {
      if (room === 0) fail('write')
      const size = Math.min(room, length)
      room -= size
      return originals.writeSync(fd, bytes, from, size, offset)
    })
  }
  try {
    return run()
  } finally {
    Object.assign(fs, originals)
  }
}

module.exports = { failing }
