'use strict'

// Runs the benchmarks and writes report.md, its charts, and the comparison in README.md.
// With --results FILE, it runs nothing, and reports the results in that file.

const fs = require('fs')
const path = require('path')
const { settings, beginResults, readResults, NAMES } = require('./helpers/settings')
const { runFiles, ROUNDS } = require('./helpers/runner')
const { summarize, formatCount, formatBytes, formatTime } = require('./helpers/results')
const { charts } = require('./helpers/charts')
const { isMeasured, comparisonTable, withComparison } = require('./helpers/comparison')
const { table, place, versions } = require('./helpers/markdown')

const README = path.join(__dirname, '..', 'README.md')
/** Charts shown in README. */
const README_CHARTS = ['comparison', 'burst']

const program = {
  usage: 'npm run bench:report -- [NAME ...] [options]',
  takesNames: true,
  own: {
    results: { value: 'FILE', help: 'run nothing, report the results in this file, such as bench/results.jsonl' },
    output: { value: 'PATH', help: 'directory for report.md and charts; README.md is not changed. Default: bench' },
    readme: { value: 'FILE', help: 'page whose comparison is replaced; default: README.md' }
  },
  check ({ results, readme }) {
    const missing = [results, readme].find(file => file !== undefined && !fs.existsSync(file))
    if (missing !== undefined) throw new Error(`${missing} does not exist`)
  }
}

main()

async function main () {
  const { names, size, values, ...rest } = settings(program)
  if (values.results === undefined) await runFiles(names.map(name => require(`./${name}`)), { ...rest, size, onMeasure: beginResults(size) })
  const { about, lines } = readResults(values.results)
  const figures = summarize(lines)
  const folder = path.resolve(values.output ?? __dirname)
  const drawn = await drawCharts(figures, folder)
  write(path.join(folder, 'report.md'), reportOf(about, figures, drawn))
  const readme = values.readme ?? (values.output === undefined ? README : undefined)
  if (readme !== undefined) rewrite(readme, about, figures, drawn)
}

/** @param {string} filename */
function write (filename, text) {
  fs.writeFileSync(filename, text)
  console.error(`wrote ${filename}`)
}

/**
 * @param {string} readme
 * @param {object} about
 * @param {import('./helpers/results').Figure[]} figures
 * @param {Drawn[]} drawn
 */
function rewrite (readme, about, figures, drawn) {
  if (!isMeasured(figures)) return console.error(`${readme} is not changed: some benchmarks of its comparison were not run`)
  const pictures = drawn.filter(({ name }) => README_CHARTS.includes(name)).map(chart => picture(chart, 'bench/charts'))
  const text = [...pictures, comparisonTable(about, figures), 'All figures: [bench/report.md](bench/report.md).'].join('\n\n')
  write(readme, withComparison(fs.readFileSync(readme, 'utf8'), text))
}

/**
 * @typedef {{ file: string | null, name: string, title: string }} Drawn a chart; `file` is its benchmark, null for the comparison
 *
 * @param {import('./helpers/results').Figure[]} figures
 * @param {string} folder
 * @returns {Promise<Drawn[]>}
 */
async function drawCharts (figures, folder) {
  const drawn = []
  fs.mkdirSync(path.join(folder, 'charts'), { recursive: true })
  for (const { svg, ...chart } of await charts(figures)) {
    fs.writeFileSync(path.join(folder, 'charts', `${chart.name}.svg`), svg)
    drawn.push(chart)
  }
  return drawn
}

/**
 * @param {Drawn} chart
 * @param {string} folder relative to the page
 */
function picture ({ name, title }, folder) {
  return `![${title}](${folder}/${name}.svg)`
}

/**
 * @param {{ date: string, machine: string, system: string, size: string, versions: Record<string, string> }} about
 * @param {import('./helpers/results').Figure[]} figures
 * @param {Drawn[]} drawn
 */
function reportOf (about, figures, drawn) {
  const files = NAMES.filter(name => figures.some(({ file }) => file === name))
  const comparison = isMeasured(figures) ? [comparisonOf(about, figures, drawn)] : []
  return `# Benchmark results

${place(about)}, ${about.size} size. Written by \`npm run bench:report\`; [what is measured, and how](../docs/speed.md).

${versions(about)}.

Records/s and MB/s, medians of up to ${ROUNDS[about.size]} rounds; latencies are from a call of append or get to its callback. Sequential reads open
the log again each time, and are repeated at least twice before they are timed. A star refers to the notes at the end of the section.

${[...comparison, ...files.map(name => section(name, figures.filter(({ file }) => file === name), drawn))].join('\n\n')}
`
}

function comparisonOf (about, figures, drawn) {
  const pictures = drawn.filter(({ file }) => file === null).map(chart => picture(chart, 'charts'))
  return ['## Comparison of all stores', ...pictures, comparisonTable(about, figures)].join('\n\n')
}

/**
 * @param {string} name of the benchmark
 * @param {import('./helpers/results').Figure[]} figures
 * @param {Drawn[]} drawn
 */
function section (name, figures, drawn) {
  const { question } = require(`./${name}`)
  const pictures = drawn.filter(({ file }) => file === name).map(chart => picture(chart, 'charts'))
  return [`## ${name}: ${question}`, ...pictures, ...tables(figures), notes(figures).join('\n')].filter(Boolean).join('\n\n')
}

/** @param {import('./helpers/results').Figure[]} figures */
function tables (figures) {
  return [...new Set(figures.map(tableOf))].map(name => {
    const own = figures.filter(figure => tableOf(figure) === name)
    if (own[0].table !== undefined) return crossTable(name, own, 'column')
    if (own[0].part !== undefined && own[0].latency === undefined) return crossTable(name, own, 'part')
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
 * @param {'column' | 'part'} across property that gives the column headings
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
  const times = (latency) => ['median', 'p99', 'worst'].map(which => latency ? formatTime(latency[which]) : '')
  return table([name, '', ...(isTimed ? ['median', 'p99', 'max'] : [])],
    figures.map(figure => [nameOf({ ...figure, row: withPart(figure) }), cell(figure), ...(isTimed ? times(figure.latency) : [])]))
}

/** @param {import('./helpers/results').Figure} figure */
function nameOf ({ row, note }) {
  return note ? `${row} \\*` : row
}

/** @param {import('./helpers/results').Figure} figure */
function withPart ({ row, part }) {
  return part === undefined ? row : `${row}: ${part}`
}

/** @param {import('./helpers/results').Figure | undefined} figure */
function cell (figure) {
  if (figure === undefined) return ''
  if (figure.error !== undefined) return `not measured: ${figure.error}`
  if (figure.memory) return formatBytes(figure.peakMemory)
  if (figure.rate === undefined) return formatTime(figure.milliseconds)
  return `${formatCount(figure.rate)}/s, ${formatBytes(figure.byteRate)}/s`
}

/** @param {import('./helpers/results').Figure[]} figures */
function notes (figures) {
  const noted = figures.filter(({ row, note }, i) => note && figures.findIndex(other => other.row === row) === i)
  return noted.map(({ row, note }) => `- \\* ${row}: ${note}`)
}
