'use strict'

// flumelog search: finds the first record at or after a value, by binary search.

const { fileName, jsonPath } = require('../arguments')
const { checkedJson, encodingOption } = require('../encodings')
const { UserError, VERIFY, advise, codeOf, writeStderr } = require('../errors')
const { shorten } = require('../../lib/format-value')
const { searchJson } = require('../../lib/json/search')
const { seqAt } = require('../offsets')
const { openToRead, close, recordAt } = require('../open')
const { Output } = require('../output')
const { encodingFormat, printer, refuseRawSeqs } = require('../printer')
const { helpText } = require('../usage')

/**
 * @typedef {import('../open').Log} Log
 * @typedef {{ path: string[], value: string }} Wanted
 * @typedef {import('../printer').PrintOptions & Partial<Wanted> & { where?: Wanted }} SearchOptions
 */

const EXAMPLES = `
Examples:
  flumelog search my.log --path timestamp --value 1600000000
  flumelog search my.log --path timestamp --value 2020-09-13
  flumelog search my.log -p value.author -v @bob --seqs
  flumelog search my.log --where 'timestamp >= 2020-09-13'

The records must be JSON, sorted by the value at the path: of others, a binary search may miss the first one that matches, or find none. If the records that it compares are not sorted, it says so on stderr; it looks at few of them. If the values are numbers, --value is a number, or an ISO date if they are times in seconds or milliseconds since 1970. If they are ISO dates, it is an ISO date. Other strings are compared as text. Dates without a time zone are in UTC. To print the records that follow, pass the offset that --seqs prints to \`flumelog dump --gte\`.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('search')
    .summary('find the first record at or after a value')
    .description('Prints the first record whose JSON value at a path is greater than or equal to the given one.')
    .argument('<file>', 'the log', fileName)
    .option('-p, --path <keys>', 'path of the value in a record: keys separated by dots', jsonPath)
    .option('-v, --value <value>', 'the value to search for: a number, an ISO date or text')
    .option('-w, --where <filter>', 'both in one, as a filter: path >= value, or path = value', condition)
    .addOption(encodingOption('how to print the record'))
    .option('-s, --seqs', 'prefix the record with its offset and a tab')
    .addHelpText('after', helpText(EXAMPLES))
    .action(searchFile)
}

/**
 * @param {string} file
 * @param {SearchOptions} options
 * @param {import('commander').Command} command
 */
async function searchFile (file, options, command) {
  refuseRawSeqs(options, command)
  const wanted = wantedOf(options, command)
  const log = await openToRead(file)
  const output = new Output(process.stdout)
  try {
    const { seq, data } = await find(log, file, wanted)
    printer(output, file, encodingFormat(options))(data, seq)
  } finally {
    await output.end()
    await close(log)
  }
}

/**
 * @param {string} filter
 * @returns {Wanted}
 */
function condition (filter) {
  // loaded lazily: most runs do not need it
  return require('../where').parseCondition(filter)
}

/**
 * @param {SearchOptions} options
 * @param {import('commander').Command} command
 * @returns {Wanted}
 */
function wantedOf ({ path, value, where }, command) {
  if (where !== undefined) {
    if (path !== undefined || value !== undefined) command.error('--where has a path and a value: --path and --value cannot be used with it')
    return where
  }
  if (path === undefined) command.error(value === undefined ? '--path and --value are missing, or --where' : '--path is missing')
  if (value === undefined) command.error('--value is missing')
  return { path, value }
}

/**
 * @param {Log} log
 * @param {string} file
 * @param {Wanted} options
 * @returns {Promise<{ seq: number, data: Buffer }>}
 */
async function find (log, file, { path, value: wanted }) {
  const fail = (/** @type {string} */ reason) => new UserError(`${file}: ${reason}`)
  const searched = {
    jsonOf: (/** @type {Buffer} */ data, /** @type {number} */ seq) => jsonOf(data, seq, fail),
    firstRecord: (/** @type {boolean} */ reverse) => firstRecord(log, reverse),
    search: (/** @type {(data: Buffer, seq: number) => number} */ compare) => search(log, compare),
    onNote: (/** @type {string} */ note) => writeStderr(`${file}: ${note}`)
  }
  const found = await searchJson(searched, path, wanted, fail)
  if (found !== null) return found
  throw fail(`no record with \`${path.join('.')}\` >= ${shorten(wanted)}`)
}

/**
 * @param {Log} log
 * @param {boolean} reverse
 * @returns {Promise<{ seq: number, data: Buffer } | null>}
 */
async function firstRecord (log, reverse) {
  const seq = await seqAt(log, { reverse, limit: 1, skipCorrupt: true })
  if (seq !== null) return { seq, data: await recordAt(log, seq) }
  // fails if there are corrupt blocks, which may have held the record
  await seqAt(log, { limit: 1 }).catch(err => { throw advise(err, 'flumelog:corrupt', `use ${VERIFY}`) })
  return null
}

/**
 * @param {Log} log
 * @param {(data: Buffer, seq: number) => number} compare
 * @returns {Promise<{ seq: number, data: Buffer } | null>}
 */
function search (log, compare) {
  return new Promise((resolve, reject) => log.search(compare, (err, seq, data) => {
    if (!err) resolve({ seq, data })
    else if (codeOf(err) === 'flumelog:not-found') resolve(null)
    else reject(advise(err, 'flumelog:corrupt', `use ${VERIFY}`))
  }))
}

/**
 * @param {Buffer} data
 * @param {number} seq
 * @param {import('../../lib/json/comparison').Fail} fail
 * @returns {string}
 */
function jsonOf (data, seq, fail) {
  try {
    return checkedJson(data)
  } catch (err) {
    throw fail(`the record at offset ${seq} is ${/** @type {Error} */ (err).message}`)
  }
}

module.exports = { define }
