'use strict'

// What the benchmarks are told on the command line, and the file that a run leaves.

const fs = require('fs')
const os = require('os')
const path = require('path')
const { parseArgs } = require('util')
const { environment } = require('./environment')

const NAMES = ['flumelog', 'layers', 'append', 'batching', 'burst', 'random', 'io', 'scale']
const RESULTS = path.join(__dirname, '..', 'results.jsonl')

const USAGE = `
  NAME            benchmarks to run: ${NAMES.join(', ')}; default: all
  --full          the large sizes; without it, all run in about five minutes
  --rounds N      how often each row is measured
  --folder PATH   where logs are written; default: the system's temporary folder
`

/**
 * Ends the process if they make no sense.
 * @param {string} usage how the program is called
 * @param {object} [more] options of its own, as for parseArgs
 * @returns {{ names: string[], size: 'quick' | 'full', rounds?: number, folder: string, values: Record<string, any> }}
 */
function settings (usage, more = {}) {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { full: { type: 'boolean' }, rounds: { type: 'string' }, folder: { type: 'string' }, ...more }
    })
    const wrong = positionals.find(name => !NAMES.includes(name))
    if (wrong !== undefined) throw new Error(`there is no benchmark '${wrong}'`)
    const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
    if (rounds !== undefined && !(rounds >= 1)) throw new Error('--rounds takes a number of 1 or more')
    const folder = path.resolve(values.folder ?? os.tmpdir())
    if (!fs.existsSync(folder)) throw new Error(`there is no folder ${folder}`)
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
    return { names: positionals.length > 0 ? positionals : NAMES, size: values.full ? 'full' : 'quick', rounds, folder, values }
  } catch (err) {
    console.error(`${err.message}\n\n${usage}\n${USAGE}`)
    process.exit(2)
  }
}

/**
 * Begins the file of a run: a line of JSON about the machine, then a line a measure.
 * @param {'quick' | 'full'} size
 * @param {string} [filename]
 * @returns {(line: object) => void} adds a line
 */
function beginResults (size, filename = RESULTS) {
  fs.writeFileSync(filename, JSON.stringify({ size, ...environment() }) + '\n')
  return (line) => fs.appendFileSync(filename, JSON.stringify(line) + '\n')
}

/**
 * @param {string} [filename]
 * @returns {{ about: object, lines: import('./results').Line[] }}
 */
function readResults (filename = RESULTS) {
  const [about, ...lines] = fs.readFileSync(filename, 'utf8').trim().split('\n').map(line => JSON.parse(line))
  return { about, lines }
}

module.exports = { NAMES, settings, beginResults, readResults }
