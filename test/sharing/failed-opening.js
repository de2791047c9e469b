'use strict'

// A shared log that cannot be opened, or not at once.

const fs = require('fs')
const net = require('net')
const path = require('path')
const tape = require('tape')
const { open } = require('../../promises')
const { Address } = require('../../lib/sharing/address')
const frames = require('../../lib/sharing/frames')
const { filesIn, testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { codeOf } = require('../helpers/reading')

tape('a process that cannot open a shared log is neither its owner nor a client afterwards', async (t) => {
  const file = testFolder(t)('log')
  for (const isFirst of [true, false]) {
    const other = isFirst ? null : await open(file, { shared: true })
    const metadata = `${file}.meta`
    if (!isFirst) fs.renameSync(metadata, `${metadata}.aside`)
    fs.mkdirSync(metadata)
    t.equal(await codeOf(open(file, { shared: true })), 'EISDIR', `as the ${isFirst ? 'owner' : 'client'}`)
    fs.rmdirSync(metadata)
    if (!isFirst) fs.renameSync(`${metadata}.aside`, metadata)
    await other?.close()
    const log = await open(file, { shared: true })
    t.equal(log.flumelog.role, 'owner')
    await log.close()
    t.deepEqual(filesIn(path.dirname(file)), ['log'])
  }
})

tape('a process that is opening a shared log stays alive, also when an owner has greeted it and is gone', async (t) => {
  const file = testFolder(t)('log')
  // it only has the lock
  const other = await open(file)
  await other.append('a record')
  const greeting = frames.encode(frames.WELCOME, { version: frames.VERSION, checksum: true, isUnknown: false, blockSize: 65536, window: 1 << 20, runs: [], id: '0' })
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(greeting))
  })
  await new Promise(resolve => server.listen(new Address(file).name, () => resolve(null)))
  const program = start(t, 'open-shared.js', { file, timeout: 300 })
  await program.over
  t.ok(['opened', 'flumelog:locked'].includes(program.messages[0]), 'it has got an answer')
  server.close()
  await other.close()
})
