'use strict'

// flumelog search: finds the first record at or after a value, by binary search.

const { jsonPath } = require('../arguments')
const { encodingOption } = require('../encodings')
const { UserError, advise } = require('../errors')
const { openToRead, close } = require('../open')
const { Output } = require('../output')
const { printer, refuseRawSeqs } = require('../printer')

/** @typedef {import('../printer').PrintOptions & { path: string[], value: string }} SearchOptions */

const EXAMPLES = `
Examples:
  flumelog search my.log --path timestamp --value 1600000000
  flumelog search my.log --path value.author --value @bob --seqs

The records must be JSON, sorted by the value at the path. If both values are
numbers, they are compared as numbers, otherwise as text. To print the records
that follow, pass the offset that --seqs prints to \`flumelog dump --gte\`.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('search')
    .summary('find the first record at or after a value')
    .description('Prints the first record whose JSON value at a path is greater than or equal to the given one.')
    .argument('<file>', 'the log')
    .requiredOption('-p, --path <keys>', 'where the value is in a record: keys separated by dots', jsonPath)
    .requiredOption('-v, --value <value>', 'the value to search for')
    .addOption(encodingOption('how to print the record'))
    .option('-s, --seqs', 'prefix the record with its offset and a tab')
    .addHelpText('after', EXAMPLES)
    .action(search)
}

/**
 * @param {string} file
 * @param {SearchOptions} options
 * @param {import('commander').Command} command
 */
async function search (file, options, command) {
  refuseRawSeqs(options, command)
  const log = await openToRead(file)
  const output = new Output(process.stdout)
  try {
    const { seq, data } = await find(log, file, options)
    printer(output, file, options)(data, seq)
  } finally {
    await output.end()
    await close(log)
  }
}

/**
 * @param {import('../open').Log} log
 * @param {string} file
 * @param {SearchOptions} options
 * @returns {Promise<{ seq: number, data: Buffer }>}
 */
function find (log, file, { path, value }) {
  const name = path.join('.')
  /** @type {(data: Buffer, seq: number) => number} */
  const compare = (data, seq) => compareValues(valueAt(data, seq), value)

  /**
   * @param {Buffer} data
   * @param {number} seq
   * @returns {string | number | boolean}
   */
  function valueAt (data, seq) {
    let found
    try {
      found = JSON.parse(data.toString())
    } catch (err) {
      throw new UserError(`${file}: the record at offset ${seq} is not JSON: ${/** @type {Error} */ (err).message}`)
    }
    for (const key of path) found = found !== null && typeof found === 'object' && Object.hasOwn(found, key) ? found[key] : undefined
    if (found !== null && found !== undefined && typeof found !== 'object') return found
    throw new UserError(`${file}: the record at offset ${seq} has no number, string or boolean at ${name}; check --path`)
  }

  return new Promise((resolve, reject) => log.search(compare, (err, seq, data) => {
    if (!err) resolve(/** @type {{ seq: number, data: Buffer }} */ ({ seq, data }))
    else if (/** @type {import('../errors').CodedError} */ (err).code === 'flumelog:not-found') reject(new UserError(`${file}: no record with \`${name}\` >= ${value}`))
    else reject(advise(err, 'flumelog:corrupt', 'use flumelog verify to list all corrupt blocks'))
  }))
}

/**
 * @param {string | number | boolean} found in a record
 * @param {string} wanted
 * @returns {number} negative if `found` is less than `wanted`
 */
function compareValues (found, wanted) {
  const number = wanted.trim() === '' ? NaN : Number(wanted)
  if (typeof found === 'number' && !Number.isNaN(number)) return Math.sign(found - number)
  const text = String(found)
  return text < wanted ? -1 : text > wanted ? 1 : 0
}

module.exports = { define }
