'use strict'

// Readers in other processes, and processes that share a log, beside one that trims it.

const tape = require('tape')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { logBehind } = require('../../lib/log')
const maintenance = require('../../maintenance')
const { testFolder } = require('../helpers/folder')
const { until, published, watched } = require('../helpers/followers')
const { promises } = require('../helpers/promises')
const { codeOf, collect, event } = require('../helpers/reading')

const BLOCK_SIZE = 512
const data = (i) => Buffer.alloc(100, i + 1)
const indexes = async (log, options) => (await collect(log.log, { seqs: false, ...options })).map(value => value[0] - 1)
const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i)

async function filled (log, count = 60) {
  const seqs = []
  for (let i = 0; i < count; i++) seqs.push(await log.append(data(i)))
  return seqs
}

/** What a client has found while it was told what it had missed, perhaps not in one go, is part of what is there. */
async function checkAll (t, client, owner, found, count) {
  const left = await indexes(owner)
  t.equal(left.length, count)
  t.deepEqual(found, left.slice(0, found.length))
  await until(() => client.log.since.value === owner.log.since.value)
  t.deepEqual(await indexes(client), left)
}

/** What a reader sees of a log that starts with this record. */
async function check (t, reader, seqs, first, count = 60) {
  t.deepEqual(await indexes(reader), range(first, count))
  t.deepEqual(await indexes(reader, { reverse: true }), range(first, count).reverse())
  t.equal(await codeOf(collect(reader.log, { gt: seqs[1] })), 'flumelog:trimmed')
  t.deepEqual(await indexes(reader, { gt: seqs[1], fromStart: true }), range(first, count))
  t.equal(await codeOf(reader.get(seqs[first - 1])), 'flumelog:trimmed')
  t.equal(await codeOf(reader.get(0)), 'flumelog:trimmed')
  t.equal((await reader.search(value => value[0] - 1 - first + 1)).seq, seqs[first])
  t.equal(reader.log.start, seqs[first])
}

for (const checksum of [true, false]) {
  const options = { blockSize: BLOCK_SIZE, checksum }
  const how = checksum ? 'with checksums' : 'without checksums'

  tape(`a reader that is open when a log is trimmed gets to know, and so does one that is opened then: ${how}`, async (t) => {
    for (const cacheSize of [0, 1 << 20]) {
      const file = testFolder(t)('log')
      const writer = promises(FlumeLog(file, options))
      const seqs = await filled(writer)
      await published(file, seqs.at(-1))
      const before = promises(FlumeLog(file, { ...options, cacheSize, readOnly: true }))
      t.deepEqual(await indexes(before), range(0, 60))
      await writer.trim({ lt: seqs[40] })
      const after = promises(FlumeLog(file, { ...options, cacheSize, readOnly: true }))
      await after.onReady()
      await check(t, after, seqs, 40)
      await until(() => before.log.start > 0)
      await check(t, before, seqs, 40)
      await writer.close()
      const closed = promises(FlumeLog(file, { ...options, cacheSize, readOnly: true }))
      await closed.onReady()
      await check(t, closed, seqs, 40)
      const { valid, start } = await maintenance.verify(file)
      t.deepEqual([valid, start], [true, seqs[40]])
      await Promise.all([before, after, closed].map(log => log.close()))
    }
  })

  tape(`a live stream in another process that a trim overtakes ends with an error, or goes on at the start of the log: ${how}`, async (t) => {
    const file = testFolder(t)('log')
    const writer = promises(FlumeLog(file, options))
    const seqs = await filled(writer, 2)
    await published(file, seqs.at(-1))
    let gate = Promise.resolve()
    const reader = promises(watched(file, () => gate, options))
    await reader.onReady()
    const shown = { fails: [], jumps: [] }
    const ends = []
    pull(reader.log.stream({ live: true, seqs: false }), pull.drain(value => shown.fails.push(value[0] - 1), end => ends.push(end?.code)))
    pull(reader.log.stream({ live: true, seqs: false, fromStart: true }), pull.drain(value => shown.jumps.push(value[0] - 1), () => {}))
    await until(() => shown.jumps.length === 2)
    let release
    gate = new Promise(resolve => { release = resolve })
    for (let i = 2; i < 60; i++) seqs.push(await writer.append(data(i)))
    await writer.trim({ lt: seqs[40] })
    await published(file, seqs.at(-1))
    release()
    await until(() => shown.jumps.at(-1) === 59)
    t.deepEqual(shown, { fails: [0, 1], jumps: [0, 1, ...range(40, 60)] })
    await until(() => ends.length === 1)
    t.deepEqual(ends, ['flumelog:trimmed'])
    await Promise.all([reader.close(), writer.close()])
  })

  tape(`all processes that share a log see that it is trimmed: ${how}`, async (t) => {
    const file = testFolder(t)('log')
    const owner = promises(FlumeLog(file, { ...options, shared: true }))
    await owner.onReady()
    const client = promises(FlumeLog(file, { ...options, shared: true }))
    const seqs = await filled(client)
    t.deepEqual(await indexes(client), range(0, 60))
    await owner.trim({ lt: seqs[20] })
    await until(() => client.log.start === seqs[20])
    t.equal(await codeOf(client.get(0)), 'flumelog:trimmed')
    await check(t, client, seqs, 20)
    const late = promises(FlumeLog(file, { ...options, shared: true }))
    await late.onReady()
    await check(t, late, seqs, 20)
    t.equal(await late.trim({ lt: seqs[40] }), seqs[40], 'a client asks the owner to trim it')
    t.equal(late.log.start, seqs[40])
    await check(t, late, seqs, 40)
    await check(t, owner, seqs, 40)
    t.equal(await codeOf(client.get(0)), 'flumelog:trimmed')
    t.equal(await client.append(data(60)), await collect(owner.log, { reverse: true, limit: 1, values: false }).then(([seq]) => seq))
    await owner.close()
    await client.trim({ lt: Infinity })
    t.deepEqual(await indexes(client), range(60, 61), 'and the next owner, too')
    await Promise.all([client, late].map(log => log.close()))
  })
}

for (const isCompacted of [false, true]) {
  tape(`what was trimmed${isCompacted ? ', and not copied by a compaction,' : ''} before a client has read it is not corrupt`, async (t) => {
    const file = testFolder(t)('log')
    const owner = promises(FlumeLog(file, { blockSize: BLOCK_SIZE, shared: true }))
    const seqs = await filled(owner)
    const client = promises(FlumeLog(file, { blockSize: BLOCK_SIZE, shared: true }))
    t.equal((await collect(client.log)).length, 60)
    const { follower, sharing: { connection: { socket } } } = logBehind(client.log).state.opened
    socket.pause()
    // in the block in which the log ended
    seqs.push(await owner.append(Buffer.from([61])))
    seqs.push(...await filled(owner))
    await owner.trim({ lt: seqs[100] })
    const { start } = owner.log
    if (isCompacted) await new Promise((resolve, reject) => owner.log.compact(err => err ? reject(err) : resolve()))
    await new Promise(resolve => follower.catchUp(resolve))
    await checkAll(t, client, owner, await indexes(client), 121 - seqs.indexOf(start))
    t.equal(await codeOf(client.get(seqs[60])), 'flumelog:trimmed')
    socket.resume()
    await client.close()
    await owner.close()
  })
}

for (const large of [false, true]) {
  tape(`a search that finds all that the reader knows trimmed waits for what came since${large ? ', with large records' : ''}`, async (t) => {
    const file = testFolder(t)('log')
    const options = { blockSize: BLOCK_SIZE, large }
    const writer = promises(FlumeLog(file, options))
    const seqs = await filled(writer)
    await published(file, seqs.at(-1))
    const reader = promises(FlumeLog(file, { ...options, readOnly: true, cacheSize: 0 }))
    await reader.onReady()
    const { follower } = logBehind(reader.log).state.opened
    const { advance } = follower
    let goOn
    const isHeld = new Promise(resolve => { goOn = resolve })
    follower.advance = async function () {
      await isHeld
      return advance.call(this)
    }
    const after = await filled(writer, 100)
    await writer.trim({ lt: after[99] })
    await published(file, after.at(-1))
    const found = reader.search(() => 0)
    await Promise.all(Array.from({ length: 20 }, () => event(setImmediate)))
    goOn()
    t.equal((await found).seq, writer.log.start)
    await reader.close()
    await writer.close()
  })
}
