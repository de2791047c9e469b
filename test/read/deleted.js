'use strict'

// Streams and scans that give deleted records, too: who counts records needs those as well.

const tape = require('tape')
const FlumeLog = require('../..')
const { wrap } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')

const BLOCK_SIZE = 64

tape('a stream with `deleted` gives deleted records in their places, with null and the bytes that each takes', async (t) => {
  const { log, seqs } = await logWithDeletions(t)
  const records = await collect(log, { deleted: true })
  t.deepEqual(records.map(({ seq }) => seq), seqs)
  t.deepEqual(records.map(({ value }) => value && value.toString()), ['one', null, 'three', null, 'five is longer'])
  t.deepEqual(records.map(({ size }) => size), [7, 7, 9, 8, 18])
  t.deepEqual(await collect(log, { deleted: true, reverse: true }), records.slice().reverse())
  t.deepEqual((await collect(log)).map(({ seq }) => seq), [seqs[0], seqs[2], seqs[4]], 'without it, none')
  await promises(log).close()
})

tape('its limit counts deleted records, and seqs or values alone are without sizes', async (t) => {
  const { log, seqs } = await logWithDeletions(t)
  t.deepEqual(await collect(log, { deleted: true, values: false, limit: 2 }), seqs.slice(0, 2))
  t.deepEqual((await collect(log, { deleted: true, seqs: false, gt: seqs[0], limit: 2 })).map(String), ['null', 'three'])
  await promises(log).close()
})

tape('it is decoded by the codec, which sees no deleted record', async (t) => {
  const log = FlumeLog(testFolder(t)('log'), { codec: { encode: JSON.stringify, decode: (data) => JSON.parse(data) } })
  const first = await promises(log).append({ a: 1 })
  await promises(log).append({ b: 2 })
  await promises(log).del(first)
  t.deepEqual(await collect(log, { deleted: true }), [{ seq: 0, value: null, size: 11 }, { seq: 11, value: { b: 2 }, size: 11 }])
  await promises(log).close()
})

tape('batches, scans and `for await` loops give them, too', async (t) => {
  const { log, seqs } = await logWithDeletions(t)
  const records = await collect(log, { deleted: true })
  const log2 = wrap(log)
  const streamed = []
  for await (const record of log2.stream({ deleted: true })) streamed.push(record)
  t.deepEqual(streamed, records)
  const batched = []
  for await (const batch of log2.batches({ deleted: true })) batched.push(...batch)
  t.deepEqual(batched, records)
  const scanned = []
  await log2.scan({ deleted: true }, (block, start, end, seq) => { scanned.push({ seq, value: block && block.toString('utf8', start, end), bytes: end - start }) })
  t.deepEqual(scanned, records.map(({ seq, value, size }) => ({ seq, value: value && value.toString(), bytes: size - 4 })))
  const first = []
  await log2.scan({ deleted: true }, (block, start, end, seq) => { first.push(seq); return block !== null })
  t.deepEqual(first, seqs.slice(0, 2), 'and stop at one')
  await promises(log).close()
})

/** @param {import('tape').Test} t */
async function logWithDeletions (t) {
  const log = FlumeLog(testFolder(t)('log'), { blockSize: BLOCK_SIZE })
  const seqs = []
  for (const text of ['one', 'two', 'three', 'four', 'five is longer']) seqs.push(await promises(log).append(Buffer.from(text)))
  await promises(log).del([seqs[1], seqs[3]])
  return { log, seqs }
}
