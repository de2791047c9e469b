'use strict'

// What a log needs is loaded when it is open.

const { spawnSync } = require('child_process')
const path = require('path')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { isNode } = require('../helpers/runtime')

const PROGRAM = path.join(__dirname, '..', 'helpers', 'programs', 'without-code.js')

tape('once a log is open, all that can be done with it works without loading a module', { skip: !isNode && 'modules are loaded otherwise here' }, (t) => {
  const { stdout, stderr } = spawnSync(process.execPath, [PROGRAM, JSON.stringify({ file: testFolder(t)('log') })], { encoding: 'utf8' })
  t.equal(stderr, '')
  t.deepEqual(stdout.trim().split('\n').map(line => JSON.parse(line)), [{ done: true }])
  t.end()
})
