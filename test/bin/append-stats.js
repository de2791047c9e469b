'use strict'

// flumelog append --stats: counters of the log, printed while it appends.

const tape = require('tape')
const path = require('path')
const { spawn } = require('child_process')
const { testFolder } = require('../helpers/folder')

const PROGRAM = path.join(__dirname, '../../bin/flumelog.js')

tape('append --stats prints counters every second while it waits for input, and at exit', (t) => {
  const child = spawn(process.execPath, [PROGRAM, 'append', '--stats', testFolder(t)('log')], { stdio: ['pipe', 'ignore', 'pipe'] })
  let said = ''
  const seen = []
  let isSent = false
  child.stderr.on('data', (data) => {
    said += data
    const lines = said.split('\n')
    said = lines.pop()
    for (const line of lines) if (line.startsWith('{')) seen.push(JSON.parse(line).written.records)
    // the next line is printed even if no input arrives
    if (seen.includes(2) && !isSent) {
      isSent = true
      child.stdin.write('three\n')
    }
    if (seen.includes(3)) child.stdin.end()
  })
  child.stdin.write('one\ntwo\n')
  child.on('close', (code) => {
    t.equal(code, 0)
    const counts = [...new Set(seen)].filter(count => count > 1)
    t.deepEqual(counts, [2, 3], `${seen.length} lines`)
    t.ok(seen.filter(count => count === 3).length > 1, 'one of them at exit')
    t.end()
  })
})
