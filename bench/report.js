'use strict'

// Runs the benchmarks and writes report.md, the charts it shows beside it, and the
// comparison in README.md. With --results FILE nothing is run: it reports what a run
// has left in that file.

const fs = require('fs')
const path = require('path')
const { settings, beginResults, readResults, NAMES } = require('./helpers/settings')
const { runFiles, ROUNDS } = require('./helpers/runner')
const { summarize, showCount, showBytes, showTime } = require('./helpers/results')
const { charts } = require('./helpers/charts')
const { isMeasured, comparisonTable, withComparison } = require('./helpers/comparison')
const { table, place, versions } = require('./helpers/markdown')

const README = path.join(__dirname, '..', 'README.md')
/** The charts that README shows. */
const README_CHARTS = ['comparison', 'burst']

const program = {
  usage: 'npm run bench:report -- [NAME ...] [options]',
  takesNames: true,
  own: {
    results: { value: 'FILE', help: 'run nothing, report what a run has left there, as in bench/results.jsonl' },
    output: { value: 'PATH', help: 'folder for report.md and charts; then README.md stays as it is. Default: bench' },
    readme: { value: 'FILE', help: 'the page whose comparison is rewritten; default: README.md' }
  },
  check ({ results, readme }) {
    const missing = [results, readme].find(file => file !== undefined && !fs.existsSync(file))
    if (missing !== undefined) throw new Error(`there is no file ${missing}`)
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
  if (!isMeasured(figures)) return console.error(`${readme} stays as it is: not all that it compares was measured`)
  const pictures = drawn.filter(({ name }) => README_CHARTS.includes(name)).map(chart => picture(chart, 'bench/charts'))
  const text = [...pictures, comparisonTable(about, figures), 'All figures: [bench/report.md](bench/report.md).'].join('\n\n')
  write(readme, withComparison(fs.readFileSync(readme, 'utf8'), text))
}

/**
 * @typedef {{ file: string | null, name: string, title: string }} Drawn a chart; `file` is the benchmark's, if it is one's
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
 * @param {string} folder as the page sees it
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
  return `# Measured

${place(about)}, ${about.size} size. Written by \`npm run bench:report\`; [what is measured and how](../docs/speed.md).

${versions(about)}.

Records a second and MB a second, medians of up to ${ROUNDS[about.size]} rounds; latencies are from an append or a get to its answer. Where all of a log is read, it
is read at least twice before the time is taken, and opened anew each time. A star: see the end of the section.

${[...comparison, ...files.map(name => section(name, figures.filter(({ file }) => file === name), drawn))].join('\n\n')}
`
}

function comparisonOf (about, figures, drawn) {
  const pictures = drawn.filter(({ file }) => file === null).map(chart => picture(chart, 'charts'))
  return ['## All beside each other', ...pictures, comparisonTable(about, figures)].join('\n\n')
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
