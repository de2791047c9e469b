'use strict'

// flumelog get: prints one record, by its offset.

const { fileName, offset } = require('../arguments')
const { encodingOption } = require('../encodings')
const { mustResolve } = require('../offsets')
const { openToRead, recordAt, close } = require('../open')
const { Output } = require('../output')
const { encodingFormat, printer, refuseRawSeqs } = require('../printer')
const { helpText } = require('../usage')

const EXAMPLES = `
Examples:
  flumelog get my.log end                  the last record
  flumelog get my.log 1048576 -e json      pretty-printed`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('get')
    .summary('print the record at an offset')
    .description('Prints the record that starts at an offset of the file.')
    .argument('<file>', 'the log', fileName)
    .argument('<seq>', 'offset of the record (see `flumelog dump --seqs`), or start or end for the first or last one', offset)
    .addOption(encodingOption('how to print the record'))
    .option('-s, --seqs', 'prefix the record with its offset and a tab')
    .addHelpText('after', helpText(EXAMPLES))
    .action(get)
}

/**
 * @param {string} file
 * @param {import('../arguments').Offset} offset
 * @param {import('../printer').PrintOptions} options
 * @param {import('commander').Command} command
 */
async function get (file, offset, options, command) {
  refuseRawSeqs(options, command)
  const log = await openToRead(file)
  const output = new Output(process.stdout)
  try {
    const seq = await mustResolve(log, file, offset)
    printer(output, file, encodingFormat(options))(await recordAt(log, seq), seq)
  } finally {
    await output.end()
    await close(log)
  }
}

module.exports = { define }
