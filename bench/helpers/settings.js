'use strict'

// What the benchmarks are told on the command line, and the file that a run leaves.

const fs = require('fs')
const os = require('os')
const path = require('path')
const { parseArgs } = require('util')
const { environment } = require('./environment')

const NAMES = ['flumelog', 'layers', 'append', 'batching', 'burst', 'random', 'io', 'scale']
const RESULTS = path.join(__dirname, '..', 'results.jsonl')
/** As a shell says of a program that such a signal has ended. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

/**
 * What more than one program takes.
 * @type {Record<string, Option>}
 */
const COMMON = {
  full: { help: 'the large sizes, up to a log of 4 GB: half an hour a round; without it, all run in about five minutes' },
  rounds: { value: 'N', help: 'how often a row is measured, at most; by default 3 times, and some less often' },
  folder: { value: 'PATH', help: "where logs are written, and deleted at the end; default: the system's temporary folder" },
  help: { help: 'this text' }
}

/**
 * @typedef {object} Option
 * @property {string} [value] what stands for its value in the help; without, it has none
 * @property {string} help
 *
 * @typedef {object} Program
 * @property {string} usage how it is called
 * @property {boolean} takesNames of benchmarks; and then --full, too
 * @property {Record<string, Option>} [own] options that no other program has
 * @property {(values: Record<string, any>) => void} [check] throws if one of its own makes no sense
 */

/**
 * Ends the process if they make no sense.
 * @param {Program} program
 * @returns {{ names: string[], size: 'quick' | 'full', rounds?: number, folder: string, values: Record<string, any> }}
 */
function settings (program) {
  const { full, ...others } = COMMON
  const options = { ...(program.takesNames ? { full } : {}), ...program.own, ...others }
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: Object.fromEntries(Object.entries(options).map(([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }]))
    })
    if (values.help) {
      console.log(helpOf(program, options))
      process.exit()
    }
    checkNames(program, positionals)
    program.check?.(values)
    const parsed = {
      names: positionals.length > 0 ? NAMES.filter(name => positionals.includes(name)) : NAMES,
      size: values.full ? 'full' : 'quick',
      rounds: roundsOf(values),
      folder: folderOf(values),
      values
    }
    // what is to be deleted is deleted on exit
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
  if (!takesNames && positionals.length > 0) throw new Error(`it takes no '${positionals[0]}'`)
  const wrong = positionals.find(name => !NAMES.includes(name))
  if (wrong !== undefined) throw new Error(`there is no benchmark '${wrong}'`)
}

function roundsOf ({ rounds }) {
  if (rounds === undefined) return undefined
  if (!/^[1-9]\d*$/.test(rounds)) throw new Error(`--rounds takes a whole number of 1 or more, not '${rounds}'`)
  return Number(rounds)
}

function folderOf ({ folder = os.tmpdir() }) {
  if (!fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`there is no folder ${folder}`)
  return path.resolve(folder)
}

/**
 * Begins the file of a run: a line of JSON about the machine, then a line a measure.
 * @param {'quick' | 'full'} size
 * @param {string} [filename]
 * @returns {(line: object) => void} adds a line
 */
function beginResults (size, filename = RESULTS) {
  fs.writeFileSync(filename, JSON.stringify({ size, ...environment() }) + '\n')
  return (line) => fs.appendFileSync(filename, JSON.stringify(line) + '\n')
}

/**
 * @param {string} [filename]
 * @returns {{ about: object, lines: import('./results').Line[] }}
 */
function readResults (filename = RESULTS) {
  const [about, ...lines] = fs.readFileSync(filename, 'utf8').trim().split('\n').map(line => JSON.parse(line))
  return { about, lines }
}

module.exports = { NAMES, settings, beginResults, readResults }
