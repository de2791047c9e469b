'use strict'

// How fast is the command line? Imports and exports the same lines with `flumelog` and with the tools of databases. Each run is
// a whole process, from its start to its exit, so there is no warm measurement.

const fs = require('fs')
const path = require('path')
const { spawn } = require('child_process')
const ours = require('./peers/ours')
const jsonLines = require('./peers/json-lines')
const { stored } = require('./helpers/rows')
const { RECORD_SIZE, recordMaker } = require('./helpers/records')

const counts = { quick: 100000, full: 1000000 }
const FLUMELOG = path.join(__dirname, '..', 'bin', 'flumelog.js')
/** Debian packages of the tools. */
const PACKAGES = { sqlite3: 'sqlite3', mdb_load: 'lmdb-utils', mdb_dump: 'lmdb-utils' }

// the separators occur in no line, so each line is one column
const IMPORT = ['.mode ascii', String.raw`.separator "\037" "\n"`, '.import /dev/stdin records']
const TABLE = 'CREATE TABLE records (value TEXT)'

/** Each stores the lines of standard input in a folder. */
const imports = [
  { name: 'flumelog append', run: (folder, input) => run(process.execPath, [FLUMELOG, 'append', '--quiet', path.join(folder, 'log')], { input }) },
  { name: 'sqlite3 .import', note: 'default settings, into a table with one column', run: (folder, input) => run('sqlite3', [database(folder), TABLE, ...IMPORT], { input }) },
  { name: 'sqlite3 .import, synchronous=OFF', note: 'and without a journal', run: (folder, input) => run('sqlite3', [database(folder), 'PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF', TABLE, ...IMPORT], { input }) }
]

/** Each writes the records of an input to standard output, as lines. */
const outputs = [
  { name: 'flumelog dump', input: (count) => stored(ours, count), run: (folder, output) => run(process.execPath, [FLUMELOG, 'dump', path.join(folder, 'log')], { output }) },
  { name: 'sqlite3 select', input: sqliteInput, run: (folder, output) => run('sqlite3', [database(folder), 'SELECT value FROM records ORDER BY rowid'], { output }) },
  { name: 'mdb_dump', note: '-p: values as text, each with its key', input: lmdbInput, run: (folder, output) => run('mdb_dump', ['-p', '-n', path.join(folder, 'mdb')], { output }) }
]

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const count = counts[size]
  const lines = stored(jsonLines, count)
  return [
    {
      name: `import of ${count.toLocaleString('en')} lines`,
      rows: imports.map(({ name, note, run }) => ({
        name,
        note,
        input: lines,
        async run ({ input, scratch }) {
          const file = path.join(input, 'records.jsonl')
          const seconds = await run(scratch, file)
          const stored = fs.readdirSync(scratch).reduce((sum, name) => sum + fs.statSync(path.join(scratch, name)).size, 0)
          return measureOf(seconds, count, stored)
        }
      }))
    },
    {
      name: `export of ${count.toLocaleString('en')} lines`,
      rows: outputs.map(({ name, note, input, run }) => ({
        name,
        note,
        input: input(count),
        async run ({ input, scratch }) {
          const output = path.join(scratch, 'lines')
          const seconds = await run(input, output)
          return measureOf(seconds, count, fs.statSync(output).size)
        }
      }))
    }
  ]
}

/**
 * @param {number} seconds
 * @param {number} count of records
 * @param {number} size of the result in bytes
 */
function measureOf (seconds, count, size) {
  if (size < count * RECORD_SIZE) throw new Error(`only ${size} bytes for ${count} records`)
  return { phase: 'cold', records: count, bytes: count * RECORD_SIZE, seconds }
}

/** @param {string} folder */
function database (folder) {
  return path.join(folder, 'records.sqlite')
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ input?: string, output?: string }} files
 * @returns {Promise<number>} seconds from its start to its exit
 */
function run (command, args, { input, output }) {
  const files = [input === undefined ? 'ignore' : fs.openSync(input, 'r'), output === undefined ? 'ignore' : fs.openSync(output, 'w'), 'inherit']
  const begin = performance.now()
  return new Promise((resolve, reject) => {
    spawn(command, args, { stdio: files })
      .on('error', (err) => reject(err.code === 'ENOENT' ? new Error(`not installed: Debian's package ${PACKAGES[command]}`) : err))
      .on('exit', (code, signal) => {
        const seconds = (performance.now() - begin) / 1000
        for (const file of files) if (typeof file === 'number') fs.closeSync(file)
        if (code === 0) resolve(seconds)
        else reject(new Error(`${command} exited with ${signal ?? code}`))
      })
  })
}

/** @param {number} count of records */
function sqliteInput (count) {
  return {
    name: 'sqlite3',
    async make (folder) {
      const lines = path.join(folder, 'records.jsonl')
      writeText(lines, count, (record) => `${record}\n`)
      await imports[1].run(folder, lines)
    }
  }
}

/** @param {number} count of records */
function lmdbInput (count) {
  return {
    name: 'mdb_load',
    async make (folder) {
      const text = path.join(folder, 'text')
      const head = `VERSION=3\nformat=print\ntype=btree\nmapsize=${count * 1024}\nmaxreaders=126\nHEADER=END\n`
      writeText(text, count, (record, n) => `${n === 0 ? head : ''} ${String(n).padStart(10, '0')}\n ${record}\n`, 'DATA=END\n')
      await run('mdb_load', ['-n', path.join(folder, 'mdb')], { input: text })
    }
  }
}

/**
 * @param {string} filename
 * @param {number} count of records
 * @param {(record: Buffer, n: number) => string} textOf
 * @param {string} [end]
 */
function writeText (filename, count, textOf, end = '') {
  const make = recordMaker()
  const file = fs.openSync(filename, 'w')
  for (let n = 0; n < count;) {
    let text = ''
    for (const stop = Math.min(count, n + 1000); n < stop; n++) text += textOf(make(n), n)
    fs.writeSync(file, text)
  }
  fs.writeSync(file, end)
  fs.closeSync(file)
}

module.exports = { name: 'commands', question: 'How fast is the command line?', groups }
