'use strict'

// Checks the code itself: its style, and its JSDoc types with TypeScript.

const path = require('path')
const { execFile } = require('child_process')
const test = require('tape')

const ROOT = path.join(__dirname, '..', '..')

/** Both make so many objects that, with the default of 16 MB for young ones, collecting them takes a seventh of the time. */
const OPTIONS = ['--max-semi-space-size=64', '--single-threaded-gc']

/** @returns {Promise<string>} the problems that the program printed; empty if there are none */
function problemsFoundBy (module, bin) {
  const program = path.join(path.dirname(require.resolve(`${module}/package.json`)), bin)
  return new Promise(resolve => {
    execFile(process.execPath, [...OPTIONS, program], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 }, (err, stdout, stderr) => resolve(err ? stdout + stderr : ''))
  })
}

test('the code is in standard style', async (t) => {
  t.equal(await problemsFoundBy('standard', 'bin/cmd.cjs'), '')
})

test('the types are correct', async (t) => {
  t.equal(await problemsFoundBy('typescript', 'bin/tsc'), '')
})
