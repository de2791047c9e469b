'use strict'

// The number of records and their times, from some blocks; cells of columns, and all of a record.

const path = require('path')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { newFile } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')
const { viewOf } = require('./helpers/view')

const START = 1600000000000

async function logOf (records, options) {
  const log = promises(FlumeLog(newFile(), options))
  await log.append(records.map(record => typeof record === 'string' ? record : JSON.stringify(record)))
  return { log }
}

test('a log of few blocks is counted, a longer one is estimated, and says so', async (t) => {
  for (const [count, isExact] of [[0, true], [1, true], [500, true], [20000, false]]) {
    const { log } = await logOf(Array.from({ length: count }, (_, i) => ({ at: START + i, i })), { blockSize: 1024, large: true })
    if (count > 0) await log.del(0)
    const { api } = await viewOf(t, log.log)
    const { records, samples, ...overview } = await api('overview')
    t.equal(overview.isExact, isExact, `${count} records`)
    t.ok(isExact ? records === Math.max(0, count - 1) : Math.abs(records - count) < count / 50, `${records} records`)
    t.ok(samples.length <= 96 && samples.every(({ offset, time }, i) => i === 0 || (offset > samples[i - 1].offset && time > samples[i - 1].time)), 'samples are in order')
    if (count > 1) t.deepEqual([samples[0].time, samples.at(-1).time], [START + 1, START + count - 1], 'they reach from the first record that is left to the last')
    await log.close()
  }
})

test('rows have the values of columns as they are written, and where a filter has found something', async (t) => {
  const { log } = await logOf(['{"id":12345678901234567890,"a":{"b":"x y"},"long":"' + 'z'.repeat(500) + ' Needle"}', 'no JSON', '{"a":null}'])
  const { api, events, get } = await viewOf(t, log.log, { encoding: 'json' })
  const { rows } = await api('records?columns=id,a.b,a,long')
  t.deepEqual(rows.map(({ cells }) => cells?.map(cell => cell?.length > 200 ? cell.length : cell ?? null)), [['12345678901234567890', '"x y"', '{"b":"x y"}', 201], [null, null, null, null], [null, null, 'null', null]])
  const [{ data }] = await events('filter?q=needle&columns=id')
  t.deepEqual(data.marks.map(([from, to]) => data.line.slice(from, to)), ['Needle'])
  t.deepEqual(data.cells, ['12345678901234567890'])
  for (const columns of ['a..b', ',', Array(21).fill('a').join()]) t.equal((await get(`/api/records?columns=${columns}`)).json.code, 'flumelog:invalid', columns)
  t.deepEqual((await api('paths')).paths, ['a', 'id', 'a.b', 'long'])
  await log.close()
})

test('all of a record is downloaded, as it is stored and as it is shown', async (t) => {
  const long = JSON.stringify({ text: 'x'.repeat(5e6) })
  const { log } = await logOf([], { blockSize: 65536, large: true })
  const seqs = []
  for (const record of [long, '{"a":[1]}', Buffer.from([0, 255, 254, 1])]) seqs.push(await log.append(record))
  const { get } = await viewOf(t, log.log, { encoding: 'json' })
  const name = path.basename(log.log.filename)
  const content = async (seq, form) => {
    const { text, headers } = await get(`/api/content?seq=${seq}&form=${form}`)
    return [text, headers['content-disposition']]
  }
  t.deepEqual(await content(seqs[0], 'stored'), [long, `attachment; filename="${name}-${seqs[0]}.txt"`])
  t.deepEqual(await content(seqs[1], 'shown'), ['{\n  "a": [\n    1\n  ]\n}', `attachment; filename="${name}-${seqs[1]}.json"`])
  t.deepEqual(await content(seqs[2], 'shown'), ['00fffe01', `attachment; filename="${name}-${seqs[2]}.txt"`])
  t.match((await content(seqs[2], 'stored'))[1], /\.bin"$/)
  t.equal((await get(`/api/content?seq=${seqs[0]}&form=x`)).json.code, 'flumelog:invalid')
  await log.del(seqs[1])
  t.equal((await get(`/api/content?seq=${seqs[1]}`)).status, 404)
  await log.close()
})
