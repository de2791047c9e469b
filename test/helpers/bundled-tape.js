'use strict'

// Preloaded by test/run.js: makes tape the bundle of it that is in $TEST_SHARED. tape is some 200 small files, and finding and
// compiling them takes longer than most test files run.

const path = require('path')
const { isMainThread } = require('worker_threads')

if (isMainThread) {
  const bundle = path.join(/** @type {string} */ (process.env.TEST_SHARED), 'tape.js')
  require(bundle)
  require.cache[require.resolve('tape')] = require.cache[bundle]
}
