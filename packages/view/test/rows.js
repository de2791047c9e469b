'use strict'

// Records of a view: what its list and its panel show of a log.

const test = require('tape')
const fc = require('fast-check')
const FlumeLog = require('flumelog-random-access-file')
const { open } = require('flumelog-random-access-file/promises')
const { makeLog, overwrite } = require('../../../test/helpers/logs')
const { newFile, testFolder } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')
const { viewOf } = require('./helpers/view')
const { Decoder } = require('../lib/decoding/decoder')
const { Rows } = require('../lib/log/rows')
const { ViewedLog } = require('../lib/log/viewed-log')

/** All rows of a list, page after page. */
async function allRows (rows, { reverse, deleted, count, from }) {
  const all = []
  for (let next = from; next !== null;) {
    const page = await rows.list({ from: next, count, reverse, deleted })
    all.push(...page.rows)
    if (page.next !== null && (reverse ? page.next >= next : page.next <= next) && page.rows.length === 0) throw new Error('it does not go on')
    next = page.next
  }
  return all
}

test('page after page, a list has every record once, in both directions, with the deleted ones or without', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  t.comment(`seed ${seed}`)
  await fc.assert(fc.asyncProperty(
    fc.record({
      blockSize: fc.integer({ min: 64, max: 200 }),
      sizes: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 60 }),
      deletions: fc.array(fc.nat(59), { maxLength: 40 }),
      count: fc.integer({ min: 1, max: 20 }),
      reverse: fc.boolean(),
      deleted: fc.boolean(),
      start: fc.nat(20000)
    }),
    async ({ blockSize, sizes, deletions, count, reverse, deleted, start }) => {
      const log = promises(FlumeLog(newFile(), { blockSize, large: true }))
      const seqs = []
      for (const [i, size] of sizes.entries()) seqs.push(await log.append(Buffer.alloc(size, 65 + i % 26)))
      const isLarge = (i) => sizes[i] > blockSize - 14
      // of large ones, every chunk becomes a deleted record
      const gone = new Set(deletions.filter(i => i < sizes.length && !isLarge(i)))
      for (const i of gone) await log.del(seqs[i])
      const viewed = new ViewedLog(log.log)
      await viewed.ready()
      const rows = new Rows(viewed, new Decoder({ encoding: 'utf8' }))
      const from = start % (viewed.end + 1)
      const found = (await allRows(rows, { reverse, deleted, count, from })).map(row => [row.seq, row.deleted, row.size, row.line])
      // a block of which all is deleted is one deleted record
      const isShown = ([seq, isDeleted]) => (reverse ? seq <= from : seq >= from) && !isDeleted
      const expected = sizes.map((size, i) => [seqs[i], gone.has(i), size, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[i % 26].repeat(Math.min(size, 300))]).filter(isShown)
      const live = found.filter(([, isDeleted]) => !isDeleted)
      await log.close()
      const order = found.map(([seq]) => seq)
      if (!order.every((seq, i) => i === 0 || (reverse ? seq < order[i - 1] : seq > order[i - 1]))) throw new Error(`order: ${order}`)
      if (!deleted && found.length !== live.length) throw new Error('there are deleted ones')
      if (JSON.stringify(live) !== JSON.stringify(reverse ? expected.reverse() : expected)) throw new Error(JSON.stringify({ live, expected }))
    }
  ), { numRuns: 40, seed })
  t.pass('the lists are those of a simple model')
})

test('a deleted record is listed when it is asked for, without what it was', async (t) => {
  const log = promises(FlumeLog(newFile()))
  await log.append(['one', 'two', 'three'])
  await log.del(7)
  const { api, get } = await viewOf(t, log.log)
  t.deepEqual((await api('records')).rows.map(row => row.seq), [0, 14])
  t.deepEqual((await api('records?deleted=1')).rows[1], { seq: 7, size: 3, time: null, line: '', kind: 'hex', deleted: true })
  const { json } = await get('/api/record?seq=7')
  t.deepEqual([json.deleted, json.bytes, json.previous, json.next], [true, '', 0, 14])
  await log.close()
})

test('a corrupt block is a row that says what is wrong, and the records around it are listed', async (t) => {
  const file = testFolder(t)('log')
  const records = Array.from({ length: 30 }, (_, i) => `record number ${i}`)
  const seqs = await makeLog(file, records, { blockSize: 64 })
  overwrite(file, 130, 'XXXX')
  const log = promises(FlumeLog(file, { readOnly: true }))
  await log.onReady()
  const { api } = await viewOf(t, log.log)
  const { rows } = await api('records?count=200')
  const corrupt = rows.filter(row => row.corrupt)
  t.deepEqual(corrupt.map(({ seq, size, kind }) => ({ seq, size, kind })), [{ seq: 128, size: 64, kind: 'corrupt' }])
  t.match(corrupt[0].line, /block 2/)
  t.notOk(corrupt[0].line.includes(file), 'without the path of the log')
  t.deepEqual(rows.filter(row => !row.corrupt).map(row => row.seq), seqs.filter(seq => seq < 128 || seq >= 192))
  t.deepEqual((await api('records?count=200&reverse=1')).rows.map(row => row.seq).reverse(), rows.map(row => row.seq), 'backward, too')
  await log.close()
})

test('a trimmed log is listed from where it starts', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file, { blockSize: 64 }))
  await log.append(Array.from({ length: 50 }, (_, i) => `record ${i}`))
  const start = await log.trim({ lt: 1000 })
  t.ok(start > 500)
  const { api, get } = await viewOf(t, log.log)
  const { rows, start: shown } = await api('records?from=0&count=1')
  t.deepEqual([rows[0].seq, shown], [start, start])
  t.deepEqual((await api('records?from=0&reverse=1')).rows, [])
  t.equal((await get('/api/record?seq=0')).json.code, 'flumelog:trimmed')
  await log.close()
})

test('where thousands of blocks have nothing left, the records around them are neighbours', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: 64 }))
  const seqs = []
  for (let i = 0; i < 1500; i++) seqs.push(await log.append(`record of some length ${i}`.padEnd(40)))
  await log.del({ gt: seqs[0], lt: seqs[1498] })
  const { api } = await viewOf(t, log.log)
  const first = await api('record?seq=0')
  t.equal(first.next, seqs[1498])
  t.equal((await api(`record?seq=${seqs[1498]}`)).previous, 0)
  t.equal((await api(`find?at=${seqs[3]}`)).seq, seqs[1498])
  const page = await api('records?count=2')
  t.deepEqual(page.rows.map(({ seq }) => seq), [0], 'a list does not look into all of them at once')
  t.ok(page.next > 64)
  await log.close()
})

test('a record is shown with its neighbours, its time, its text and its bytes', async (t) => {
  const log = await open(testFolder(t)('log'))
  const value = '{"at":1700000000,"id":12345678901234567890,"__proto__":{"x":1}}'
  await log.append(['{"at":"2020-01-02"}', value, '{}'])
  const { get } = await viewOf(t, log)
  const { text, json } = await get('/api/record?seq=23')
  t.ok(text.includes(`"value":${value}`), 'the value is as it was written')
  t.deepEqual([json.seq, json.size, json.block, json.previous, json.next], [23, value.length, 0, 0, 90])
  t.equal(json.time, 1700000000000)
  t.equal(Buffer.from(json.bytes, 'base64').toString(), value)
  t.ok(json.text.includes('"id": 12345678901234567890'))
  t.equal((await get('/api/record?seq=0')).json.time, Date.UTC(2020, 0, 2))
  t.equal((await get('/api/record?seq=1')).json.code, 'flumelog:not-found')
  await log.close()
})

test('of a large record, the start is shown, and how large it is', async (t) => {
  const log = promises(FlumeLog(newFile(), { large: true }))
  const text = 'large '.repeat(500000)
  await log.append('first')
  const seq = await log.append(text)
  await log.append('last')
  const { api } = await viewOf(t, log.log)
  const { rows } = await api('records')
  t.deepEqual(rows.map(({ size }) => size), [5, text.length, 4])
  t.equal(rows[1].line, text.slice(0, 300))
  const record = await api(`record?seq=${seq}`)
  t.deepEqual([record.truncated, record.size, Buffer.from(record.bytes, 'base64').toString() === text.slice(0, 1024 * 1024)], [true, text.length, true])
  await log.close()
})

test('JSON is found, listed, filtered, searched and shown as a tree, however large its records are', async (t) => {
  const log = promises(FlumeLog(newFile(), { large: true }))
  const sizes = [70000, 80000, 300000, 2000000, 5000000]
  const seqs = []
  for (const [n, size] of sizes.entries()) seqs.push(await log.append(JSON.stringify({ n, time: 1600000000000 + n, text: 'é'.repeat(size / 2), last: n })))
  const { api, events } = await viewOf(t, log.log)
  t.equal((await api('log')).encoding, 'json')
  const { rows } = await api('records')
  t.deepEqual(rows.map(({ kind, time }) => [kind, time]), sizes.map((_, n) => ['json', 1600000000000 + n]))
  t.ok(rows.every(({ line }, n) => line.startsWith(`{"n":${n},"time":${1600000000000 + n},"text":"éé`) && line.length === 300))
  for (const [n, seq] of seqs.entries()) {
    t.equal((await api(`find?where=last+%3E%3D+${n}`)).seq, seq)
    t.deepEqual((await events(`filter?q=last%20%3D%20${n}`)).filter(({ event }) => event === 'hit').map(({ data }) => data.seq), [seq])
    const { value, complete, bytes, text } = await api(`record?seq=${seq}`)
    t.deepEqual([value.n, value.last, complete], n === 4 ? [4, undefined, false] : [n, n, true])
    t.ok(Buffer.from(bytes, 'base64').length <= 1024 * 1024 && text.length <= 1024 * 1024)
  }
  await log.close()
})

test('of JSON that is cut, the complete members are shown', (t) => {
  const decoder = new Decoder({})
  const whole = Buffer.from(' {"a":1,"é":{"b":[1,{"c":"x\\",\u007d"},2],"d":"}]"}, "e" : -1.5e3, "f":[[],{}] } ')
  const counts = []
  for (let length = 1; length <= whole.length; length++) {
    const { value, kind } = decoder.decodeStart(whole.subarray(0, length), 'json')
    if (length > 1 && kind !== 'json') t.fail(`${length}: ${kind}`)
    counts.push(Object.keys(value ?? {}).length)
    for (const key of Object.keys(value ?? {})) if (key !== 'é' && key !== 'f') t.deepEqual(value[key], JSON.parse(whole.toString())[key])
  }
  t.deepEqual(counts, [...counts].sort((a, b) => a - b), 'the more there is of it, the more members')
  t.deepEqual(decoder.decodeStart(whole).value, JSON.parse(whole.toString()))
  for (const text of ['no JSON', '"text, with a comma', '12', ']', 'a {b', '}{']) t.equal(decoder.decodeStart(Buffer.from(text)).kind, 'utf8', text)
  t.end()
})

test('hostile records are shown as they are, and do nothing', async (t) => {
  const hostile = ['<script>alert(1)</script>', '\u0000\u001b[2J\u202e', 'x'.repeat(65000), Buffer.from([0xff, 0xfe, 0x80]), `${'['.repeat(30000)}${']'.repeat(30000)}`,
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}', '"\u2028\u2029"', '{"a":"line\\nbreak"}', 'line\r\nbreak\n']
  for (const encoding of ['json', 'utf8', 'hex', 'bipf', 'cbor', 'msgpack']) {
    const log = promises(FlumeLog(newFile()))
    await log.append(hostile)
    const { get, api } = await viewOf(t, log.log, { encoding })
    const { rows } = await api('records')
    t.equal(rows.length, hostile.length, encoding)
    t.ok(rows.every(({ line }) => line.length <= 300 && !/[\r\n]/.test(line)), 'each is one short line')
    for (const { seq } of rows) {
      const { status, headers, json } = await get(`/api/record?seq=${seq}`)
      const same = Buffer.from(json.bytes, 'base64').equals(Buffer.from(hostile[rows.findIndex(row => row.seq === seq)]))
      if (status !== 200 || !same || headers['x-content-type-options'] !== 'nosniff' || !headers['content-type'].startsWith('application/json')) t.fail(`${encoding} ${seq}`)
    }
    for (const path of ['filter?q=polluted', 'filter?q=%22__proto__.polluted+%3D+1%22', 'export?format=csv&fields=__proto__.polluted', 'export?format=ndjson']) t.equal((await get(`/api/${path}`)).status, 200, path)
    await log.close()
  }
  t.equal({}.polluted, undefined)
})

test('a view of what is no log is refused', async (t) => {
  const view = require('..')
  for (const other of [undefined, null, {}, 'log']) t.throws(() => view(other), { code: 'flumelog:invalid' })
  const log = FlumeLog(newFile())
  for (const options of [{ token: 'short' }, { prefix: 'log' }, { hosts: 'a' }, { encoding: 'xml' }, { maxScans: 0 }, { toke: 'x' }, { codec: {} }, { time: 1 }]) {
    t.throws(() => view(log, options), { code: 'flumelog:invalid' }, JSON.stringify(options))
  }
  await new Promise(resolve => log.close(resolve))
})
