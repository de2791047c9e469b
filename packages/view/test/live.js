'use strict'

// What is appended while somebody looks, by this process or another.

const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { testFolder } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')
const { viewOf } = require('./helpers/view')

for (const reader of ['the writer itself', 'a follower']) {
  test(`${reader} tells how many records were appended since it was asked last, each once`, async (t) => {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file))
    await log.append(['old 1', 'old 2'])
    const follower = reader === 'a follower' ? promises(FlumeLog(file, { readOnly: true })) : null
    await follower?.onReady()
    const { api } = await viewOf(t, (follower ?? log).log)
    let from = 9
    let count = 0
    /** Asks until this number of records was told. */
    const until = async (wanted) => {
      while (count < wanted) {
        const news = await api(`live?from=${from}&id=${log.log.id}`)
        count += news.count
        from = news.end
      }
    }
    await until(1)
    await log.append(['new 1', 'new 2'])
    await until(3)
    await log.append(Array.from({ length: 500 }, (_, i) => `many ${i}`))
    await until(503)
    t.equal(count, 503, 'from the offset that was asked for')
    const { start, end, lag } = await api(`live?from=${from}`)
    t.deepEqual({ start, end, lag }, { start: 0, end: log.log.stats().size, lag: 0 })
    await follower?.close()
    await log.close()
  })
}

test('what is read at the end goes on exactly where it was, whatever is appended meanwhile', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 1024 }))
  const { api } = await viewOf(t, log.log)
  const seen = []
  let from = 0
  let isDone = false
  const appending = (async () => {
    for (let i = 0; i < 2000; i += 10) await log.append(Array.from({ length: 10 }, (_, k) => `record ${i + k}`))
    isDone = true
  })()
  for (let isLast = false; !isLast;) {
    isLast = isDone
    const { rows, at } = await api(`records?from=${from}&count=200`)
    seen.push(...rows.map(({ line }) => line))
    isLast &&= rows.length === 0
    from = at
  }
  await appending
  t.deepEqual(seen, Array.from({ length: 2000 }, (_, i) => `record ${i}`))
  await log.close()
})

test('a compaction is told by another id of the log, and nothing is counted from an offset of before it', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log')))
  await log.append(Array.from({ length: 100 }, (_, i) => `record ${i}`))
  const { id } = log.log
  await log.del(0)
  const { api } = await viewOf(t, log.log)
  await new Promise((resolve, reject) => log.log.compact({}, err => err ? reject(err) : resolve()))
  const news = await api(`live?from=0&id=${id}`)
  t.notEqual(news.id, id)
  t.deepEqual([news.id, news.count, news.end], [String(log.log.id), 0, log.log.stats().size])
  await log.append('after')
  t.equal((await api(`live?from=${news.end}&id=${news.id}`)).count, 1)
  await log.close()
})

test('a view does not keep its log from closing, and says then that it is closed', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log')))
  await log.append('one')
  const { api, get } = await viewOf(t, log.log)
  t.equal((await api('live?from=0')).count, 1)
  await log.close()
  const { status, json } = await get('/api/live?from=0')
  t.deepEqual([status, json.code], [503, 'flumelog:closed'])
})
