'use strict'

// flumelog search: finds the first record at or after a value, by binary search.

const { fileName, jsonPath } = require('../arguments')
const { comparisonOf } = require('../comparison')
const { checkedJson, encodingOption } = require('../encodings')
const { UserError, VERIFY, advise, codeOf, shorten, writeStderr } = require('../errors')
const { finder } = require('../../lib/json')
const { seqAt } = require('../offsets')
const { openToRead, close, recordAt } = require('../open')
const { Output } = require('../output')
const { encodingFormat, printer, refuseRawSeqs } = require('../printer')
const { helpText } = require('../usage')

/**
 * @typedef {import('../open').Log} Log
 * @typedef {import('../printer').PrintOptions & { path: string[], value: string }} SearchOptions
 * @typedef {import('../comparison').Found} Found
 * @typedef {import('../comparison').Fail} Fail
 */

/** Keys that an error lists. */
const MAX_KEYS = 10

const EXAMPLES = `
Examples:
  flumelog search my.log --path timestamp --value 1600000000
  flumelog search my.log --path timestamp --value 2020-09-13
  flumelog search my.log -p value.author -v @bob --seqs

The records must be JSON, sorted by the value at the path. If the values are numbers, --value is a number, or an ISO date if they are times in seconds or milliseconds since 1970. If they are ISO dates, it is an ISO date. Other strings are compared as text. Dates without a time zone are in UTC. To print the records that follow, pass the offset that --seqs prints to \`flumelog dump --gte\`.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('search')
    .summary('find the first record at or after a value')
    .description('Prints the first record whose JSON value at a path is greater than or equal to the given one.')
    .argument('<file>', 'the log', fileName)
    .requiredOption('-p, --path <keys>', 'path of the value in a record: keys separated by dots', jsonPath)
    .requiredOption('-v, --value <value>', 'the value to search for: a number, an ISO date or text')
    .addOption(encodingOption('how to print the record'))
    .option('-s, --seqs', 'prefix the record with its offset and a tab')
    .addHelpText('after', helpText(EXAMPLES))
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
    printer(output, file, encodingFormat(options))(data, seq)
  } finally {
    await output.end()
    await close(log)
  }
}

/**
 * @param {Log} log
 * @param {string} file
 * @param {SearchOptions} options
 * @returns {Promise<{ seq: number, data: Buffer }>}
 */
async function find (log, file, { path, value: wanted }) {
  const name = path.join('.')
  const fail = (/** @type {string} */ reason) => new UserError(`${file}: ${reason}`)
  const noMatch = () => fail(`no record with \`${name}\` >= ${shorten(wanted)}`)
  const first = await foundFrom(log, false, path, fail)
  const last = await foundFrom(log, true, path, fail)
  if (first === null || last === null) {
    // fails if there are corrupt blocks, which may have held the record
    await seqAt(log, { limit: 1 }).catch(err => { throw advise(err, 'flumelog:corrupt', `use ${VERIFY}`) })
    throw noMatch()
  }
  const { compare, note } = comparisonOf(name, wanted, first, last, fail)
  if (note !== null) writeStderr(`${file}: ${note}`)

  return await new Promise((resolve, reject) => log.search((data, seq) => compare(foundIn(data, seq, path, fail)), (err, seq, data) => {
    if (!err) resolve(/** @type {{ seq: number, data: Buffer }} */ ({ seq, data }))
    else reject(codeOf(err) === 'flumelog:not-found' ? noMatch() : advise(err, 'flumelog:corrupt', `use ${VERIFY}`))
  }))
}

/**
 * @param {Log} log
 * @param {boolean} reverse
 * @param {string[]} path
 * @param {Fail} fail
 * @returns {Promise<Found | null>} the value in the first record, or with `reverse` in the last; null if there is none
 */
async function foundFrom (log, reverse, path, fail) {
  const seq = await seqAt(log, { reverse, limit: 1, skipCorrupt: true })
  return seq === null ? null : foundIn(await recordAt(log, seq), seq, path, fail)
}

/**
 * @param {Buffer} data
 * @param {number} seq
 * @param {string[]} path
 * @param {Fail} fail
 * @returns {Found}
 */
function foundIn (data, seq, path, fail) {
  let text
  try {
    text = checkedJson(data)
  } catch (err) {
    throw fail(`the record at offset ${seq} is ${/** @type {Error} */ (err).message}`)
  }
  const json = finder(text)(path)
  if (json !== undefined && /^["\dtf-]/.test(json)) return { json, seq }
  throw fail(`the record at offset ${seq} has no number, string or boolean at \`${path.join('.')}\`; check --path (${describeKeys(JSON.parse(text), path)})`)
}

/**
 * @param {any} value of a record
 * @param {string[]} path
 * @returns {string} what the path can go on with where it ends
 */
function describeKeys (value, path) {
  let depth = 0
  while (depth < path.length && isObject(value) && Object.hasOwn(value, path[depth])) value = value[path[depth++]]
  const where = depth === 0 ? 'the record' : `\`${path.slice(0, depth).join('.')}\``
  if (!isObject(value)) return `${where} is ${shorten(JSON.stringify(value))}`
  const keys = Object.keys(value)
  return `keys of ${where}: ${keys.slice(0, MAX_KEYS).map(shorten).join(', ')}${keys.length > MAX_KEYS ? ', …' : ''}`
}

/** @param {any} value */
function isObject (value) {
  return value !== null && typeof value === 'object'
}

module.exports = { define }
