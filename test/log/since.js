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

test('listeners of since may remove themselves and others, and add some, while they are called', async (t) => {
  const log = promises(FlumeLog(newFile()))
  await log.onReady()
  const { since } = log.log
  const seen = { itself: [], replaced: [], added: [], removed: [], once: [], last: [] }
  const removeItself = since(seq => { seen.itself.push(seq); removeItself(); return false }, false)
  const removeReplaced = since((seq) => {
    seen.replaced.push(seq)
    removeReplaced()
    since(seq => { seen.added.push(seq) }, false)
  }, false)
  since.once(() => { removeOnce(); removeLater() }, false)
  const removeOnce = since.once(seq => { seen.once.push(seq) }, false)
  const removeLater = since(seq => { seen.removed.push(seq) }, false)
  since(seq => { seen.last.push(seq) }, false)
  t.equal(await log.append('one'), 0, 'the call is answered')
  await log.append('two')
  t.deepEqual(seen, { itself: [0], replaced: [0], added: [7], removed: [], once: [], last: [0, 7] })
  await log.close()
})
