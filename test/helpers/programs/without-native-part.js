'use strict'

// Loaded before a program, it makes the package that locks files fail to load, as
// where no build of it is to be had.

const Module = require('module')

const load = Module._load
Module._load = function (name, ...rest) {
  if (name === 'fs-native-extensions') throw new Error('made to be missing')
  return load.call(this, name, ...rest)
}
