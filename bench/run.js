'use strict'

// Runs the benchmarks, prints what they measure, and leaves every single measure
// in results.jsonl, a line of JSON each.

const { settings, beginResults } = require('./helpers/settings')
const { runFiles } = require('./helpers/runner')

const { names, ...rest } = settings({ usage: 'npm run bench -- [NAME ...] [options]', takesNames: true })

runFiles(names.map(name => require(`./${name}`)), { ...rest, onMeasure: beginResults(rest.size) })
