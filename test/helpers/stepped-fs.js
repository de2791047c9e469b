'use strict'

// Has a test look at, or fail, each call of the module `fs` that changes files. To be loaded before the log.

const fs = require('fs')

const CALLS = ['open', 'write', 'writev', 'fdatasync', 'fsync', 'ftruncate', 'writeFile']
const PROMISES = ['open', 'link', 'rename', 'unlink']

const hooks = {
  /** Called before each call, with its name; what it throws is the call's error. @type {((name: string) => void) | null} */
  before: null
}

for (const name of CALLS) {
  const { [name]: call, [name + 'Sync']: callSync } = fs
  fs[name] = (...args) => {
    try {
      hooks.before?.(name)
    } catch (err) {
      return process.nextTick(args.at(-1), err)
    }
    return call(...args)
  }
  if (callSync === undefined) continue
  fs[name + 'Sync'] = (...args) => {
    hooks.before?.(name + 'Sync')
    return callSync(...args)
  }
}
for (const name of PROMISES) {
  const call = fs.promises[name]
  fs.promises[name] = async (...args) => {
    hooks.before?.('promises.' + name)
    return call(...args)
  }
}

/** Calls something without being noticed. */
function unnoticed (run) {
  const { before } = hooks
  hooks.before = null
  try {
    return run()
  } finally {
    hooks.before = before
  }
}

module.exports = { hooks, unnoticed }
