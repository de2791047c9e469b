'use strict'

// When preloaded, files cannot be locked: the package for it fails to load, and, on Bun and
// Deno, libc is not known, as on platforms without a build of the one or the other.

const Module = require('module')

const load = Module._load
Module._load = function (name, ...rest) {
  if (name === 'fs-native-extensions') throw new Error('made to be missing')
  return load.call(this, name, ...rest)
}

Object.defineProperty(process, 'arch', { value: 'unknown' })
