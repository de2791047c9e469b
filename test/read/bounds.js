'use strict'

// Compares combinations of options of stream and scan with an array, with every integer
// as every bound, on a small log with deleted records.

const test = require('tape')
const FlumeLog = require('../..')
const { promises } = require('../helpers/promises')
const { modelOf } = require('../helpers/model')
const { collect } = require('../helpers/reading')
const { boundsTests, SIZES, DELETED } = require('../helpers/bounds')
const { newFile } = require('../helpers/folder')

/**
 * Four blocks of 32 bytes: two full ones, one with deleted records only, a tail.
 * @param {object} options of the log
 * @param {boolean} reopened whether all of it comes from the file, but the tail
 */
async function smallLog (options = {}, reopened = false) {
  const settings = { blockSize: 32, checksum: true, ...options }
  const storage = newFile()
  const model = modelOf(settings)
  let log = promises(FlumeLog(storage, settings))
  for (const size of SIZES) {
    const value = model.make(size)
    await log.append(value)
    model.append([value])
  }
  for (const { seq } of DELETED.map(number => model.records[number])) {
    await log.del(seq)
    model.del(seq)
  }
  if (reopened) {
    await log.close()
    log = promises(FlumeLog(storage, settings))
  }
  await log.onReady()
  return { log: log.log, close: log.close, model }
}

test('the small log has the layout that these tests need', async (t) => {
  const { log, close, model } = await smallLog()
  t.deepEqual(model.records.map(({ seq, deleted }) => deleted ? -seq : seq), [0, -7, 32, -64, -72, 96, 105])
  t.equal(model.end, 112)
  t.deepEqual(await collect(log), model.stream({}))
  await close()
})

/** Where the records come from. */
const SOURCES = [
  ['in memory', {}, false],
  ['from the file', {}, true],
  ['from the file, without a cache', { cacheSize: 0 }, true]
]

boundsTests({
  SOURCES,
  smallLog,
  emptyLog: async () => promises(FlumeLog(newFile(), { blockSize: 32 })),
  live: { from: 90, lowerStep: 7, upperStep: 3, after: [105, 111, 112, 127, 128, 200, 223] }
})
