'use strict'

// The code itself: its style, and its types, which JSDoc says and TypeScript checks.

const path = require('path')
const { execFile } = require('child_process')
const test = require('tape')

const ROOT = path.join(__dirname, '..', '..')

/** @returns {Promise<string>} what the program printed, if it found fault; else nothing */
function faultsFoundBy (module, bin) {
  const program = path.join(path.dirname(require.resolve(`${module}/package.json`)), bin)
  return new Promise(resolve => {
    execFile(process.execPath, [program], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 }, (err, stdout, stderr) => resolve(err ? stdout + stderr : ''))
  })
}

test('the code is in standard style', async (t) => {
  t.equal(await faultsFoundBy('standard', 'bin/cmd.cjs'), '')
})

test('types are right', async (t) => {
  t.equal(await faultsFoundBy('typescript', 'bin/tsc'), '')
})
