'use strict'

// When preloaded, makes the package that locks files fail to load, as on platforms without a
// build of it.

const Module = require('module')

const load = Module._load
Module._load = function (name, ...rest) {
  if (name === 'fs-native-extensions') throw new Error('made to be missing')
  return load.call(this, name, ...rest)
}
