'use strict'

// The comparison of all stores in README and at the top of the report: the most common
// operations, for each store that keeps what it is given.

const peers = require('../peers')
const { formatCount } = require('./results')
const { table, place } = require('./markdown')

/** Delimit the comparison in a page. */
const BEGIN = '<!-- measured: written by npm run bench:report -->'
const END = '<!-- /measured -->'

/** Also shown as charts. `group` is the name of the benchmark's group. */
const READ = { title: 'sequential read', file: 'layers', group: 'sequential read, all stores' }
const APPEND = { title: 'append, 1024 in flight', file: 'append', group: '1024 in flight' }
const GET = { title: 'random get, 10x cache size', file: 'random', group: '10x cache size, 1 in flight' }
const PANELS = [READ, APPEND, GET]

const COLUMNS = [
  READ,
  { title: 'append, 16 in flight', file: 'append', group: '16 in flight' },
  APPEND,
  { title: '500,000 at once', file: 'burst', group: '500,000 at once' },
  { title: 'synced append, 1024 in flight', file: 'append', group: 'synced append, 1024 in flight' },
  { title: 'random get, in cache', file: 'random', group: 'in cache, 1 in flight' },
  GET
]

const compared = peers.filter(({ isVolatile }) => !isVolatile)

/**
 * @param {import('./results').Figure[]} figures
 * @param {{ file: string, group: string }} place
 * @param {string} name of the row
 */
function panelFigure (figures, { file, group }, name) {
  return figures.find(figure => figure.file === file && figure.group === group && figure.row === name && figure.error === undefined)
}

/**
 * @param {import('./results').Figure[]} figures
 * @returns {boolean} whether there are figures for all columns
 */
function isMeasured (figures) {
  return COLUMNS.every(column => panelFigure(figures, column, peers[0].name) !== undefined)
}

/**
 * @param {object} about the machine
 * @param {import('./results').Figure[]} figures
 */
function comparisonTable (about, figures) {
  const rows = compared.map(({ name, isEarly }) => {
    const rates = COLUMNS.map(column => panelFigure(figures, column, name)?.rate)
    return [isEarly ? `${name} \\*` : name, ...rates.map(rate => rate === undefined ? '' : formatCount(rate))]
  })
  return `Throughput with 155-byte records, in records/s; empty cells: not supported, or not measured.

${table(['', ...COLUMNS.map(({ title }) => title)], rows)}

\\* acknowledges before writing; timed until its file was complete. sqlite, lmdb and classic-level fsync only in the column of synced
appends. "10x cache size": the log is ten times as large as the caches of this log, sqlite and classic-level are configured to be;
flumelog-offset, flumelog-aligned-offset and async-append-only-log have caches of fixed size, and lmdb reads from the page cache, which
contains the whole file. Measured on ${place(about)}, ${about.size} size.`
}

/**
 * @param {string} page
 * @param {string} text of the comparison
 * @returns {string} the page with the text between the two comments
 */
function withComparison (page, text) {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END, begin)
  if (begin === -1 || end === -1) throw new Error(`no place for the comparison: expected '${BEGIN}' followed by '${END}'`)
  return `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`
}

module.exports = { PANELS, compared, panelFigure, isMeasured, comparisonTable, withComparison }
