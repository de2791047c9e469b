'use strict'

// A read-only log of less than a block guesses its block size.

const tape = require('tape')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')

tape('a read-only log that was opened with less than a block in it follows a compaction', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, { blockSize: 512 })
  const [first, second] = [await log.append('first'), await log.append('second')]
  const reader = await open(file, { readOnly: true })
  const live = reader.stream({ live: true, gt: first })[Symbol.asyncIterator]()
  t.equal(String((await live.next()).value.value), 'second')
  await log.del(first)
  await log.compact()
  const seqs = []
  for (let n = 0; n < 100; n++) seqs.push(await log.append(`record ${n}`))
  for (let n = 0; n < 100; n++) t.equal(String((await live.next()).value.value), `record ${n}`)
  t.equal(String(await reader.get(seqs[99])), 'record 99')
  t.equal(await reader.get(second).catch(err => err.code), 'flumelog:trimmed')
  await live.return()
  await reader.close()
  await log.close()
})
