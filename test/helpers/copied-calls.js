'use strict'

// Lets a test look at files before each call that changes one.

const fs = require('fs')

const CALLS = ['write', 'writeSync', 'writev', 'ftruncate', 'fdatasync', 'unlinkSync', 'rmSync']
const PROMISED = ['rename', 'link', 'unlink', 'chmod']

/** @returns {{ before: ((call: string) => void) | null }} `before` is called before each call, with its name; null: no longer */
function copyBeforeCalls () {
  const calls = { before: null }
  for (const name of CALLS) replace(fs, name, calls)
  for (const name of PROMISED) replace(fs.promises, name, calls)
  return calls
}

function replace (from, name, calls) {
  const call = from[name]
  const replaced = function (...args) {
    const { before } = calls
    // what it calls itself is not told
    calls.before = null
    before?.(name)
    calls.before = before
    return call.apply(this, args)
  }
  // with what util.promisify goes by
  from[name] = Object.defineProperties(replaced, Object.getOwnPropertyDescriptors(call))
}

module.exports = { copyBeforeCalls }
