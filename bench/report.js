'use strict'

// Runs all benchmarks in the full size, and writes what is published: report.md, check.md, the charts, and the comparison in
// docs/comparison.md, all of them from the same results. With --results FILE, it runs nothing, and reports the results in that
// file; with several, those of several versions of Node.js side by side. With names and --page NAME, it writes a page about these alone.

const fs = require('fs')
const path = require('path')
const { settings, beginResults, readResults, checkResults, RESULTS } = require('./helpers/settings')
const { runFiles } = require('./helpers/runner')
const { summarize } = require('./helpers/results')
const { charts } = require('./helpers/charts')
const { isMeasured, comparisonTable, withComparison } = require('./helpers/comparison')
const { reportPage, partPage } = require('./helpers/report-page')
const { checkPage } = require('./helpers/check-page')

const COMPARISON = path.join(__dirname, '..', 'docs', 'comparison.md')
/** Charts shown there. */
const COMPARISON_CHARTS = ['comparison', 'burst']

const program = {
  usage: 'npm run bench:report -- [NAME ...] [options]',
  takesNames: true,
  own: {
    results: { value: 'FILE', multiple: true, help: 'run nothing, report the results in this file; may be repeated, for several versions of Node.js' },
    output: { value: 'PATH', help: 'directory for the pages and charts; docs/comparison.md is not changed. Default: bench' },
    page: { value: 'NAME', help: 'of some benchmarks: write NAME.md with their figures and ratios, and change no other page' },
    comparison: { value: 'FILE', help: 'page whose comparison is replaced; default: docs/comparison.md' }
  },
  check ({ results, comparison }) {
    checkResults([...(results ?? []), ...(comparison === undefined ? [] : [comparison])])
  }
}

main()

async function main () {
  const { names, values, rounds, folder } = settings(program)
  if (values.results === undefined) {
    await runFiles(names.map(name => require(`./${name}`)), { size: 'full', rounds, folder, onMeasure: beginResults(RESULTS, 'full') })
  }
  const results = (values.results ?? [RESULTS]).map(readResults)
  const runs = results.map(({ about, lines }) => ({ about, figures: summarize(lines) }))
  const output = path.resolve(values.output ?? __dirname)
  if (values.page !== undefined) return write(path.join(output, `${values.page}.md`), partPage({ names, page: values.page }, results, runs, []))
  // of the newest Node.js, which is given last
  const drawn = await drawCharts(runs[runs.length - 1], output)
  write(path.join(output, 'report.md'), reportPage(runs, drawn))
  write(path.join(output, 'check.md'), checkPage(results))
  const comparison = values.comparison ?? (values.output === undefined ? COMPARISON : undefined)
  if (comparison !== undefined) rewrite(comparison, runs, drawn)
}

/** @param {string} filename */
function write (filename, text) {
  fs.writeFileSync(filename, text)
  console.error(`wrote ${filename}`)
}

/**
 * @param {string} comparison
 * @param {import('./helpers/comparison').Run[]} runs
 * @param {import('./helpers/report-page').Drawn[]} drawn
 */
function rewrite (comparison, runs, drawn) {
  if (!runs.every(({ figures }) => isMeasured(figures))) return console.error(`${comparison} is not changed: some benchmarks of its comparison were not run in the full size`)
  const pictures = drawn.filter(({ name }) => COMPARISON_CHARTS.includes(name)).map(({ title, name }) => `![${title}](../bench/charts/${name}.svg)`)
  const text = [comparisonTable(runs), ...pictures].join('\n\n')
  write(comparison, withComparison(fs.readFileSync(comparison, 'utf8'), text))
}

/**
 * @param {import('./helpers/comparison').Run} run
 * @param {string} output
 * @returns {Promise<import('./helpers/report-page').Drawn[]>}
 */
async function drawCharts (run, output) {
  const drawn = []
  fs.mkdirSync(path.join(output, 'charts'), { recursive: true })
  for (const { svg, ...chart } of await charts(run)) {
    fs.writeFileSync(path.join(output, 'charts', `${chart.name}.svg`), svg)
    drawn.push(chart)
  }
  return drawn
}
