'use strict'

// Garbage that is collected when a benchmark says so.

const v8 = require('v8')
const vm = require('vm')

v8.setFlagsFromString('--expose-gc')
const collectGarbage = /** @type {() => void} */ (vm.runInNewContext('gc'))

module.exports = { collectGarbage }
