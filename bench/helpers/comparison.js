'use strict'

// What is compared of all that was measured, in README and at the top of the report:
// each store that keeps what it is given, by what is mostly done with one.

const peers = require('../peers')
const { showCount } = require('./results')
const { table, place } = require('./markdown')

/** What a page that is rewritten has before and after the comparison. */
const BEGIN = '<!-- measured: written by npm run bench:report -->'
const END = '<!-- /measured -->'

/** Charted; `group` begins the name of the benchmark's group. */
const READ = { title: 'all read, one after the other', file: 'layers', group: 'read by others' }
const APPEND = { title: 'appended, 1024 in flight', file: 'append', group: '1024 in flight' }
const GET = { title: 'got by key, beyond the cache', file: 'random', group: 'ten times beyond the cache, 1 in flight' }
const PANELS = [READ, APPEND, GET]

const COLUMNS = [
  READ,
  { title: 'appended, 16 in flight', file: 'append', group: '16 in flight' },
  APPEND,
  { title: '500,000 at once', file: 'burst', group: '500,000 at once' },
  { title: 'each synced, 1024 in flight', file: 'append', group: 'each synced, 1024 in flight' },
  { title: 'got by key, in the cache', file: 'random', group: 'inside the cache, 1 in flight' },
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
 * @returns {boolean} whether all of it was measured
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
    return [isEarly ? `${name} \\*` : name, ...rates.map(rate => rate === undefined ? '' : showCount(rate))]
  })
  return `Records of 155 bytes, a second; empty where it cannot be done, or was not measured.

${table(['', ...COLUMNS.map(({ title }) => title)], rows)}

\\* acknowledges before it has written; the time is that until its file was whole. Neither sqlite nor lmdb nor classic-level forces
to the disk what it appends, but where each append is synced. The log beyond the cache has ten times the size that the caches of this log,
sqlite and classic-level are given; flumelog-offset, flumelog-aligned-offset and async-append-only-log have caches of a size of their own, and
lmdb reads from the system's memory, where the whole file is. Measured on ${place(about)}, ${about.size} size.`
}

/**
 * @param {string} page
 * @param {string} text to stand between the two comments
 * @returns {string} the page with it
 */
function withComparison (page, text) {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END, begin)
  if (begin === -1 || end === -1) throw new Error(`no place for the comparison: '${BEGIN}', and later '${END}'`)
  return `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`
}

module.exports = { PANELS, compared, panelFigure, isMeasured, comparisonTable, withComparison }
