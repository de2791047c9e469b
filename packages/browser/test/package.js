'use strict'

const fs = require('fs')
const path = require('path')
const zlib = require('zlib')
const { testPackage } = require('../../../test/helpers/package-tests')

/** Bytes of what is loaded before a log is open, gzipped: by a page, and by its worker. */
const MAX_SIZES = { 'index.mjs': 7000, 'worker.mjs': 63000 }

testPackage('browser', {
  use (t, project) {
    const dist = path.join(project, 'node_modules', 'flumelog-browser', 'dist')
    const files = fs.readdirSync(dist).sort()
    t.deepEqual(files.map(file => file.replace(/-\w{8}\./, '-HASH.')), ['index.mjs', 'log.mjs', 'more-HASH.mjs', 'worker.mjs'])
    for (const [file, max] of Object.entries(MAX_SIZES)) {
      const size = zlib.gzipSync(fs.readFileSync(path.join(dist, file))).length
      t.ok(size < max, `${file}: ${size} bytes`)
    }
    t.match(fs.readFileSync(path.join(dist, 'worker.mjs'), 'utf8'), /import\(\/\* webpackIgnore: true \*\/\/\* @vite-ignore \*\/[\w$]+\(\)\)/, 'bundlers leave the address of the other file')
    for (const file of files) t.doesNotMatch(fs.readFileSync(path.join(dist, file), 'utf8'), /require\("/, `nothing of Node.js is left in ${file}`)
    t.end()
  }
})
