'use strict'

// What is appended while a view is open, by this process or another.

const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { testFolder } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')
const { eventsUntil, viewOf } = require('./helpers/view')

const appended = (events) => events.filter(({ event }) => event === 'append').map(({ data }) => data)
const total = (events) => appended(events).reduce((sum, { count }) => sum + count, 0)

for (const reader of ['the writer itself', 'a follower']) {
  test(`${reader} tells of what is appended, each record once, only the newest as rows`, async (t) => {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file))
    await log.append(['old 1', 'old 2'])
    const follower = reader === 'a follower' ? promises(FlumeLog(file, { readOnly: true })) : null
    await follower?.onReady()
    const { port } = await viewOf(t, (follower ?? log).log)
    const events = await eventsUntil(port, '/api/live?from=9', events => total(events) >= 503, async () => {
      await log.append(['new 1', 'new 2'])
      await log.append(Array.from({ length: 500 }, (_, i) => `many ${i}`))
    })
    const batches = appended(events)
    t.equal(total(events), 503, 'from the offset that was asked for')
    t.ok(batches.every(({ rows, count }) => rows.length <= 50 && rows.length <= count && rows.length > 0))
    const { rows, end } = batches.at(-1)
    t.equal(rows.at(-1).line, 'many 499')
    t.equal(end, (follower ?? log).log.stats().size)
    const seqs = batches.flatMap(({ rows }) => rows.map(({ seq }) => seq))
    t.ok(seqs.every((seq, i) => i === 0 || seq > seqs[i - 1]), 'in order')
    t.ok(events.some(({ event, data }) => event === 'stats' && data.end > 0 && 'lag' in data && 'rate' in data))
    await follower?.close()
    await log.close()
  })
}

test('a compaction is told, with the new id of the log, and what is appended after it', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append(Array.from({ length: 100 }, (_, i) => `record ${i}`))
  await log.del(0)
  const { port } = await viewOf(t, log.log)
  const events = await eventsUntil(port, '/api/live', events => appended(events).length > 0, async () => {
    await new Promise((resolve, reject) => log.log.compact({}, err => err ? reject(err) : resolve()))
    // until it has been noticed
    await new Promise(resolve => setTimeout(resolve, 600))
    await log.append('after')
  })
  const compacted = events.find(({ event }) => event === 'compacted')
  t.deepEqual(compacted.data, { id: log.log.id, start: log.log.start })
  t.deepEqual(appended(events).map(({ rows }) => rows.map(({ line }) => line)), [['after']])
  await log.close()
})

test('a view that stays open does not keep its log from closing', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log')))
  await log.append('one')
  const { port } = await viewOf(t, log.log)
  const events = await eventsUntil(port, '/api/live', events => events.some(({ event }) => event === 'failed'), () => log.close())
  t.equal(events.at(-1).data.code, 'flumelog:closed')
})
