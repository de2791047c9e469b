'use strict'

// The page with all figures, report.md, and pages with those of some benchmarks.

const { table, place, nodeOf, versions } = require('./markdown')
const { comparisonTable, isMeasured } = require('./comparison')
const { notesOf, formatCount, formatBytes, formatTime, formatRange } = require('./results')
const { targets, judgedTable } = require('./judge')
const { NAMES } = require('./settings')

const PHASES = ['cold', 'warm']

/**
 * @typedef {import('./results').Figure} Figure
 * @typedef {import('./comparison').Run} Run
 * @typedef {{ file: string | null, name: string, title: string }} Drawn a chart; `file` is its benchmark, null for the comparison
 *
 * @param {Run[]} runs
 * @param {Drawn[]} drawn
 */
function reportPage (runs, drawn) {
  const isCompared = runs.every(({ figures }) => isMeasured(figures))
  return `# Benchmark results

Written by \`npm run bench:report\`. [README.md](README.md) says what each benchmark asks; [check.md](check.md) has the ratios that matter, and
whether they are as wanted.

${preface(runs)}

${[
  ...(isCompared ? [['## Comparison of all stores', ...picturesOf(drawn, null), comparisonTable(runs)].join('\n\n')] : []),
  ...sections(runs, drawn)
].join('\n\n')}
`
}

/**
 * The page with some of the benchmarks.
 * @param {{ names: string[], page: string }} about it
 * @param {Array<import('./settings').Results>} results
 * @param {Run[]} runs the same, summarized
 * @param {Drawn[]} drawn
 */
function partPage ({ names, page }, results, runs, drawn) {
  const command = `npm run bench:report -- ${names.join(' ')} --page ${page}`
  return `# Benchmark results: ${page}

Written by \`${command}\`. [README.md](README.md) says what each benchmark asks.

${preface(runs)}

${[...sections(runs, drawn), ...results.map(({ about, lines }) => ratios(about, lines))].join('\n\n')}
`
}

function ratios (about, lines) {
  const measured = targets.filter(({ of, over }) => [of, ...over].every(({ file }) => lines.some(line => line.file === file)))
  return `## Ratios, ${nodeOf(about)}\n\n${judgedTable(measured, lines)}`
}

/** @param {Run[]} runs */
function preface (runs) {
  return `${runs.map(({ about }) => `- ${nodeOf(about)}: ${place(about)}, ${about.size} size. ${versions(about)}`).join('\n')}

*cold*: the first pass in a fresh process; *warm*: later, in the same process, after at least half a second of the same work. Figures are medians
over the rounds, with minimum and maximum in parentheses. Latencies are from a call of append or get to its callback; p99 is a median over the
rounds, max the largest. Records have 155 bytes, unless a table says otherwise. A star refers to the notes at the end of the section.`
}

/**
 * @param {Run[]} runs
 * @param {Drawn[]} drawn
 */
function sections (runs, drawn) {
  const measured = NAMES.filter(name => runs.some(({ figures }) => figures.some(({ file }) => file === name)))
  return measured.map(name => section(name, runs, picturesOf(drawn, name)))
}

/**
 * @param {Drawn[]} drawn
 * @param {string | null} file
 */
function picturesOf (drawn, file) {
  return drawn.filter(chart => chart.file === file).map(({ title, name }) => `![${title}](charts/${name}.svg)`)
}

/**
 * @param {string} name of the benchmark
 * @param {Run[]} runs
 * @param {string[]} pictures
 */
function section (name, runs, pictures) {
  const own = runs.map(({ about, figures }) => ({ about, figures: figures.filter(({ file }) => file === name) }))
  const parts = own.flatMap(({ about, figures }) => [...(runs.length > 1 ? [`### ${name}, ${nodeOf(about)}`] : []), ...tables(figures)])
  const notes = notesOf(own.flatMap(({ figures }) => figures)).map(note => `- \\* ${note}`)
  return [`## ${name}: ${require(`../${name}`).question}`, ...pictures, ...parts, notes.join('\n')].filter(Boolean).join('\n\n')
}

/**
 * @param {Figure[]} figures of a benchmark
 * @returns {string[]}
 */
function tables (figures) {
  const tableOf = ({ table, group }) => table ?? group
  return [...new Set(figures.map(tableOf))].flatMap(name => {
    const own = figures.filter(figure => tableOf(figure) === name)
    if (own[0].table !== undefined) return crossTables(name, own, 'column')
    if (own.some(({ part, latency }) => part !== undefined && latency === undefined)) return crossTables(name, own, 'part')
    return phaseTable(name, own)
  })
}

/**
 * A table per phase.
 * @param {string} name
 * @param {Figure[]} figures
 * @param {'column' | 'part'} across property that gives the column headings
 */
function crossTables (name, figures, across) {
  const phases = PHASES.filter(phase => figures.some(figure => figure.phase === phase))
  const columns = [...new Set(figures.filter(({ error }) => error === undefined).map(figure => figure[across]))]
  return phases.map(phase => {
    const rows = [...new Set(figures.map(({ row }) => row))].map(row => {
      const own = figures.filter(figure => figure.row === row)
      const find = (column) => own.find(figure => figure[across] === column && (figure.error !== undefined || figure.phase === phase))
      // one that failed has no parts
      const failed = across === 'part' ? own.find(({ error }) => error !== undefined) : undefined
      return [nameOf(own[0]), ...columns.map((column, i) => cell(find(column) ?? (i === 0 ? failed : undefined)))]
    })
    return table([`${name}, ${phase}`, ...columns], rows)
  })
}

/**
 * Both phases side by side.
 * @param {string} name
 * @param {Figure[]} figures
 */
function phaseTable (name, figures) {
  const isTimed = figures.some(({ latency }) => latency !== undefined)
  const phases = PHASES.filter(phase => figures.some(figure => figure.phase === phase))
  const names = [...new Set(figures.map(withPart))]
  const rows = names.map(name => {
    const own = figures.filter(figure => withPart(figure) === name)
    return [nameOf({ ...own[0], row: name }), ...phases.flatMap(phase => {
      const figure = own.find(figure => figure.error !== undefined || figure.phase === phase)
      return [cell(figure), ...(isTimed ? [latencyCell(figure)] : [])]
    })]
  })
  return table([name, ...phases.flatMap(phase => [phase, ...(isTimed ? [`latency ${phase}: median, p99, max`] : [])])], rows)
}

/** @param {{ row: string, note?: string }} figure */
function nameOf ({ row, note }) {
  return note ? `${row} \\*` : row
}

/** @param {Figure} figure */
function withPart ({ row, part }) {
  return part === undefined ? row : `${row}: ${part}`
}

/** @param {Figure | undefined} figure */
function cell (figure) {
  if (figure === undefined) return ''
  if (figure.error !== undefined) return `not measured: ${figure.error}`
  if (figure.memory !== undefined) return withRange(figure.memory, formatBytes)
  if (figure.rate === undefined) return withRange(figure.milliseconds, formatTime)
  return `${withRange(figure.rate, formatCount, '/s')}, ${formatBytes(figure.byteRate.median)}/s`
}

/**
 * @param {import('./results').Spread} spread
 * @param {(value: number) => string} format
 */
function withRange (spread, format, unit = '') {
  const range = formatRange(spread, format)
  return format(spread.median) + unit + (range && ` (${range})`)
}

/** @param {Figure | undefined} figure */
function latencyCell (figure) {
  if (figure?.latency === undefined) return ''
  const { median, p99, worst } = figure.latency
  return [median, p99, worst].map(formatTime).join(', ')
}

module.exports = { reportPage, partPage }
