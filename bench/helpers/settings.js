'use strict'

// Parses the command lines of the benchmarks, and reads and writes the file of results.

const fs = require('fs')
const os = require('os')
const path = require('path')
const { parseArgs } = require('util')
const { environment } = require('./environment')

const NAMES = ['layers', 'append', 'early', 'burst', 'random', 'codecs', 'flumedb', 'commands', 'flumelog', 'batching', 'clients', 'io', 'scale', 'ssb', 'space-free', 'space-import', 'space-compact', 'space-backup', 'view', 'jetstream']
const RESULTS = path.join(__dirname, '..', 'results.jsonl')
/** As a shell reports a program ended by the signal. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

/** What `npm run bench` measures by default, and everything else always. */
const FULL = { help: 'the size that is published, with logs of up to 4 GB: about 20 minutes; default: quick, some minutes' }

/**
 * Options of all programs.
 * @type {Record<string, Option>}
 */
const COMMON = {
  rounds: { value: 'N', help: 'maximum number of rounds; default: 3 in the full size, 1 in the quick one' },
  folder: { value: 'PATH', help: "where to write logs, which are deleted at the end; default: the system's temporary directory" },
  help: { help: 'print this text' }
}

/**
 * @typedef {object} Option
 * @property {string} [value] placeholder of its value in the help; by default, it is a flag
 * @property {boolean} [multiple] whether it may be repeated
 * @property {string} help
 *
 * @typedef {object} Program
 * @property {string} usage of the command
 * @property {boolean} takesNames whether it takes names of benchmarks
 * @property {Record<string, Option>} [own] options of this program only
 * @property {(values: Record<string, any>) => void} [check] throws if one of these is invalid
 */

/**
 * Parses the command line. Exits if it is invalid.
 * @param {Program} program
 * @returns {{ names: string[], rounds?: number, folder: string, values: Record<string, any> }}
 */
function settings (program) {
  const options = { ...program.own, ...COMMON }
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: Object.fromEntries(Object.entries(options).map(([name, { value, multiple = false }]) => [name, { type: value === undefined ? 'boolean' : 'string', multiple }]))
    })
    if (values.help) {
      console.log(helpOf(program, options))
      process.exit()
    }
    checkNames(program, positionals)
    program.check?.(values)
    const parsed = {
      names: positionals.length > 0 ? NAMES.filter(name => positionals.includes(name)) : NAMES,
      rounds: roundsOf(values),
      folder: folderOf(values),
      values
    }
    // temporary files are deleted on exit
    for (const [signal, code] of Object.entries(EXIT_CODES)) process.once(signal, () => process.exit(code))
    return parsed
  } catch (err) {
    console.error(`${err.message}\n\n${helpOf(program, options)}`)
    process.exit(2)
  }
}

/**
 * @param {Program} program
 * @param {Record<string, Option>} options
 */
function helpOf ({ usage, takesNames }, options) {
  const rows = Object.entries(options).map(([name, { value, help }]) => [`--${name}${value === undefined ? '' : ` ${value}`}`, help])
  if (takesNames) rows.unshift(['NAME', `benchmarks to run: ${NAMES.join(', ')}; default: all`])
  return [`usage: ${usage}`, '', ...rows.map(([name, help]) => `  ${name.padEnd(17)}${help}`)].join('\n')
}

function checkNames ({ takesNames }, positionals) {
  if (!takesNames && positionals.length > 0) throw new Error(`unexpected argument '${positionals[0]}'`)
  const wrong = positionals.find(name => !NAMES.includes(name))
  if (wrong !== undefined) throw new Error(`no such benchmark: '${wrong}'`)
}

function roundsOf ({ rounds }) {
  if (rounds === undefined) return undefined
  if (!/^[1-9]\d*$/.test(rounds)) throw new Error(`--rounds must be an integer of at least 1, not '${rounds}'`)
  return Number(rounds)
}

function folderOf ({ folder = os.tmpdir() }) {
  if (!fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`no such directory: ${folder}`)
  return path.resolve(folder)
}

/**
 * Creates the file of results: a line of JSON about the machine, then one line per measurement.
 * @param {string} filename
 * @param {'quick' | 'full'} size
 * @returns {(line: object) => void} appends a line
 */
function beginResults (filename, size) {
  fs.writeFileSync(filename, JSON.stringify({ size, ...environment() }) + '\n')
  return (line) => fs.appendFileSync(filename, JSON.stringify(line) + '\n')
}

/**
 * @typedef {ReturnType<typeof environment> & { size: string }} About
 * @typedef {{ about: About, lines: import('./results').Line[] }} Results of one run
 *
 * @param {string} filename
 * @returns {Results}
 */
function readResults (filename) {
  const [about, ...lines] = fs.readFileSync(filename, 'utf8').trim().split('\n').map(line => JSON.parse(line))
  return { about, lines }
}

/** @param {string[]} [filenames] throws if one does not exist */
function checkResults (filenames = []) {
  const missing = filenames.find(filename => !fs.existsSync(filename))
  if (missing !== undefined) throw new Error(`${missing} does not exist`)
}

module.exports = { NAMES, FULL, RESULTS, settings, beginResults, readResults, checkResults }
