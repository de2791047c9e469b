'use strict'

// Temporary folders that do not outlive their use.

const fs = require('fs')
const os = require('os')
const path = require('path')

/**
 * @param {import('tape').Test} t when it ends, the folder goes
 * @returns {(name: string) => string} gives the path of a file in the folder
 */
function testFolder (t) {
  const folder = make()
  t.teardown(() => remove(folder))
  return (name) => path.join(folder, name)
}

/** @returns {string} the path of a folder that goes when the process does */
function processFolder () {
  const folder = make()
  process.on('exit', () => remove(folder))
  return folder
}

function make () {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'flumelog-test-'))
}

/** @param {string} folder */
function remove (folder) {
  fs.rmSync(folder, { recursive: true, force: true })
}

module.exports = { testFolder, processFolder }
