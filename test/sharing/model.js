'use strict'

// The same comparison with an array as for a log of one process, made by a client of a
// shared log, and by a client whose owner closes again and again, so that it takes over.

const tape = require('tape')
const fc = require('fast-check')
const FlumeLog = require('../..')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')
const { modelOf } = require('../helpers/model')
const { compareWithModel, setting, step } = require('../helpers/model-steps')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 150 : 50))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

tape(`a client of a shared log behaves like an array, in ${RUNS} random runs`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const folder = testFolder(t)
  let runs = 0
  await fc.assert(fc.asyncProperty(setting, fc.array(step, { maxLength: 40 }), async (settings, steps) => {
    const file = folder(`log-${runs++}`)
    const owner = promises(FlumeLog(file, { ...settings, shared: true }))
    await owner.onReady()
    await compareWithModel(async (options) => {
      const client = promises(FlumeLog(file, { ...options, shared: true }))
      await client.onReady()
      if (client.log.role !== 'client') throw new Error(`it is the ${client.log.role}`)
      return client.log
    }, settings, steps, modelOf(settings, true))
    await owner.close()
  }), { numRuns: RUNS, seed: SEED })
  t.pass('no difference was found')
})
