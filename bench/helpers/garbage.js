'use strict'

// Garbage that is collected when a benchmark says so, on Node.js.

const v8 = require('v8')
const vm = require('vm')

/** @type {(() => void) | null} */
let gc = null

function collectGarbage () {
  if (gc === null) {
    v8.setFlagsFromString('--expose-gc')
    gc = /** @type {() => void} */ (vm.runInNewContext('gc'))
  }
  gc()
}

module.exports = { collectGarbage }
