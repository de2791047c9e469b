'use strict'

// Compares a log with an array: random appends, batches, gets, deletions, reopenings,
// streams and searches.

const tape = require('tape')
const fc = require('fast-check')
const FlumeLog = require('../..')
const { newFile } = require('../helpers/folder')
const { compareWithModel, setting, step } = require('../helpers/model-steps')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 1000 : 300))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

tape(`a log behaves like an array, in ${RUNS} random runs`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  await fc.assert(fc.asyncProperty(setting, fc.array(step, { maxLength: 40 }), async (settings, steps) => {
    const file = newFile()
    await compareWithModel(async (options) => FlumeLog(file, options), settings, steps)
  }), { numRuns: RUNS, seed: SEED })
  t.pass('no difference was found')
})
