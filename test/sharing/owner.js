'use strict'

// What an owner of a shared log leaves behind when it cannot go on, or cannot clean up.

const fs = require('fs')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { logBehind } = require('../../lib/log-behind')
const { parseMetadata } = require('../../lib/storage/metadata-text')
const { inTime, numbersIn, shared } = require('../helpers/sharing')

tape('an owner closes though its socket cannot be removed, and the next one replaces that', { skip: process.platform === 'win32' }, async (t) => {
  const file = testFolder(t)('log')
  const owner = shared(file)
  await owner.number(1)[0]
  const { unlink } = fs.promises
  t.teardown(() => { fs.promises.unlink = unlink })
  fs.promises.unlink = async (name) => {
    if (String(name).endsWith('.socket')) throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' })
    return await unlink(name)
  }
  await inTime(owner.close(), 'closing')
  fs.promises.unlink = unlink
  const next = shared(file)
  await next.number(2)[0]
  await next.close()
  t.deepEqual(await numbersIn(file), [1, 2])
})

tape('what clients leave in FILE.meta that come and go is not more and more, though nothing is appended', async (t) => {
  const file = testFolder(t)('log')
  const metadata = () => fs.readFileSync(`${file}.meta`, 'latin1')
  const owner = shared(file)
  await owner.number(1)[0]
  const come = async () => {
    const client = shared(file)
    await client.onReady()
    await client.close()
    // until the owner knows that it has left
    while (owner.log.stats().clients.length > 0) await new Promise(resolve => setImmediate(resolve))
  }
  for (let i = 0; i < 20; i++) await come()
  t.equal(Object.keys(parseMetadata(metadata()).metadata.clients).length, 1, 'the last one')
  const log = logBehind(owner.log)
  while (!log.file.metadata.isLong) log.file.metadata.append({ clients: { [`${log.file.metadata.size}`]: null } })
  await come()
  await log.state.opened.writer.metadata.last
  t.ok(metadata().length <= 8192, 'a snapshot has replaced it')
  await owner.close()
})
