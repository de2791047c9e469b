'use strict'

// The observable `since`.

const test = require('tape')
const FlumeLog = require('../..')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { uncaughtDuring } = require('../helpers/uncaught')

test('a listener of since that throws keeps no other listener from being called', async (t) => {
  const log = promises(FlumeLog(newFile()))
  const seen = { first: [], once: [], last: [] }
  log.log.since(seq => { seen.first.push(seq) })
  log.log.since(() => { throw new Error('of a listener') })
  log.log.since.once(() => { throw new Error('of a listener called once') })
  log.log.since.once(seq => { seen.once.push(seq) })
  log.log.since(seq => { seen.last.push(seq) })
  const thrown = await uncaughtDuring(async () => {
    await log.append('one')
    await log.append('two')
    await new Promise(setImmediate)
  })
  t.deepEqual(seen, { first: [-1, 0, 7], once: [-1], last: [-1, 0, 7] })
  t.deepEqual([...new Set(thrown.map(err => err.message))].sort(), ['of a listener', 'of a listener called once'], 'what it throws is not lost')
  await log.close()
})

test('a listener of since is called until it returns false, or is removed', async (t) => {
  const log = promises(FlumeLog(newFile()))
  await log.onReady()
  const seen = { until: [], removed: [], later: [] }
  log.log.since(seq => { seen.until.push(seq); return seq < 0 })
  const remove = log.log.since(seq => { seen.removed.push(seq) })
  log.log.since(seq => { seen.later.push(seq) }, false)
  await log.append('one')
  remove()
  await log.append('two')
  t.deepEqual(seen, { until: [-1, 0], removed: [-1, 0], later: [0, 7] })
  t.equal(log.log.since.value, 7)
  t.throws(() => log.log.since('no function'), { code: 'flumelog:invalid' })
  await log.close()
})
