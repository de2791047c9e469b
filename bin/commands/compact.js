'use strict'

// flumelog compact: rewrites a log without its deleted records.

const { promised } = require('../../lib/callbacks')
const { fileToWrite } = require('../arguments')
const { FRAME_SIZE } = require('../../lib/format/layout')
const { UserError, codeOf, writeStderr } = require('../errors')
const { printable } = require('../escapes')
const { untilInterrupted } = require('../interrupts')
const { counted, size } = require('../numbers')
const { close, openToRead } = require('../open')
const { byteProgress } = require('../progress')
const { confirm, mustBeAskable } = require('../question')
const { jsonOption, printResult, quietOption } = require('../result')
const { openToAppend } = require('../shared')
const { describeDeleted, survey } = require('../survey')
const { helpText } = require('../usage')

const EXAMPLES = `
Examples:
  flumelog compact my.log                 frees what deleted records take
  flumelog compact my.log --yes           the same without asking

OFFSETS CHANGE: records get new ones, greater than all before, so an offset
from before never leads to another record. my.log.offset-map leads from the
old ones to the new ones; views under flumedb are rebuilt when they are opened.
The command first reads all of the log: one without deleted records stays as
it is, and on a terminal, it says how much is deleted before it asks.

The log is copied into my.log.unfinished, which then takes its place: until
then, Ctrl-C, a crash or a full disk leave it as it was, and the same command
starts again. It needs as much free disk space as the records that stay. If
programs share the log, the one that owns it compacts it, also after Ctrl-C.
Otherwise, no other process may have it open for writing. Readers follow.`

const NOTHING = 'nothing to drop: no record is deleted; the log is as it was'

/** @param {import('commander').Command} program */
function define (program) {
  program.command('compact')
    .summary('rewrite a log without its deleted records; offsets change')
    .description('Rewrites a log without its deleted records.')
    .argument('<file>', 'the log', fileToWrite)
    .option('-y, --yes', 'do not ask; required if standard input or stderr is not a terminal')
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(compact)
}

/**
 * @param {string} file
 * @param {{ yes?: boolean } & import('../result').ResultOptions} options
 * @param {import('commander').Command} command
 */
async function compact (file, { yes, json, quiet }, command) {
  mustBeAskable(yes, command)
  // no log is created
  await close(await openToRead(file))
  const { size: end, start: from, counts, valid } = await survey(file, 'counting')
  const bytes = end - from
  // what is corrupt is found by the compaction
  if (valid && counts.deleted === 0) {
    return printResult({ json, quiet }, file, NOTHING, { file, changed: false, before: bytes, after: bytes, records: counts.records, deleted: 0, start: from, role: null })
  }
  if (!yes) describe(file, counts)
  if (!yes && !await confirm(`Compact ${printable(file)}? The offsets of all records change.`, `${file}: not compacted`)) return
  /** @type {string | null} */
  let role = null
  const { before, after, records, deleted, start } = await untilInterrupted(file, (signal) => compacted(file, signal, quiet, (itsRole) => { role = itsRole }), {
    left: () => role === 'client' ? 'the process that owns the log goes on' : 'the log is as it was; the same command starts over'
  })
  const where = role === 'client' ? ', by the process that owns the log' : ''
  const text = `${size(before)} became ${size(after)}: ${counted(records, 'record')} kept, ${counted(deleted, 'deleted record or freed block', 'deleted records or freed blocks')} dropped${where}; offsets have changed`
  printResult({ json, quiet }, file, text, { file, changed: true, before, after, records, deleted, start, role })
}

/**
 * Shows what the question is about.
 * @param {string} file
 * @param {import('../../maintenance').Report['counts']} counts
 */
function describe (file, { records, bytes, deleted, freed, deletedBytes, framing }) {
  const kept = bytes + records * FRAME_SIZE
  const dropped = deletedBytes + framing - records * FRAME_SIZE
  writeStderr(`${file}: ${describeDeleted(deleted - freed, freed, 'deleted record')} (${size(dropped)}) ${deleted === 1 ? 'goes' : 'go'}; ${counted(records, 'record')} (${size(kept)}) ${records === 1 ? 'stays' : 'stay'}`)
}

/**
 * @param {string} file
 * @param {AbortSignal} signal
 * @param {boolean | undefined} quiet without a progress bar
 * @param {(role: string | null) => void} onopen told of the role of this process, if others share the log
 * @returns {Promise<import('../../lib/space/types').Compacted>} once the log is closed
 */
async function compacted (file, signal, quiet, onopen) {
  const log = await openToCompact(file)
  onopen(log.role)
  const bar = quiet ? null : byteProgress('compacting')
  try {
    return await promised(cb => log.compact({ signal, onProgress: ({ bytes, total }) => bar?.update(bytes, total) }, cb))
  } finally {
    bar?.stop()
    await close(log)
  }
}

/**
 * @param {string} file
 * @returns {Promise<import('../open').Log>} a shared one if others share it: the process that owns it compacts it then
 */
async function openToCompact (file) {
  try {
    return await openToAppend(file, { cacheSize: 0 })
  } catch (err) {
    if (codeOf(err) !== 'flumelog:locked') throw err
    throw new UserError(`${file}: another program has this log open for writing; close it there first, or have that program call log.compact()`)
  }
}

module.exports = { define }
