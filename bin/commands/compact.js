'use strict'

// flumelog compact: rewrites a log without its deleted records.

const { fileToWrite } = require('../arguments')
const { FRAME_SIZE } = require('../../lib/format/layout')
const { UserError, codeOf, reportRecovery, writeStderr } = require('../errors')
const { printable } = require('../escapes')
const { untilInterrupted } = require('../interrupts')
const { counted, size } = require('../numbers')
const { close, openToRead } = require('../open')
const { byteProgress } = require('../progress')
const { confirm, mustBeAskable } = require('../question')
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
A log without deleted records stays as it is. On a terminal, compact says
how much is deleted before it asks.

The log is copied into my.log.compacting, which then takes its place: until
then, Ctrl-C, a crash or a full disk leave it as it was. After Ctrl-C, a kill
or a crash, the same command goes on with that file; remove it if you do not
want to. It needs as much free disk space as the records that stay. If programs
share the log, the one that owns it compacts it, also after Ctrl-C. Otherwise,
no other process may have it open for writing. Readers follow.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('compact')
    .summary('rewrite a log without its deleted records; offsets change')
    .description('Rewrites a log without its deleted records.')
    .argument('<file>', 'the log', fileToWrite)
    .option('-y, --yes', 'do not ask; required if standard input or stderr is not a terminal')
    .addHelpText('after', helpText(EXAMPLES))
    .action(compact)
}

/**
 * @param {string} file
 * @param {{ yes?: boolean }} options
 * @param {import('commander').Command} command
 */
async function compact (file, { yes }, command) {
  mustBeAskable(yes, command)
  // no log is created
  await close(await openToRead(file))
  if (!yes && !await isWorthIt(file)) {
    process.stdout.write(nothingToDrop(file))
    return
  }
  if (!yes && !await confirm(`Compact ${printable(file)}? The offsets of all records change.`, `${file}: not compacted`)) return
  let isClient = false
  const { isSame, before, after, records, deleted } = await untilInterrupted(file, (signal) => compacted(file, signal, (role) => { isClient = role === 'client' }), {
    left: () => isClient ? 'the process that owns the log goes on' : 'the log is as it was, and the next compact goes on from here'
  })
  const where = isClient ? ', by the process that owns the log' : ''
  if (isSame) process.stdout.write(nothingToDrop(file))
  else process.stdout.write(`${printable(file)}: ${size(before)} became ${size(after)}: ${counted(records, 'record')} kept, ${counted(deleted, 'deleted record or freed block', 'deleted records or freed blocks')} dropped${where}; offsets have changed\n`)
}

/**
 * Shows what the question is about.
 * @param {string} file
 * @returns {Promise<boolean>} whether anything is to be dropped; what is corrupt is found by the compaction
 */
async function isWorthIt (file) {
  const { counts, valid } = await survey(file, 'counting')
  if (counts.deleted === 0) return !valid
  const { records, bytes, deleted, freed, deletedBytes, framing } = counts
  const dropped = deletedBytes + framing - records * FRAME_SIZE
  writeStderr(`${file}: ${describeDeleted(deleted - freed, freed, 'deleted record')} (${size(dropped)}) ${deleted === 1 ? 'goes' : 'go'}; ${counted(records, 'record')} (${size(bytes + records * FRAME_SIZE)}) ${records === 1 ? 'stays' : 'stay'}`)
  return true
}

/** @param {string} file */
function nothingToDrop (file) {
  return `${printable(file)}: nothing to drop: no record is deleted; the log is as it was\n`
}

/**
 * @param {string} file
 * @param {AbortSignal} signal
 * @param {(role: string | null) => void} onopen told of the role of this process, if others share the log
 * @returns {Promise<import('../../lib/space/types').Compacted & { isSame: boolean }>} once the log is closed
 */
async function compacted (file, signal, onopen) {
  const log = await openToCompact(file)
  onopen(log.role)
  const bar = byteProgress('compacting')
  try {
    const { id } = log
    /** @type {import('../../lib/space/types').Compacted} */
    const compacted = await new Promise((resolve, reject) => {
      log.compact({ signal, onProgress: ({ bytes, total }) => bar.update(bytes, total) }, (err, compacted) => err ? reject(err) : resolve(compacted))
    })
    return { ...compacted, isSame: compacted.id === id }
  } finally {
    bar.stop()
    await close(log)
  }
}

/**
 * @param {string} file
 * @returns {Promise<import('../open').Log>} a shared one if others share it: the process that owns it compacts it then
 */
async function openToCompact (file) {
  try {
    const { log, cut } = await openToAppend(file, { cacheSize: 0 }, undefined)
    if (cut !== null) reportRecovery(file, cut)
    return log
  } catch (err) {
    if (codeOf(err) !== 'flumelog:locked') throw err
    throw new UserError(`${file}: another program has this log open for writing; close it there first, or have that program call log.compact()`)
  }
}

module.exports = { define }
