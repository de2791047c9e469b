'use strict'

const fs = require('fs')
const path = require('path')
const zlib = require('zlib')
const { testPackage } = require('../../../test/helpers/package-tests')

/** Bytes of what a page loads before it opens a log, gzipped. */
const MAX_SIZE = 40000

testPackage('browser', {
  use (t, project) {
    const dist = path.join(project, 'node_modules', 'flumelog-browser', 'dist')
    t.deepEqual(fs.readdirSync(dist).sort(), ['index.mjs', 'log.mjs', 'worker.mjs'])
    const size = zlib.gzipSync(fs.readFileSync(path.join(dist, 'index.mjs'))).length
    t.ok(size < MAX_SIZE, `${size} bytes`)
    t.doesNotMatch(fs.readFileSync(path.join(dist, 'log.mjs'), 'utf8'), /require\("/, 'nothing of Node.js is left')
    t.end()
  }
})
