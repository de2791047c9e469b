'use strict'

// Runs the benchmarks, prints the figures, and writes every measurement to a file of results, one line of JSON each.

const { settings, beginResults, FULL, RESULTS } = require('./helpers/settings')
const { runFiles } = require('./helpers/runner')

const program = {
  usage: 'npm run bench -- [NAME ...] [options]',
  takesNames: true,
  own: {
    full: FULL,
    results: { value: 'FILE', help: 'where to write the measurements; default: bench/results.jsonl' }
  }
}

const { names, values, rounds, folder } = settings(program)
const size = values.full ? 'full' : 'quick'

runFiles(names.map(name => require(`./${name}`)), { size, rounds, folder, onMeasure: beginResults(values.results ?? RESULTS, size) })
