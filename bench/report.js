'use strict'

// Runs the benchmarks and writes report.md, with the charts it shows beside it.
// With --results FILE nothing is run: it reports what a run has left in that file.

const fs = require('fs')
const path = require('path')
const { settings, beginResults, readResults, NAMES } = require('./helpers/settings')
const { runFiles } = require('./helpers/runner')
const { summarize, showCount, showBytes, showTime } = require('./helpers/results')
const { charts } = require('./helpers/charts')

const REPORT = path.join(__dirname, 'report.md')
const CHARTS = path.join(__dirname, 'charts')

main()

async function main () {
  const { names, size, values, ...rest } = settings('node bench/report.js [NAME ...] [--full] [--rounds N] [--folder PATH] [--results FILE]', { results: { type: 'string' } })
  if (values.results === undefined) await runFiles(names.map(name => require(`./${name}`)), { ...rest, size, onMeasure: beginResults(size) })
  const { about, lines } = readResults(values.results)
  const figures = summarize(lines)
  const drawn = await drawCharts(figures)
  fs.writeFileSync(REPORT, reportOf(about, figures, drawn))
  console.error(`wrote ${REPORT}`)
}

/**
 * @param {import('./helpers/results').Figure[]} figures
 * @returns {Promise<Array<{ file: string, name: string, title: string }>>} what was drawn; `file` is the benchmark's
 */
async function drawCharts (figures) {
  const drawn = []
  fs.mkdirSync(CHARTS, { recursive: true })
  for (const { file, name, title, svg } of await charts(figures)) {
    fs.writeFileSync(path.join(CHARTS, `${name}.svg`), svg)
    drawn.push({ file, name, title })
  }
  return drawn
}

/**
 * @param {{ date: string, machine: string, system: string, size: string, versions: Record<string, string> }} about
 * @param {import('./helpers/results').Figure[]} figures
 * @param {Array<{ file: string, name: string, title: string }>} drawn
 */
function reportOf ({ date, machine, system, size, versions }, figures, drawn) {
  const files = NAMES.filter(name => figures.some(({ file }) => file === name))
  return `# Measured

${date}, ${machine}, ${system}, ${size} size. Written by \`npm run bench:report\`; [what is measured and how](../docs/speed.md).

${Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', ')}.

Records a second and MB a second, medians of several rounds; latencies are from an append or a get to its answer. A star: see the end of the section.

${files.map(name => section(name, figures.filter(({ file }) => file === name), drawn)).join('\n\n')}
`
}

/**
 * @param {string} name of the benchmark
 * @param {import('./helpers/results').Figure[]} figures
 * @param {Array<{ file: string, name: string, title: string }>} drawn
 */
function section (name, figures, drawn) {
  const { question } = require(`./${name}`)
  const pictures = drawn.filter(({ file }) => file === name).map(({ name, title }) => `![${title}](charts/${name}.svg)`)
  return [`## ${name}: ${question}`, ...pictures, ...tables(figures), notes(figures).join('\n')].filter(Boolean).join('\n\n')
}

/** @param {import('./helpers/results').Figure[]} figures */
function tables (figures) {
  return [...new Set(figures.map(tableOf))].map(name => {
    const own = figures.filter(figure => tableOf(figure) === name)
    if (own[0].table !== undefined) return crossTable(name, own, 'column')
    if (own[0].part !== undefined) return crossTable(name, own, 'part')
    return latencyTable(name, own)
  })
}

/** @param {import('./helpers/results').Figure} figure */
function tableOf ({ table, group }) {
  return table ?? group
}

/**
 * @param {string} name
 * @param {import('./helpers/results').Figure[]} figures
 * @param {'column' | 'part'} across what stands above the columns
 */
function crossTable (name, figures, across) {
  const columns = [...new Set(figures.map(figure => figure[across]))]
  return table([name, ...columns], [...new Set(figures.map(({ row }) => row))].map(row => {
    const own = figures.filter(figure => figure.row === row)
    return [nameOf(own[0]), ...columns.map(column => cell(own.find(figure => figure[across] === column)))]
  }))
}

/**
 * @param {string} name
 * @param {import('./helpers/results').Figure[]} figures
 */
function latencyTable (name, figures) {
  const isTimed = figures.some(({ latency }) => latency !== undefined)
  const times = (latency) => ['median', 'p99', 'worst'].map(which => latency ? showTime(latency[which]) : '')
  return table([name, '', ...(isTimed ? ['median', '99th', 'worst'] : [])],
    figures.map(figure => [nameOf(figure), cell(figure), ...(isTimed ? times(figure.latency) : [])]))
}

/**
 * @param {string[]} head
 * @param {string[][]} rows
 */
function table (head, rows) {
  return [head, head.map((_, i) => i === 0 ? '---' : '---:'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

/** @param {import('./helpers/results').Figure} figure */
function nameOf ({ row, note }) {
  return note ? `${row} \\*` : row
}

/** @param {import('./helpers/results').Figure | undefined} figure */
function cell (figure) {
  if (figure === undefined) return ''
  if (figure.error !== undefined) return `not measured: ${figure.error}`
  if (figure.memory) return showBytes(figure.peakMemory)
  if (figure.rate === undefined) return showTime(figure.milliseconds)
  return `${showCount(figure.rate)}/s, ${showBytes(figure.byteRate)}/s`
}

/** @param {import('./helpers/results').Figure[]} figures */
function notes (figures) {
  const noted = figures.filter(({ row, note }, i) => note && figures.findIndex(other => other.row === row) === i)
  return noted.map(({ row, note }) => `- \\* ${row}: ${note}`)
}
