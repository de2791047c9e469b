'use strict'

// Runs the benchmarks, prints the results, and writes every measurement to results.jsonl,
// one line of JSON each.

const { settings, beginResults } = require('./helpers/settings')
const { runFiles } = require('./helpers/runner')

const { names, ...rest } = settings({ usage: 'npm run bench -- [NAME ...] [options]', takesNames: true })

runFiles(names.map(name => require(`./${name}`)), { ...rest, onMeasure: beginResults(rest.size) })
