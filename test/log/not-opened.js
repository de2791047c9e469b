'use strict'

// A log that cannot be opened, of which nobody is told.

const fs = require('fs')
const Flume = require('flumedb')
const Reduce = require('flumeview-reduce')
const tape = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')
const { promises } = require('../helpers/promises')

/** The warnings of this kind that are emitted until the opening has ended, which a later call tells. */
async function warningsOf (run) {
  const warnings = []
  const listener = (warning) => warning.code === 'FLUMELOG_NOT_OPENED' && warnings.push(warning.message)
  process.on('warning', listener)
  await run()
  await new Promise(setImmediate)
  process.off('warning', listener)
  return warnings
}

const warning = () => new Promise(resolve => process.once('warning', resolve))

function notALog (t) {
  const file = testFolder(t)('log')
  fs.writeFileSync(file, 'this is the text of some letter, which is no log at all. '.repeat(50))
  return file
}

tape('a log that cannot be opened, of which nobody is told, is a warning with the cause', async (t) => {
  const file = notALog(t)
  const [first] = await warningsOf(async () => {
    const warned = warning()
    FlumeLog(file)
    await warned
  })
  t.ok(first.includes(file))
  t.match(first, /not a log/)
  const [second] = await warningsOf(async () => {
    const warned = warning()
    FlumeLog(file).append('x')
    await warned
  })
  t.match(second, /not a log/, 'also if an append without a callback is lost')
})

tape('a call or an append with a callback that is told is enough', async (t) => {
  const file = notALog(t)
  for (const call of ['onReady', 'onDrain']) t.deepEqual(await warningsOf(() => codeOf(promises(FlumeLog(file))[call]())), [], call)
  t.deepEqual(await warningsOf(() => codeOf(promises(FlumeLog(file)).append('x'))), [])
})

tape('under flumedb, whose views cannot be told, it is a warning, and the views stay as they are', async (t) => {
  const name = testFolder(t)
  const file = name('log')
  const view = () => Reduce(1, (count) => (count ?? 0) + 1)
  const log = FlumeLog(file)
  const db = Flume(log).use('view', view())
  await new Promise((resolve, reject) => db.append(Buffer.from('one'), err => err ? reject(err) : resolve()))
  await new Promise(resolve => db.view.get(resolve))
  const [first] = await warningsOf(async () => {
    const warned = warning()
    const other = Flume(FlumeLog(file)).use('view', view())
    other.view.get(() => t.fail('it was answered'))
    await warned
  })
  t.match(first, /another writer has the log open/)
  t.match(first, /flumedb and its views/)
  await new Promise(resolve => db.close(resolve))
})
