'use strict'

// Compaction on a disk that is too small for it.

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { open } = require('../../promises')
const { noSmallDisk, smallDisk } = require('../helpers/full')

tape('a compaction for which the disk has no room fails with ENOSPC, and the log works on', { skip: noSmallDisk ?? false }, async (t) => {
  const disk = smallDisk(t, '4m')
  const file = disk.file('log')
  const log = await open(file, { blockSize: 4096 })
  const values = Array.from({ length: 2000 }, (_, n) => `${n} `.padEnd(1000, '.'))
  const seqs = []
  for (const value of values) seqs.push(await log.append(value))
  await log.del(seqs[1])
  const left = () => fs.readdirSync(path.dirname(file)).filter(name => name.includes('unfinished'))
  disk.leave(1024 * 1024)
  const failed = await log.compact().then(() => null, err => err)
  t.equal(failed.code, 'ENOSPC')
  t.deepEqual(left(), [])
  t.equal(log.id, '0')
  await log.append('one more')
  for (let n = 0; n < 2000; n++) if (n % 4 > 0) await log.del(seqs[n])
  const { records } = await log.compact()
  t.equal(records, 501, 'what is kept has room')
  const found = []
  for await (const value of log.stream({ seqs: false })) found.push(String(value))
  t.deepEqual(found, [...values.filter((_, n) => n % 4 === 0), 'one more'])
  await log.close()
})

for (const shared of [false, true]) {
  tape(`on a full disk, a log is opened and written without what an interrupted compaction has copied${shared ? ', shared or not' : ''}`, { skip: noSmallDisk ?? false }, async (t) => {
    const disk = smallDisk(t, '8m')
    const file = disk.file('log')
    const log = await open(file, { blockSize: 4096 })
    await log.append(Array.from({ length: 2000 }, (_, n) => `${n} `.padEnd(1000, '.')))
    await log.close()
    fs.writeFileSync(`${file}.unfinished`, Buffer.alloc(1024 * 1024))
    disk.leave(0)
    const again = await open(file, { shared })
    await again.append('one more')
    t.notOk(fs.existsSync(`${file}.unfinished`))
    await again.close()
  })
}
