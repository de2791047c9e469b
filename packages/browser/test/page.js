'use strict'

/* global flumelog, ErrorEvent */

// A log on a page of a real browser: over messages to the worker that has it open.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const { inBrowser } = require('./helpers/browser')

inBrowser(({ dist, open }) => {
  /** @type {import('puppeteer-core').Page} */
  let page
  test('a page is there', async (t) => {
    page = await open()
    t.ok(page)
  })

  test('a page has what a worker has: appends, reads, searches, deletions, cursors, compaction', async (t) => {
    const result = await page.evaluate(async () => {
      const { open } = flumelog
      const all = async (source, options) => {
        const found = []
        for await (const item of source.stream(options)) found.push(item)
        return found
      }
      const log = await open('page', { codec: 'json', blockSize: 1024 })
      const found = { empty: [log.since.value, log.start, log.id, log.blockSize] }
      const seqs = await Promise.all(Array.from({ length: 500 }, (_, i) => log.append({ i })))
      found.since = log.since.value === seqs[499]
      found.last = await log.append([{ i: 500 }, { i: 501 }]) === log.since.value
      found.get = await log.get(seqs[77])
      found.previous = (await log.getPrevious(seqs[77])).value
      found.search = (await log.search(({ i }) => i - 333)).seq === seqs[333]
      found.none = await log.search(() => -1).catch(err => err.code)
      found.records = (await all(log)).every(({ value }, i) => value.i === i)
      found.seqs = await all(log, { values: false, limit: 2 })
      found.values = await all(log, { seqs: false, reverse: true, limit: 2 })
      await log.del(seqs[3])
      found.deleted = (await all(log, { deleted: true, gte: seqs[2], lt: seqs[5] })).map(({ value, size }) => [value, size])
      let scanned = 0
      await log.scan({ gte: seqs[400] }, (bytes, start, end) => { scanned += JSON.parse(new TextDecoder().decode(bytes.subarray(start, end))).i >= 400 ? 1 : 0 })
      found.scanned = scanned
      const cursor = log.cursor('mine')
      await cursor.commit(seqs[10])
      found.cursor = [cursor.seq === seqs[10], (await all(cursor, { limit: 1 }))[0].value.i, (await log.cursors())[0].name]
      found.trimmed = await log.trim({ lt: seqs[200] }) === log.start
      found.stored = await log.appendFrom(async function * () { for (let i = 0; i < 2500; i++) yield { i: 1000 + i } }())
      found.stored.seq = found.stored.seq === log.since.value
      await log.del(seqs[450])
      let progress = 0
      const { records } = await log.compact({ onProgress: ({ bytes }) => { progress = bytes } })
      found.compacted = [records, progress > 0, log.id !== '0', (await all(log, { reverse: true, limit: 1 }))[0].value]
      let copied = 0
      const { incremental } = await log.backup('page-backup', { onProgress: ({ bytes }) => { copied = bytes } })
      const backup = await open('page-backup', { codec: 'json', readOnly: true })
      found.backup = [incremental, copied > 0, backup.since.value === log.since.value]
      await backup.close()
      found.stats = (await log.stats()).appended.records > 0
      await log.sync()
      await log.close()
      await log.close()
      found.closed = [await log.append({}).catch(err => err.code), await log.get(0).catch(err => err.code), await log.since.next().catch(err => err.code)]
      return found
    })
    const { compacted: [records, ...compacted], ...rest } = result
    t.ok(records > 2500, `${records} records were kept`)
    t.deepEqual(compacted, [true, true, { i: 3499 }])
    t.deepEqual(rest, {
      empty: [-1, 0, '0', 1024],
      since: true,
      last: true,
      get: { i: 77 },
      previous: { i: 76 },
      search: true,
      none: 'flumelog:not-found',
      records: true,
      seqs: [0, 11],
      values: [{ i: 501 }, { i: 500 }],
      deleted: [[{ i: 2 }, 11], [null, 11], [{ i: 4 }, 11]],
      scanned: 102,
      cursor: [true, 11, 'mine'],
      trimmed: true,
      backup: [false, true, true],
      stored: { records: 2500, bytes: 2500 * 10, seq: true },
      stats: true,
      closed: ['flumelog:closed', 'flumelog:closed', 'flumelog:closed']
    })
  })

  test('a failed append on a page fails alone, and those beside it are stored in order', async (t) => {
    const found = await page.evaluate(async () => {
      const { open } = flumelog
      const circular = {}
      circular.self = circular
      const log = await open('failing', { codec: 'json', blockSize: 1024 })
      const results = await Promise.allSettled([1, { text: 'x'.repeat(5000) }, 2, undefined, circular, [3, { text: 'x'.repeat(5000) }], [4, 5]].map(value => log.append(value)))
      const stored = []
      for await (const { value } of log.stream()) stored.push(value)
      await log.close()
      return { outcomes: results.map(({ status, reason }) => status === 'fulfilled' ? 'stored' : reason.code ?? reason.name), stored }
    })
    t.deepEqual(found, { outcomes: ['stored', 'flumelog:too-large', 'stored', 'flumelog:invalid', 'flumelog:invalid', 'flumelog:too-large', 'stored'], stored: [1, 2, 4, 5] })
  })

  test('a stream on a page holds the worker back, and ends when its loop does', async (t) => {
    const found = await page.evaluate(async () => {
      const { open } = flumelog
      const log = await open('long', { blockSize: 1024 })
      await log.append(Array.from({ length: 20000 }, (_, i) => `record ${i}`))
      const batches = log.batches()
      const { value: first } = await batches.next()
      // what the worker has sent is there before the answer to this
      await log.stats()
      const isBounded = batches.batches.length <= 4
      let records = first.length
      for await (const batch of batches) records += batch.length
      let some = 0
      for await (const record of log.stream()) if (++some === 100 && record) break
      await log.stats()
      const open_ = log.connection.streams.size
      await log.close()
      return { isBounded, records, some, open: open_ }
    })
    t.deepEqual(found, { isBounded: true, records: 20000, some: 100, open: 0 })
  })

  test('a live stream on a page gets what is appended, until its signal ends it, or the log is closed', async (t) => {
    const found = await page.evaluate(async () => {
      const { open } = flumelog
      const log = await open('live', { codec: 'json' })
      await log.append('old')
      const abort = new AbortController()
      const got = []
      const reading = (async () => {
        for await (const { value } of log.stream({ live: true, signal: abort.signal })) {
          got.push(value)
          if (got.length === 101) abort.abort(new Error('enough'))
        }
      })().catch(err => err.message)
      const changes = (async () => {
        const seqs = []
        for await (const seq of log.since.changes()) seqs.push(seq)
        return seqs
      })()
      for (let i = 0; i < 100; i++) await log.append(i)
      const ended = await reading
      const other = (async () => { for await (const { value } of log.stream({ live: true, old: false })) got.push(value) })().then(() => 'ended', err => err.code)
      await log.append('new')
      const last = log.since.value
      await log.close()
      const seqs = await changes
      return { ended, got, other: await other, ordered: seqs.every((seq, i) => i === 0 || seq > seqs[i - 1]), last: seqs.at(-1) === last }
    })
    t.equal(found.ended, 'enough')
    t.deepEqual(found.got.slice(0, 101), ['old', ...Array.from({ length: 100 }, (_, i) => i)])
    t.ok(found.ordered && found.last, '`since` goes up, to the last record')
    t.ok(['flumelog:closed', 'ended'].includes(found.other), found.other)
  })

  test('a stream of new records on a page starts with the first one that was not acknowledged when it was called', async (t) => {
    const found = await page.evaluate(async () => {
      const log = await flumelog.open('old-false', { codec: 'json' })
      await log.append('first')
      const appended = log.append('in flight')
      const stream = log.stream({ old: false })
      await appended
      const { value: { value } } = await stream.next()
      const later = log.stream({ old: false })
      await log.append('later')
      const { value: { value: second } } = await later.next()
      await log.close()
      return [value, second]
    })
    t.deepEqual(found, ['in flight', 'later'])
  })

  test('a page never gives a seq beside an id of the log that it does not belong to', async (t) => {
    const found = await page.evaluate(async () => {
      const log = await flumelog.open('compacted-on-page', { codec: 'json' })
      for (let i = 0; i < 30; i++) await log.append(Array(100).fill('x'.repeat(600)))
      const read = async (method, options) => {
        await log.del((await log.stream({ limit: 1 }).next()).value.seq)
        let wrong = 0
        let isCompacted = false
        try {
          for await (const item of log[method](options)) {
            for (const { seq } of [item].flat()) if (seq < log.start) wrong++
            if (!isCompacted) await log.compact()
            isCompacted = true
          }
          return { wrong }
        } catch ({ code }) {
          return { wrong, code }
        }
      }
      const found = [await read('batches'), await read('stream'), await read('stream', { seqs: false })]
      await log.close()
      return found
    })
    t.deepEqual(found, [{ wrong: 0, code: 'flumelog:compacted' }, { wrong: 0, code: 'flumelog:compacted' }, { wrong: 0 }])
  })

  test('a cursor on a page follows a compaction, and commits nothing once it is closed', async (t) => {
    const found = await page.evaluate(async () => {
      const log = await flumelog.open('page-cursor', { codec: 'json' })
      const seqs = []
      for (let i = 0; i < 10; i++) seqs.push(await log.append(i))
      const cursor = log.cursor('mine')
      await cursor.commit(seqs[5])
      await log.del(seqs[0])
      await log.compact()
      const value = await log.get(cursor.seq)
      const { seq } = cursor
      await cursor.close()
      await cursor.close()
      const refused = await cursor.commit(log.since.value).catch(err => err.code)
      const [{ held }] = await log.cursors()
      const kept = cursor.seq === seq
      const again = await log.cursor('mine').ready() === seq
      await log.close()
      return { value, refused, held, kept, again }
    })
    t.deepEqual(found, { value: 5, refused: 'flumelog:closed', held: false, kept: true, again: true })
  })

  test('a page refuses what is invalid or cannot be sent as Node.js does, and each call by itself', async (t) => {
    const found = await page.evaluate(async () => {
      const { open } = flumelog
      const why = promise => promise.then(result => result, err => err.code)
      const log = await open('refused-on-page')
      const found = { appends: await Promise.all([why(log.append('a')), why(log.append('b', { after: Symbol('x') })), why(log.append('c'))]) }
      const scanned = []
      await why(log.scan({ reuse: true }, (bytes, start, end) => { scanned.push(end - start) }))
      found.scanned = scanned
      found.scan = await why(log.scan(undefined, () => {}))
      await log.close()
      found.codecs = await Promise.all(['xml', { encode: JSON.stringify }, 5].map(codec => why(open('refused-codec', { codec }))))
      found.retain = await why(open('refused-codec', { retain: { age: 1, time: () => 0 } }))
      found.name = await why(open('\ud800'))
      const parsing = await open('parsing', { codec: { encode: JSON.stringify, decode: JSON.parse } })
      found.parsed = await parsing.get(await parsing.append({ a: 1 }))
      await parsing.close()
      return found
    })
    t.deepEqual(found, {
      appends: [0, 'flumelog:invalid', 5],
      scanned: [1, 1],
      scan: 'flumelog:invalid',
      codecs: ['flumelog:invalid', 'flumelog:invalid', 'flumelog:invalid'],
      retain: 'flumelog:unsupported',
      name: 'flumelog:invalid',
      parsed: { a: 1 }
    })
  })

  test('a worker that cannot be loaded, or fails, ends all that waits for it', async (t) => {
    const found = await page.evaluate(async () => {
      const { open } = flumelog
      const log = await open('broken', { codec: 'json' })
      await log.append(1)
      const waiting = log.since.next().catch(err => err.code)
      const reading = log.stream({ live: true, old: false }).next().catch(err => err.code)
      log.connection.worker.dispatchEvent(new ErrorEvent('error', { message: 'out of memory', cancelable: true }))
      const codes = [await waiting, await reading, await log.append(2).catch(err => err.code)]
      const again = await flumelog.openReleased('broken', { codec: 'json' })
      const values = []
      for await (const { value } of again.stream()) values.push(value)
      await again.close()
      return { codes, values }
    })
    t.deepEqual(found, { codes: ['flumelog:failed', 'flumelog:failed', 'flumelog:failed'], values: [1] })
  })

  test('without the file that few calls need, a page opens, appends, reads and closes; these calls fail until it is there, and lose nothing', async (t) => {
    const [file] = fs.readdirSync(dist).filter(name => name.startsWith('more-')).map(name => path.join(dist, name))
    fs.renameSync(file, `${file}.away`)
    const without = await page.evaluate(async () => {
      const { open } = flumelog
      const log = globalThis.log = await open('without', { codec: 'json' })
      const seqs = [await log.append({ i: 0 }), await log.append({ i: 1 })]
      await log.sync()
      const found = [(await log.get(seqs[1])).i]
      for await (const { value } of log.stream({ reverse: true })) found.push(value.i)
      const codes = []
      for (const call of [() => log.del(seqs[0]), () => log.cursor('mine').ready(), () => log.cursor('mine').stream().next(), () => log.compact(), () => open('other', { shared: true })]) codes.push(await call().catch(err => err.code))
      // it comes after the calls before it
      const another = await open('another', { codec: 'json' })
      await another.append({ i: 2 })
      const late = another.del(0).catch(err => err.code)
      await another.close()
      codes.push(await late)
      return { found, codes }
    })
    t.deepEqual(without, { found: [1, 1, 0], codes: new Array(6).fill('flumelog:failed') })
    fs.renameSync(`${file}.away`, file)
    const found = await page.evaluate(async () => {
      const { log } = globalThis
      await log.del(0)
      await log.compact()
      await log.append({ i: 3 })
      const values = []
      for await (const { value } of log.stream()) values.push(value.i)
      await log.close()
      return values
    })
    t.deepEqual(found, [1, 3])
  })
})
