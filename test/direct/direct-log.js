'use strict'

// Appends and reads in the call itself.

const tape = require('tape')
const { DirectLog, found } = require('../../parts')
const { testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')

const called = (start) => new Promise((resolve, reject) => start((err, result) => err ? reject(err) : resolve(result)))

tape('an append returns its seq, and its record can be read before it is acknowledged, and after', async (t) => {
  const direct = await DirectLog.open(testFolder(t)('log'), {})
  const seq = direct.append(direct.bytesOf('first'))
  t.deepEqual([seq, direct.lastSeq, direct.end, direct.appendedEnd], [0, -1, 0, 9])
  t.equal(String(direct.getUnacknowledged(seq)), 'first')
  t.equal(direct.getNow(seq), null, 'readers see what is acknowledged')
  const [second, third] = direct.appendAtomic([Buffer.from('second'), Buffer.from('third')])
  await called(cb => direct.log.sync(cb))
  t.deepEqual([seq, second, third].map(seq => String(direct.getNow(seq))), ['first', 'second', 'third'])
  t.equal(direct.getNow(third + 1), null)
  t.equal(String(await called(cb => direct.get(second, cb))), 'second')
  await called(cb => direct.log.close(cb))
})

tape('a cursor moves over all records, and says which are deleted, also if all of a block are', async (t) => {
  const direct = await DirectLog.open(testFolder(t)('log'), { blockSize: 64 })
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(direct.append(Buffer.from(`record ${i}`)))
  await called(cb => direct.log.sync(cb))
  const deleted = seqs.filter(seq => seq >= 64 && seq < 128)
  await called(cb => direct.log.del(deleted, cb))
  let cursor
  const seen = []
  await new Promise(resolve => {
    const move = () => {
      for (;;) {
        const what = cursor.next()
        if (what === found.WAITING) return
        if (what !== found.RECORD) return resolve()
        seen.push([cursor.seq, cursor.isDeleted()])
      }
    }
    cursor = direct.cursor({ min: 0, max: Infinity }, move)
    move()
  })
  cursor.stop()
  t.deepEqual(seen, seqs.map(seq => [seq, deleted.includes(seq)]))
  await called(cb => direct.log.close(cb))
})

tape('a compaction moves the base, and says where records are since', async (t) => {
  const direct = await DirectLog.open(testFolder(t)('log'), {})
  const seqs = ['a', 'b', 'c'].map(text => direct.append(Buffer.from(text)))
  await called(cb => direct.log.sync(cb))
  await called(cb => direct.log.del(seqs[0], cb))
  await called(cb => direct.log.compact(cb))
  t.ok(direct.base > seqs[2])
  t.equal(direct.movedTo(seqs[0]), null, 'a deleted one is gone')
  t.equal(String(direct.getNow(direct.movedTo(seqs[1]))), 'b')
  await called(cb => direct.log.close(cb))
})

tape('a log that another one has open is an error', async (t) => {
  const file = testFolder(t)('log')
  const direct = await DirectLog.open(file, {})
  t.equal(await codeOf(DirectLog.open(file, {})), 'flumelog:locked')
  await called(cb => direct.log.close(cb))
})

tape('a record that does not fit into a block is an error', async (t) => {
  const direct = await DirectLog.open(testFolder(t)('log'), { blockSize: 64 })
  const append = (size) => direct.append(direct.bytesOf(Buffer.alloc(size, 'x')))
  const seq = append(50)
  t.throws(() => append(51), ({ code }) => code === 'flumelog:too-large')
  const next = append(3)
  await new Promise(resolve => direct.log.sync(resolve))
  t.deepEqual([seq, next, direct.lastSeq], [0, 64, 64])
  t.deepEqual([direct.getNow(seq).length, String(direct.getNow(next))], [50, 'xxx'])
  await new Promise(resolve => direct.log.close(resolve))
})
