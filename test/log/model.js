'use strict'

// Compares a log with an array: random appends, batches, gets, deletions, reopenings,
// streams and searches.

const tape = require('tape')
const fc = require('fast-check')
const RAM = require('random-access-memory')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { compareWithModel, setting, step } = require('../helpers/model-steps')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 1000 : 300))
const FILE_RUNS = Math.ceil(RUNS / 5)
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

tape(`a log behaves like an array, in ${RUNS} random runs`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  await fc.assert(fc.asyncProperty(setting, fc.array(step, { maxLength: 40 }), async (settings, steps) => {
    let storage = new RAM()
    await compareWithModel(async (options) => {
      storage = storage.clone()
      return FlumeLog(storage, options)
    }, settings, steps)
  }), { numRuns: RUNS, seed: SEED })
  t.pass('no difference was found')
})

tape(`and in a file, where blocks become holes, in ${FILE_RUNS} random runs`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const folder = testFolder(t)
  let runs = 0
  await fc.assert(fc.asyncProperty(setting, fc.array(step, { maxLength: 40 }), async (settings, steps) => {
    const file = folder(`log-${runs++}`)
    await compareWithModel(async (options) => FlumeLog(file, options), settings, steps)
  }), { numRuns: FILE_RUNS, seed: SEED })
  t.pass('no difference was found')
})
