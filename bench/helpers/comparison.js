'use strict'

// The comparison of all stores in docs/comparison.md and at the top of the report: the most common operations, for each store that keeps
// what it is given.

const peers = require('../peers')
const { formatShort } = require('./results')
const { table, place, nodeOf } = require('./markdown')

/** Delimit the comparison in a page. */
const BEGIN = '<!-- measured: written by npm run bench:report -->'
const END = '<!-- /measured -->'

/** Also shown as charts. `group` is the name of the benchmark's group. */
const READ = { title: 'sequential read', file: 'layers', group: 'sequential read, all stores' }
const APPEND = { title: 'append, 1024 in flight', file: 'append', group: '1024 in flight' }
const GET = { title: 'random get, beyond the cache', file: 'random', group: 'beyond the cache, 1 in flight' }
const PANELS = [READ, APPEND, GET]

const COLUMNS = [
  READ,
  { title: 'append, 1 in flight', file: 'append', group: '1 in flight' },
  { title: 'append, 16 in flight', file: 'append', group: '16 in flight' },
  APPEND,
  { title: '1,000,000 at once', file: 'burst', group: '1,000,000 at once' },
  { title: 'random get, in cache', file: 'random', group: 'in cache, 1 in flight' },
  GET
]
const PHASE = 'cold'

const compared = peers.filter(({ isVolatile }) => !isVolatile)

/**
 * @param {import('./results').Figure[]} figures
 * @param {{ file: string, group: string }} place
 * @param {string} name of the row
 */
function panelFigure (figures, { file, group }, name) {
  return figures.find(figure => figure.file === file && figure.group === group && figure.row === name && figure.phase === PHASE)
}

/**
 * @param {import('./results').Figure[]} figures
 * @returns {boolean} whether there are figures for all columns
 */
function isMeasured (figures) {
  return COLUMNS.every(column => panelFigure(figures, column, peers[0].name) !== undefined)
}

/**
 * @typedef {{ about: import('./settings').About, figures: import('./results').Figure[] }} Run
 *
 * @param {Run[]} runs on one machine
 */
function comparisonTable (runs) {
  const rows = compared.map(({ name, isEarly }) => {
    const cells = COLUMNS.map(column => {
      const rates = runs.map(({ figures }) => panelFigure(figures, column, name)?.rate)
      return rates.every(rate => rate === undefined) ? '' : rates.map(rate => rate === undefined ? '–' : formatShort(rate.median)).join(' / ')
    })
    return [isEarly ? `${name} \\*` : name, ...cells]
  })
  return `Throughput in records/s, cold: the first pass in a fresh process. ${runs.map(({ about }) => nodeOf(about)).join(' / ')}; 155-byte records, ${place(runs[0].about)}.

${table(['', ...COLUMNS.map(({ title }) => title)], rows)}

Empty cells: not supported; or, "beyond the cache", the store's cache has no limit. \\* acknowledges before writing: timed until its file was
complete.`
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
