'use strict'

// flumelog cursors: lists the cursors of a log with what is left for them to read, or deletes one.

const fs = require('fs')
const path = require('path')
const { promised } = require('../../lib/callbacks')
const { deleteCursor } = require('../../lib/cursors/cursor-file')
const { cursorNames, cursorPath } = require('../../lib/cursors/cursor-name')
const { cursorName, fileName } = require('../arguments')
const { UserError, codeOf } = require('../errors')
const { count, counted, size } = require('../numbers')
const { close, openToRead } = require('../open')
const { printResult } = require('../result')
const { helpText } = require('../usage')

/**
 * @typedef {import('../open').Log} Log
 * @typedef {import('../../lib/types').CursorInfo} CursorInfo
 * @typedef {{ bytes: number, records: number | null }} Lag records: those that are not deleted; null: too many bytes to count them
 * @typedef {CursorInfo & { lag: Lag | null }} Row lag: null if the position cannot be one of this log
 */

/** Up to this many bytes are read to count records. */
const MAX_COUNTED = 256 * 1024 * 1024

const EXAMPLES = `
Examples:
  flumelog cursors my.log
  flumelog cursors my.log --json | jq '.cursors[].lag.bytes'
  flumelog cursors my.log --delete mailer

The lag is what comes after the record that was committed last. A cursor that was deleted starts again at the start of the log.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('cursors')
    .summary('list cursors, and how far behind they are')
    .description('Lists the named cursors of a log: where they are, what is left for them to read, and whether a process holds them.')
    .argument('<file>', 'the log', fileName)
    .option('-d, --delete <name>', 'delete a cursor that no process holds', cursorName)
    .option('-j, --json', 'print JSON')
    .addHelpText('after', helpText(EXAMPLES))
    .action(cursors)
}

/**
 * @param {string} file
 * @param {{ delete?: string, json?: boolean }} options
 */
async function cursors (file, { delete: name, json }) {
  if (name === undefined) return await list(file, json === true)
  await remove(file, name)
  printResult({ json }, file, `deleted the cursor ${name}`, { file, deleted: name })
}

/**
 * @param {string} file
 * @param {boolean} json
 */
async function list (file, json) {
  const log = await openToRead(file)
  try {
    const { size: end } = log.stats()
    const rows = []
    /** @type {CursorInfo[]} */
    const infos = await promised(cb => log.cursors(cb))
    for (const info of infos) rows.push({ ...info, lag: await lagOf(log, info.seq, end) })
    if (json) process.stdout.write(JSON.stringify({ file, end, cursors: rows }, null, 2) + '\n')
    else if (rows.length === 0) printResult({}, file, 'no cursors', {})
    else process.stdout.write(tableOf(rows).join('\n') + '\n')
  } finally {
    await close(log)
  }
}

/**
 * @param {Log} log
 * @param {number | null} seq of a cursor
 * @param {number} end of the log
 * @returns {Promise<Lag | null>}
 */
async function lagOf (log, seq, end) {
  if (seq === null || seq >= end) return null
  // loaded lazily: without cursors it is not needed
  const { RecordIterator } = require('../../lib/wrappers/iterator')
  let bytes = 0
  let records = 0
  for await (const seqs of new RecordIterator(log.batches({ gt: seq, lt: end, values: false, cache: false, skipCorrupt: true, fromStart: true }))) {
    if (records === 0) bytes = end - seqs[0]
    if (bytes > MAX_COUNTED) return { bytes, records: null }
    records += seqs.length
  }
  return { bytes, records }
}

/**
 * @param {Row[]} rows
 * @returns {string[]} lines
 */
function tableOf (rows) {
  const cells = [['cursor', 'seq', 'held', 'lag'], ...rows.map(row => [row.name, seqText(row), row.held ? 'yes' : 'no', lagText(row)])]
  const widths = cells[0].map((_, column) => Math.max(...cells.map(row => row[column].length)))
  return cells.map(([name, seq, held, lag]) => `${name.padEnd(widths[0])}  ${seq.padStart(widths[1])}  ${held.padEnd(widths[2])}  ${lag}`)
}

/** @param {Row} row */
function seqText ({ seq }) {
  return seq === null ? 'corrupt' : seq === -1 ? 'none' : String(seq)
}

/** @param {Row} row */
function lagText ({ seq, lag }) {
  if (lag === null) return seq === null ? '' : 'after the end of the log'
  const bytes = lag.bytes < 1000 ? counted(lag.bytes, 'byte') : size(lag.bytes)
  return lag.records === null ? bytes : `${count(lag.records)} ${lag.records === 1 ? 'record' : 'records'}, ${bytes}`
}

/**
 * @param {string} file
 * @param {string} name
 */
async function remove (file, name) {
  const logPath = await fs.promises.realpath(file)
  const folder = path.dirname(logPath)
  const isDeleted = await deleteCursor(cursorPath(logPath, name), cursorPath(file, name), name).catch((err) => {
    throw codeOf(err) === 'flumelog:locked' ? new UserError(`${file}: a process holds the cursor ${name}; close it there first`) : err
  })
  if (!isDeleted) {
    const names = cursorNames(logPath, await fs.promises.readdir(folder))
    throw new UserError(`${file}: no cursor ${name}${names.length === 0 ? '' : `; it has ${names.join(', ')}`}`)
  }
}

module.exports = { define }
