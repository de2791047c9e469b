'use strict'

// Filters: which records they let pass, forward and backward, and where they go on.

const path = require('path')
const test = require('tape')
const fc = require('fast-check')
const FlumeLog = require('flumelog-random-access-file')
const { Decoder } = require('../lib/decoding/decoder')
const { filterOf, quoted } = require('flumelog-random-access-file/json')
const { filtered, nothingScanned } = require('../lib/log/filtered')
const { Rows } = require('../lib/log/rows')
const { ViewedLog } = require('../lib/log/viewed-log')
const { promises } = require('../../../test/helpers/promises')
const { runtime } = require('../../../test/helpers/runtime')
const { thorough } = require('../../../test/helpers/thorough')
const { newFile, testFolder } = require('../../../test/helpers/folder')
const { makeLog, overwrite } = require('../../../test/helpers/logs')
const { viewOf } = require('./helpers/view')

const query = (q, more = '') => `filter?q=${encodeURIComponent(q)}${more}`
const hitsIn = (events) => events.filter(({ event }) => event === 'hit').map(({ data }) => data.seq)

async function logOf (records, options) {
  const log = promises(FlumeLog(newFile(), options))
  const seqs = []
  for (const record of records) seqs.push(await log.append(typeof record === 'object' && !Buffer.isBuffer(record) ? JSON.stringify(record) : record))
  return { log, seqs }
}

test('a filter by path compares as search does: numbers, dates, text, booleans', async (t) => {
  const records = [
    { n: 1, s: 'b', at: '2020-01-01T00:00:00Z', deep: { x: { y: 5 } }, list: [7, 8], ok: true, nothing: null },
    { n: 10, s: 'a', at: '2021-06-01', deep: { x: { y: 6 } }, list: [9], ok: false },
    { n: 9.5, s: 'c"d', at: 1600000000, big: 1 },
    { n: '10', at: 1600000000000 }
  ]
  const withBig = ['{"id":12345678901234567890}', '{"id":12345678901234567891}']
  const { log, seqs } = await logOf([...records, ...withBig])
  const { events } = await viewOf(t, log.log)
  const cases = {
    'n = 10': [1, 3],
    'n > 9': [1, 2, 3],
    'n >= 9.5': [1, 2, 3],
    'n < 2': [0],
    'n <= 1e0': [0],
    'n != 1': [1, 2, 3],
    's = b': [0],
    's = "b"': [0],
    's > a': [0, 2],
    's = "c\\"d"': [2],
    'n = 10 and s = a or deep.x.y = 5': [0, 1],
    'ok exists and not n > 5': [0],
    's ~ /^[AB]$/i': [0, 1],
    'at > 2020-09-01': [1, 2, 3],
    'at = 2020-01-01': [0],
    'at = 1600000000': [2],
    'deep.x.y = 5': [0],
    'deep.x.y >= 5': [0, 1],
    'list.0 = 7': [0],
    'list.1 > 1': [0],
    'ok = true': [0],
    'ok != true': [1],
    'nothing = null': [0],
    'missing = 1': [],
    'deep = 1': [],
    'deep != 1': [0, 1],
    '__proto__ = 1': [],
    'constructor != 1': [],
    'toString = x': [],
    'length > 0': [],
    'id = 12345678901234567890': [4],
    'id > 12345678901234567890': [5]
  }
  for (const [q, wanted] of Object.entries(cases)) t.deepEqual(hitsIn(await events(query(q))), wanted.map(i => seqs[i]), q)
  await log.close()
})

test('a value is found however it is written: escapes, exponents, zeros, and no other record is', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  const values = ['10', '10.0', '1e1', '1.0E+1', '100e-1', '"10"', '"010"', '"+1e1"', '"\\u0031\\u0030"', '0', '-0', '0.0', '0e5', '0.5', '5e-1', '".5"', '"0.50"', '"a/b"', '"a\\/b"', '"é"', '"\\u00e9"', '"\\""', '"a b"',
    'true', '"true"', 'null', '"2020"', '1577836800', '2020', '[]', '{"k":10}', '[10]']
  const wanted = ['10', '1e1', '0', '.5', '0.50', '+10', '"10"', 'a/b', 'é', '"\\""', 'a b', 'true', 'null', '2020', 'none']
  const keys = ['"k"', '"\\u006b"', '"other"', '"0"']
  await fc.assert(fc.asyncProperty(
    fc.array(fc.tuple(fc.constantFrom(...keys), fc.constantFrom(...values)), { minLength: 1, maxLength: 20 }),
    fc.constantFrom(...wanted), fc.constantFrom('=', '=', '!=', '>', '<='), fc.constantFrom('k', '0', 'k.0', 'k.k'),
    async (records, value, operator, path) => {
      const texts = records.map(([key, value]) => `{${key}:${value}}`)
      const q = `${path} ${operator} ${value}`
      const { log, seqs } = await logOf(texts, { blockSize: 64 })
      const { events } = await viewOf({ teardown: (close) => closers.push(close) }, log.log, { encoding: 'json' })
      const found = hitsIn(await events(query(q)))
      await log.close()
      const { matches } = filterOf(q, 'json')
      const expected = seqs.filter((_, i) => matches({ kind: 'json', value: JSON.parse(texts[i]), json: texts[i] }, Buffer.from(texts[i])))
      if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${q}: ${found}, not ${expected}`)
    }
  ), { numRuns: thorough ? 1000 : 100, seed })
  t.pass(`seed ${seed}`)
})

test('a text is found wherever it is, in upper or lower case, and nothing else is', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  await fc.assert(fc.asyncProperty(
    fc.array(fc.string({ unit: fc.constantFrom('a', 'B', 'b', 'é', 'É', '.', '*', '\\', '"', ' ', '\n'), minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 40 }),
    fc.string({ unit: fc.constantFrom('a', 'b', 'A', 'é', '.', '*', '\\', '"', ' '), minLength: 1, maxLength: 3 }),
    fc.constantFrom('utf8', 'hex'), fc.boolean(),
    async (records, q, encoding, reverse) => {
      const { log, seqs } = await logOf(records, { blockSize: 64 })
      const { events } = await viewOf({ teardown: (close) => closers.push(close) }, log.log, { encoding })
      const shown = (record) => encoding === 'hex' ? Buffer.from(record).toString('hex') : record
      const wanted = seqs.filter((_, i) => shown(records[i]).toLowerCase().includes(q.toLowerCase()))
      const found = hitsIn(await events(query(quoted(q), reverse ? '&reverse=1' : '')))
      await log.close()
      if (JSON.stringify(found) !== JSON.stringify(reverse ? wanted.reverse() : wanted)) throw new Error(`${found}, not ${wanted}`)
    }
  ), { numRuns: 60, seed }).finally(() => Promise.all(closers.map(close => close())))
  t.pass(`seed ${seed}`)
})
/** Of servers that the property has started. */
const closers = []

test('after 1,000 hits a filter pauses, and goes on where it stopped', async (t) => {
  const { log, seqs } = await logOf(Array.from({ length: 2500 }, (_, i) => `record ${i}`), { blockSize: 512 })
  const { events } = await viewOf(t, log.log)
  for (const reverse of [false, true]) {
    const found = []
    let requests = 0
    for (let next; next !== null;) {
      const all = await events(query('record', `${next === undefined ? '' : `&from=${next}`}${reverse ? '&reverse=1' : ''}`))
      found.push(...hitsIn(all))
      next = all.at(-1).data.next
      requests++
    }
    t.deepEqual(found, reverse ? seqs.toReversed() : seqs)
    t.equal(requests, 3)
  }
  await log.close()
})

test('deleted records and chunks are no hits, large records are, and corrupt blocks are passed over', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: 256, large: true }))
  const seqs = []
  for (const record of ['needle 1', `${'x'.repeat(2000)} NEEDLE`, 'needle 2', `${'y'.repeat(1000)}`]) seqs.push(await log.append(record))
  await log.del(seqs[0])
  const { events } = await viewOf(t, log.log, { encoding: 'utf8' })
  t.deepEqual(hitsIn(await events(query('needle'))), [seqs[1], seqs[2]])
  t.deepEqual(hitsIn(await events(query('needle', '&reverse=1'))), [seqs[2], seqs[1]])
  await log.close()
})

test('a filter counts each record that it has looked at once, and the blocks that it has passed over', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  await fc.assert(fc.asyncProperty(
    fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 60 }),
      gone: fc.array(fc.nat(59), { maxLength: 30 }),
      from: fc.nat(20000),
      until: fc.option(fc.nat(20000)),
      reverse: fc.boolean(),
      text: fc.constantFrom('A', 'b', 'no such text', '')
    }),
    async ({ sizes, gone, from, until, reverse, text }) => {
      const { log, seqs } = await logOf(sizes.map((size, i) => 'AB'[i % 2].repeat(size)), { blockSize: 128, large: true })
      const deleted = new Set(gone.filter(i => i < sizes.length))
      for (const i of deleted) await log.del(seqs[i])
      const viewed = new ViewedLog(log.log)
      await viewed.ready()
      const limit = viewed.limit + 1
      from %= limit
      until = until === null ? null : until % limit
      const rows = new Rows(viewed, new Decoder({ encoding: 'utf8' }))
      const scanned = nothingScanned()
      const { signal } = new AbortController()
      const found = []
      for await (const { record } of filtered(rows, { q: text, from, until, reverse, encoding: 'utf8', signal }, scanned)) found.push(record.seq)
      await log.close()
      const inRange = seqs.filter((seq, i) => !deleted.has(i) && (reverse ? seq <= from && seq >= (until ?? 0) : seq >= from && seq < (until ?? Infinity)))
      const hits = inRange.filter(seq => 'AB'[seqs.indexOf(seq) % 2].repeat(300).toLowerCase().includes(text.toLowerCase()))
      if (JSON.stringify([scanned.records, scanned.corrupt, found]) !== JSON.stringify([inRange.length, 0, reverse ? hits.reverse() : hits])) throw new Error(`${scanned.records} ${found}, not ${inRange.length} ${hits}`)
    }
  ), { numRuns: thorough ? 1000 : 60, seed })
  t.pass(`seed ${seed}`)
})

test('a filter by path needs no spaces where records have values, and tells if none has one at the path', async (t) => {
  const { log } = await logOf(Array.from({ length: 300 }, (_, i) => ({ content: { likes: i }, text: `a=${i}` })), { blockSize: 1024 })
  const { events, get } = await viewOf(t, log.log)
  const found = async (q, more) => {
    const all = await events(query(q, more))
    return [hitsIn(all).length, all.at(-1).data.missing]
  }
  t.deepEqual(await found('content.likes>99'), [200, null])
  t.deepEqual(await found('content.likes>= 99'), [201, null])
  t.deepEqual(await found('content.likes=99'), [1, null])
  t.deepEqual(await found('content.likes = 1000'), [0, null])
  t.deepEqual(await found('content.likes = 99', '&reverse=1'), [1, null])
  t.deepEqual(await found('likes > 99'), [0, 'likes'])
  t.deepEqual(await found('likes = 99'), [0, 'likes'])
  t.deepEqual(await found('a=7'), [0, 'a'])
  t.deepEqual(await found('"a=7"'), [11, null])
  t.deepEqual(await found('"a=7"', '&encoding=text'), [11, null])
  t.equal((await get(`/api/${query('a=7', '&encoding=text')}`)).json.code, 'flumelog:invalid')
  t.deepEqual(await found('nothing'), [0, null])
  await log.close()
})

test('a filter tells how far it is', async (t) => {
  const { log } = await logOf([])
  await log.append(Array.from({ length: 20000 }, (_, i) => `a record with some text ${i}`.padEnd(200)))
  const { api, events } = await viewOf(t, log.log)
  const all = await events(query('no such thing'))
  const progress = all.filter(({ event }) => event === 'progress').map(({ data }) => data)
  t.ok(progress.length > 0)
  t.ok(progress.every(({ done, at, hits, scanned }, i) => done >= 0 && done <= 1 && hits === 0 && scanned > 0 && (i === 0 || at > progress[i - 1].at)))
  t.deepEqual(all.at(-1), { event: 'end', data: { at: (await api('log')).end, next: null, hits: 0, scanned: 20000, corrupt: 0, missing: null } })
  await log.close()
})

test('what is filtered is exported as JSON lines or CSV, all of it', async (t) => {
  const { log } = await logOf(Array.from({ length: 3000 }, (_, i) => ({ at: 1600000000000 + i, i, text: i % 2 ? 'a, "b"\r\nc' : null })))
  const { get } = await viewOf(t, log.log)
  const lines = (await get('/api/export?format=ndjson&q=i+%3C+2000')).text.split('\n').slice(0, -1)
  t.deepEqual(lines.map(line => JSON.parse(line).i), Array.from({ length: 2000 }, (_, i) => i))
  const { text, headers } = await get('/api/export?format=csv&q=i+%3C+2&fields=i,text,none')
  t.equal(text, 'i,text,none\r\n0,,\r\n1,"a, ""b""\r\nc",\r\n')
  t.equal(headers['content-disposition'], `attachment; filename="${path.basename(log.log.filename)}.csv"`)
  t.equal((await get('/api/export?format=csv&q=i+%3D+0')).text, 'seq,time,record\r\n0,2020-09-13T12:26:40.000Z,"{""at"":1600000000000,""i"":0,""text"":null}"\r\n')
  t.equal((await get('/api/export?format=csv&q=i+%3D+-1')).text, 'seq,time,record\r\n')
  await log.close()
})

test('a cell of an export that a spreadsheet would take for a formula becomes text; numbers stay, and everything does if that is asked for', async (t) => {
  const values = ['=1+1', '+cmd', '-5', '-x', '@sum', '\tx', '\rx', '+1.5e3', 'a=b', -7, '="a"']
  const { log } = await logOf(values.map(v => ({ v })))
  const { get } = await viewOf(t, log.log)
  const { text } = await get('/api/export?format=csv&fields=v')
  t.deepEqual(text.split('\r\n'), ['v', "'=1+1", "'+cmd", '-5', "'-x", "'@sum", "'\tx", '"\'\rx"', '+1.5e3', 'a=b', '-7', '"\'=""a"""', ''])
  t.equal((await get('/api/export?format=csv&fields=v&raw=1')).text, text.replaceAll("'", ''))
  await log.close()
})

test('an export that would miss corrupt blocks, or a record that is too large, fails at its end; corrupt blocks can be left out', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, Array.from({ length: 5000 }, (_, i) => JSON.stringify({ i, text: '.'.repeat(100) })))
  overwrite(file, 65536 + 1000, 'damaged')
  const log = promises(FlumeLog(file, { readOnly: true, large: true }))
  const { get } = await viewOf(t, log.log)
  for (const format of ['ndjson', 'csv']) await get(`/api/export?format=${format}`).then(() => t.fail('it must fail'), err => t.equal(err.code, 'ECONNRESET', format))
  const valid = seqs.filter(seq => seq < 65536 || seq >= 2 * 65536).length
  t.equal((await get('/api/export?skipCorrupt=1')).text.split('\n').length - 1, valid)
  await log.close()

  const large = testFolder(t)('log')
  const writer = promises(FlumeLog(large, { large: true }))
  await writer.append(['{"i":1}', JSON.stringify('x'.repeat(17 * 1024 * 1024))])
  const { get: getLarge } = await viewOf(t, writer.log)
  // Bun ends a response that is destroyed before its first bytes were sent as an empty one
  if (runtime !== 'bun') await getLarge('/api/export').then(() => t.fail('it must fail'), err => t.equal(err.code, 'ECONNRESET', 'large records'))
  t.equal((await getLarge('/api/export?q=i+%3D+1')).text, '{"i":1}\n', 'if it passes the filter')
  await writer.close()
})

test('an export of which nothing can be read is refused', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, Array.from({ length: 900 }, (_, i) => JSON.stringify({ i, text: '.'.repeat(100) })))
  overwrite(file, 1000, 'damaged')
  const log = promises(FlumeLog(file, { readOnly: true }))
  const { get } = await viewOf(t, log.log)
  const { status, json } = await get('/api/export?q=i+%3D+1')
  t.deepEqual([status, json.code], [500, 'corrupt'])
  t.match(json.message, /corrupt blocks \(1\) are missing/)
  await log.close()
})
