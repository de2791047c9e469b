'use strict'

// flumelog get: prints one record, by its offset.

const { natural } = require('../arguments')
const { encodingOption } = require('../encodings')
const { advise } = require('../errors')
const { openToRead, close } = require('../open')
const { Output } = require('../output')
const { printer, refuseRawSeqs } = require('../printer')

const EXAMPLES = `
Examples:
  flumelog get my.log 0                    the first record
  flumelog get my.log 1048576 -e json      pretty-printed`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('get')
    .summary('print the record at an offset')
    .description('Prints the record that starts at an offset of the file.')
    .argument('<file>', 'the log')
    .argument('<seq>', "the record's offset; `flumelog dump --seqs` prints offsets", natural)
    .addOption(encodingOption('how to print the record'))
    .option('-s, --seqs', 'prefix the record with its offset and a tab')
    .addHelpText('after', EXAMPLES)
    .action(get)
}

/**
 * @param {string} file
 * @param {number} seq
 * @param {import('../printer').PrintOptions} options
 * @param {import('commander').Command} command
 */
async function get (file, seq, options, command) {
  refuseRawSeqs(options, command)
  const log = await openToRead(file)
  const output = new Output(process.stdout)
  try {
    printer(output, file, options)(await recordAt(log, seq), seq)
  } finally {
    await output.end()
    await close(log)
  }
}

/**
 * @param {import('../open').Log} log
 * @param {number} seq
 * @returns {Promise<Buffer>}
 */
function recordAt (log, seq) {
  return new Promise((resolve, reject) => log.get(seq, (err, value) => {
    if (!err) return resolve(/** @type {Buffer} */ (value))
    const advised = advise(err, 'flumelog:not-found', 'use flumelog dump --seqs to list the offsets')
    reject(advise(advised, 'flumelog:corrupt', 'use flumelog verify to list all corrupt blocks'))
  }))
}

module.exports = { define }
