'use strict'

// Checks the table in docs/comparison.md that compares flumelogs: each cell is tested, with the
// installed versions.

const fs = require('fs')
const path = require('path')
const { spawn } = require('child_process')
const tape = require('tape')
const { KINDS } = require('../helpers/comparison/flumelogs')
const { features } = require('../helpers/comparison/features')
const { testFolder } = require('../helpers/folder')
const { tableUnder } = require('../helpers/tables')

const TRY = path.join(__dirname, '..', 'helpers', 'comparison', 'try.js')
const page = (name) => fs.readFileSync(path.join(__dirname, '..', '..', name), 'utf8')

tape('the table of features in docs/comparison.md agrees with the results of testing each feature', async (t) => {
  const folder = testFolder(t)
  const columns = await Promise.all(KINDS.map(({ name }) => tryAll(name, folder(name))))
  const table = tableUnder(page('docs/comparison.md'), '## Other flumelogs')
  t.deepEqual(table[0], ['', 'this log', ...KINDS.slice(1).map(({ name }) => name)], 'the logs that are compared')
  features.forEach(({ name }, i) => {
    const cells = columns.map(column => column[i])
    t.deepEqual(table[i + 1], [name, ...cells], `${name}: ${cells.join(', ')}`)
  })
  t.equal(table.length, features.length + 1, 'it has no further rows')
})

tape('docs/comparison.md says how each feature is tested, and with which versions', (t) => {
  const text = page('docs/comparison.md')
  for (const { name, how } of features) t.ok(text.includes(`- **${name}**: ${how}\n`), name)
  t.equal(text.match(/^- \*\*/gm).length, features.length, 'it explains no others')
  for (const { name } of KINDS.slice(1)) {
    const { version } = JSON.parse(page(`node_modules/${name}/package.json`))
    t.ok(text.includes(`${name} ${version}`), `${name} ${version}`)
  }
  t.end()
})

/** @returns {Promise<string[]>} the cells of a column */
async function tryAll (name, folder) {
  const cells = []
  fs.mkdirSync(folder)
  while (cells.length < features.length) {
    const found = await tryFrom(name, folder, cells.length)
    if (found.length === 0) throw new Error(`${name}: trying “${features[cells.length].name}” gave no answer`)
    cells.push(...found)
  }
  return cells
}

/** Tests features in sequence until one crashes the process. */
function tryFrom (name, folder, from) {
  // standard input must be writable, like a terminal: flumelog-memory writes to it if it cannot open its file
  const child = spawn(process.execPath, [TRY, name, 'features', folder, String(from)], { stdio: ['pipe', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.on('data', data => { output += data })
  return new Promise(resolve => {
    child.on('close', () => resolve(output.split('\n').slice(0, -1).map(line => cellOf(JSON.parse(line)))))
  })
}

const cellOf = ({ works }) => typeof works === 'string' ? works : works ? 'yes' : 'no'
