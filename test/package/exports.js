'use strict'

// The entry points of the package: what another program can require and import by the
// name of the package.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')

const ROOT = path.join(__dirname, '..', '..')
const { name, exports: entries } = require('../../package.json')

/** What each entry exports, by name. */
const EXPORTS = {
  '.': [],
  './promises': ['open', 'wrap', 'FlumeLog'],
  './maintenance': ['verify', 'repair', 'restore', 'openOffsetMap'],
  './blocks': ['blocksOf', 'openBlocks', 'recordsOf', 'dataOf', 'startOfLarge', 'LogBlocks', 'CopiedLog', 'noCounts', 'tally', 'layout', 'chunk', 'checksumOf', 'storedChecksum', 'crc32',
    'detectBlockSize', 'endOfRecords', 'findProblem', 'frameProblem', 'isHole', 'isZeros', 'lines', 'files', 'callbacks', 'errors', 'format', 'shorten', 'mustBePath', 'onAbort', 'optionNames', 'workFor'],
  './json': ['compact', 'pretty', 'finder', 'decodeJson', 'parseFilter', 'quoted', 'filterOf', 'searchJson', 'cellText', 'rowOf', 'parseDate', 'unitOf'],
  './parts': ['DirectLog', 'found', 'Stream', 'BatchStream', 'OpenStreams', 'TurnBudget', 'NextChange', 'createSince', 'observable', 'replaceable', 'sink', 'RecordCodec', 'settingsOf', 'checkAfter', 'streamRangeOf',
    'scanRangeOf', 'deletionRangeOf']
}

tape('import and require return the same', (t) => {
  const output = run(t, 'program.mjs', `
    import { createRequire } from 'module'
    const require = createRequire(import.meta.url)
    for (const entry of ${JSON.stringify(Object.keys(entries).filter(entry => entries[entry].types !== undefined))}) {
      const module = '${name}' + entry.slice(1)
      const imported = await import(module)
      const required = require(module)
      const names = Object.keys(required)
      console.log(entry, imported.default === required && names.every(name => imported[name] === required[name]), ...names)
    }`)
  t.equal(output, Object.entries(EXPORTS).map(([entry, names]) => [entry, true, ...names].join(' ') + '\n').join(''))
  t.end()
})

tape('only entry points and package.json can be required by the name of the package', (t) => {
  const output = run(t, 'program.cjs', `
    console.log(require('${name}/package.json').name)
    try {
      require('${name}/lib/log')
    } catch (err) {
      console.log(/^(ERR_PACKAGE_PATH_NOT_EXPORTED|MODULE_NOT_FOUND)$/.test(err.code))
    }`)
  t.equal(output, `${name}\ntrue\n`)
  t.end()
})

/** Runs a program in a directory in which the package is installed. */
function run (t, file, program) {
  const folder = testFolder(t)
  fs.mkdirSync(folder('node_modules'))
  fs.symlinkSync(ROOT, folder(`node_modules/${name}`), 'junction')
  fs.writeFileSync(folder(file), program)
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { cwd: folder('.'), encoding: 'utf8' })
  t.equal(status, 0, stderr || 'it ends with code 0')
  return stdout
}
