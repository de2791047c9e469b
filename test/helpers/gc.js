'use strict'

const v8 = require('v8')
const vm = require('vm')
const { runtime } = require('./runtime')

/** Collects garbage. @returns {() => void} */
function collector () {
  if (runtime === 'bun') return () => /** @type {any} */ (globalThis).Bun.gc(true)
  v8.setFlagsFromString('--expose-gc')
  return vm.runInNewContext('gc')
}

module.exports = { gc: collector() }
