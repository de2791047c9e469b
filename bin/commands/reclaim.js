'use strict'

// flumelog reclaim: frees the space of deleted records.

const { resultOf } = require('../../lib/callbacks')
const { fileToWrite } = require('../arguments')
const { counted, size } = require('../numbers')
const { close, openToRead } = require('../open')
const { byteProgress } = require('../progress')
const { jsonOption, printResult, quietOption } = require('../result')
const { openToAppend } = require('../shared')
const { helpText } = require('../usage')

const EXAMPLES = `
Examples:
  flumelog reclaim my.log

Offsets and the size of the file stay the same; it takes less space on the disk (see \`flumelog stat\`). Space is freed by whole blocks, but for their first and last 4 KiB: a block in which one record is left takes as much as before. If another process owns the log and shares it, reclaim asks that process.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('reclaim')
    .summary('free blocks in which every record is deleted; offsets stay')
    .description('Frees the space of all blocks of which every record is deleted.')
    .argument('<file>', 'the log', fileToWrite)
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(reclaim)
}

/**
 * @param {string} file
 * @param {import('../result').ResultOptions} options
 */
async function reclaim (file, options) {
  // no log is created
  await close(await openToRead(file))
  const log = await openToAppend(file, { cacheSize: 0 })
  const bar = options.quiet ? null : byteProgress('reclaim')
  try {
    const onProgress = (/** @type {import('../../lib/space/types').ReclaimProgress} */ { bytes, total }) => bar?.update(bytes, total)
    /** @type {import('../../lib/space/reclaim').Reclaimed} */
    const { blocks, bytes } = await resultOf(cb => log.reclaim({ onProgress }, cb))
    bar?.stop()
    const where = log.role === 'client' ? ', by the process that owns the log' : ''
    const { role } = log
    const text = log.stats().holes === false && role !== 'client'
      ? 'nothing freed, since files cannot have holes here'
      : `${blocks === 0 ? 'nothing to free' : `freed ${size(bytes)} in ${counted(blocks, 'block')}`}${where}`
    printResult(options, file, text, { file, blocks, bytes, role })
  } finally {
    bar?.stop()
    await close(log)
  }
}

module.exports = { define }
