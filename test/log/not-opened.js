'use strict'

// A log that cannot be opened, of which nobody is told.

const fs = require('fs')
const { spawnSync } = require('child_process')
const Flume = require('flumedb')
const Reduce = require('flumeview-reduce')
const tape = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')
const { promises } = require('../helpers/promises')
const { isNode } = require('../helpers/runtime')
const { uncaughtDuring } = require('../helpers/uncaught')

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

tape('under flumedb, whose views are given no error, an opening that fails is thrown, and so are later calls', async (t) => {
  const file = notALog(t)
  for (const call of [db => db.view.get(() => t.fail('it was answered')), db => db.get(0, () => t.fail('it was answered')), db => db.append('x', () => {}), () => {}]) {
    let db
    const [err] = await uncaughtDuring(async () => {
      const uncaught = new Promise(resolve => process.once('uncaughtException', resolve))
      // a view in memory, which listens to the log at once
      db = Flume({ ...FlumeLog(file), filename: undefined }).use('view', Reduce(1, () => 1))
      call(db)
      await uncaught
    })
    t.match(err.message, /not a log/)
    for (const late of [() => db.view.get(() => {}), () => db.get(0, () => {})]) t.throws(late, { code: 'flumelog:not-a-log' })
    await new Promise(resolve => db.close(resolve))
  }
})

tape('a program under flumedb that reads a log that cannot be opened ends with the error, and its views stay as they are', { skip: !isNode && 'other runtimes have other options for a program in an argument' }, async (t) => {
  const file = testFolder(t)('log')
  const log = FlumeLog(file)
  const view = Reduce(1, (count) => (count ?? 0) + 1)
  const db = Flume(log).use('view', view)
  await new Promise((resolve, reject) => db.append(Buffer.from('one'), err => err ? reject(err) : resolve()))
  await new Promise(resolve => db.view.get(resolve))
  await new Promise(resolve => db.close(resolve))
  const owner = promises(FlumeLog(file))
  await owner.onReady()
  for (const call of ['db.view.get(() => {})', 'db.get(0, () => {})', 'pull(db.stream({}), pull.collect(() => {}))', 'pull(db.view.stream({}), pull.collect(() => {}))']) {
    const program = `
      const pull = require('pull-stream')
      const FlumeLog = require(${JSON.stringify(require.resolve('../..'))})
      const db = require('flumedb')(FlumeLog(${JSON.stringify(file)})).use('view', require('flumeview-reduce')(1, (count) => (count ?? 0) + 1))
      ${call}`
    const { status, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: __dirname, encoding: 'utf8' })
    t.equal(status, 1, call)
    t.match(stderr, /another writer has the log open/)
  }
  await owner.close()
  const again = Flume(FlumeLog(file)).use('view', view)
  t.equal(await new Promise((resolve, reject) => again.view.get((err, count) => err ? reject(err) : resolve(count))), 1)
  await new Promise(resolve => again.close(resolve))
})

tape('a program that is told by onReady has no exception, whatever listens to since', async (t) => {
  const file = notALog(t)
  const thrown = await uncaughtDuring(async () => {
    const log = FlumeLog(file)
    log.since(() => t.fail('called'))
    t.equal(await codeOf(promises(log).onReady()), 'flumelog:not-a-log')
    log.since.once(() => t.fail('called'))
    await new Promise(setImmediate)
  })
  t.deepEqual(thrown, [])
})
