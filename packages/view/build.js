'use strict'

// Makes the declarations, and puts the libraries of the page beside it, with their licences.

const fs = require('fs')
const path = require('path')
const { PAGE, VENDOR, fileOf } = require('./lib/http/assets')

const vendored = path.join(PAGE, 'vendor')
fs.rmSync(vendored, { recursive: true, force: true })
fs.mkdirSync(vendored)
for (const [name, file] of Object.entries(VENDOR)) fs.copyFileSync(fileOf(file), path.join(vendored, name))
// the first has the second in it
const licences = ['htm', 'preact', 'uplot'].map(name => `${name}\n\n${fs.readFileSync(fileOf(`${name}/LICENSE`), 'utf8').trim()}\n`)
fs.writeFileSync(path.join(vendored, 'LICENSES.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`))
require('../../build')
