'use strict'

// Appends whose offsets are wanted at once, and reads of what is not acknowledged: what the interface of async-append-only-log needs.

const tape = require('tape')
const FlumeLog = require('../..')
const { logBehind } = require('../../lib/log')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')

const BLOCK_SIZE = 64

tape('the offset that an append tells at once is the one under which its record is stored', async (t) => {
  const log = FlumeLog(testFolder(t)('log'), { blockSize: BLOCK_SIZE })
  await promises(log).append('before')
  const { appender } = logBehind(log).state.opened.writer
  const told = []
  for (let i = 1; i <= 20; i++) told.push(i % 5 === 0 ? appender.appendAtomic([Buffer.alloc(7, i), Buffer.alloc(9, i)], false, undefined, false) : appender.append(Buffer.alloc(3 * i % 30 + 1, i), false, undefined, false))
  await promises(log).sync()
  const stored = await collect(log)
  t.deepEqual(told.flat(), stored.slice(1).map(({ seq }) => seq))
  await promises(log).close()
  t.equal(appender.append(Buffer.from('late'), false, undefined), -1)
})

tape('what is not acknowledged can be read by its offset, and by no other', async (t) => {
  const log = FlumeLog(testFolder(t)('log'), { blockSize: BLOCK_SIZE })
  await promises(log).append('before')
  const { appender, packer } = logBehind(log).state.opened.writer
  const seqs = Array.from({ length: 12 }, (_, i) => appender.append(Buffer.alloc(10, i + 1), false, undefined))
  for (let offset = seqs[0]; offset < packer.end + 10; offset++) {
    const data = packer.unacknowledgedAt(offset)
    const i = seqs.indexOf(offset)
    if ((data === null) !== (i === -1) || (data !== null && data[0] !== i + 1)) t.fail(`offset ${offset}`)
  }
  t.pass('all offsets')
  await promises(log).close()
})
