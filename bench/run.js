'use strict'

// Runs the benchmarks, prints what they measure, and leaves every single measure
// in results.jsonl, a line of JSON each.

const { settings, beginResults } = require('./helpers/settings')
const { runFiles } = require('./helpers/runner')

const { names, ...rest } = settings('node bench/run.js [NAME ...] [--full] [--rounds N] [--folder PATH]')

runFiles(names.map(name => require(`./${name}`)), { ...rest, onMeasure: beginResults(rest.size) })
