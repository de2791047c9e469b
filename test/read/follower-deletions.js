'use strict'

// Readers in other processes see deletions that the log's file does not have yet.

const tape = require('tape')
const fs = require('fs')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { parseMetadata } = require('../../lib/storage/metadata-text')
const { pathFile } = require('../../lib/storage/path-file')
const { testFolder } = require('../helpers/folder')
const { until, published, watched } = require('../helpers/followers')
const { makeHoles } = require('../helpers/holes')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')

const BLOCK_SIZE = 512
const data = (i) => Buffer.alloc(100, i + 1)
const indexes = async (log) => (await collect(log.log, { seqs: false })).map(value => value[0] - 1)
const upTo = (count, deleted = []) => Array.from({ length: count }, (_, i) => i).filter(i => !deleted.includes(i))

for (const checksum of [true, false]) {
  for (const sync of ['always', 'never']) {
    const how = `sync '${sync}', ${checksum ? 'with' : 'without'} checksums`
    const options = { blockSize: BLOCK_SIZE, checksum, sync }

    tape(`a read-only log that is opened after a deletion was acknowledged does not have the record: ${how}`, async (t) => {
      const file = testFolder(t)('log')
      const writer = promises(FlumeLog(file, options))
      const seqs = []
      for (let i = 0; i < 20; i++) seqs.push(await writer.append(data(i)))
      await published(file, seqs.at(-1))
      const deleted = []
      for (const i of [1, 9, 18, 19]) {
        await writer.del(seqs[i])
        deleted.push(i)
        const reader = promises(FlumeLog(file, { ...options, readOnly: true }))
        t.deepEqual(await indexes(reader), upTo(20, deleted))
        t.equal(await codeOf(reader.get(seqs[i])), 'flumelog:deleted')
        await reader.close()
      }
      await writer.close()
    })

    tape(`a read-only log that has read a record before is told of its deletion: ${how}`, async (t) => {
      const file = testFolder(t)('log')
      const writer = promises(FlumeLog(file, options))
      const seqs = []
      for (let i = 0; i < 20; i++) seqs.push(await writer.append(data(i)))
      await published(file, seqs.at(-1))
      const reader = promises(FlumeLog(file, { ...options, readOnly: true }))
      t.deepEqual(await indexes(reader), upTo(20))
      await writer.del([seqs[1], seqs[9]])
      let code = null
      while (code === null) code = await codeOf(reader.get(seqs[1])).then(code => code === 'flumelog:deleted' ? code : new Promise(resolve => setImmediate(resolve, null)))
      t.deepEqual(await indexes(reader), upTo(20, [1, 9]))
      await writer.del(seqs[10])
      await writer.close()
      const again = promises(FlumeLog(file, { ...options, readOnly: true }))
      t.deepEqual(await indexes(again), upTo(20, [1, 9, 10]))
      await Promise.all([reader.close(), again.close()])
    })

    tape(`a read-only log that gets to a block after a deletion in it was acknowledged does not show the record: ${how}`, async (t) => {
      const file = testFolder(t)('log')
      const writer = promises(FlumeLog(file, options))
      const seqs = [await writer.append(data(0))]
      let gate = Promise.resolve()
      const reader = promises(watched(file, { beforePoll: () => gate }, options))
      await reader.onReady()
      const shown = []
      pull(reader.log.stream({ live: true, seqs: false }), pull.drain(value => shown.push(value[0] - 1), () => {}))
      let release
      gate = new Promise(resolve => { release = resolve })
      for (let i = 1; i < 20; i++) seqs.push(await writer.append(data(i)))
      await writer.del([seqs[1], seqs[9]])
      await published(file, seqs.at(-1))
      release()
      await until(() => reader.log.since.value === seqs.at(-1) && shown.at(-1) === 19)
      t.deepEqual(shown, upTo(20, [1, 9]), 'a live stream')
      t.deepEqual(await indexes(reader), upTo(20, [1, 9]))
      t.equal(await codeOf(reader.get(seqs[1])), 'flumelog:deleted')
      await Promise.all([reader.close(), writer.close()])
    })

    tape(`readers of a log whose writer was killed do not have what it deleted: ${how}`, async (t) => {
      const file = testFolder(t)
      const writer = promises(FlumeLog(file('log'), options))
      const seqs = []
      for (let i = 0; i < 20; i++) seqs.push(await writer.append(data(i)))
      await writer.del([seqs[1], seqs[9], seqs[18], seqs[19]])
      for (const name of ['log', 'log.meta']) fs.copyFileSync(file(name), file(name.replace('log', 'copy')))
      const left = upTo(20, [1, 9, 18, 19])
      for (const readOnly of [true, false, true]) {
        const log = promises(FlumeLog(file('copy'), { ...options, readOnly }))
        await log.onReady()
        t.deepEqual(await indexes(log), left, readOnly ? 'read-only' : 'recovered')
        await log.close()
      }
      await writer.close()
    })

    tape(`the client of a shared log does not see a record when its deletion was acknowledged: ${how}`, async (t) => {
      const file = testFolder(t)('log')
      const owner = promises(FlumeLog(file, { ...options, shared: true }))
      await owner.onReady()
      const client = promises(FlumeLog(file, { ...options, shared: true }))
      const seqs = []
      for (let i = 0; i < 20; i++) seqs.push(await client.append(data(i)))
      t.deepEqual(await indexes(client), upTo(20))
      for (const i of [1, 9, 18, 19]) {
        await client.del(seqs[i])
        t.equal(await codeOf(client.get(seqs[i])), 'flumelog:deleted')
      }
      await owner.del(seqs[5])
      await until(() => client.log.since.value === seqs[19])
      await client.append(data(20))
      t.deepEqual(await indexes(client), upTo(21, [1, 5, 9, 18, 19]))
      t.deepEqual(await indexes(owner), upTo(21, [1, 5, 9, 18, 19]))
      await client.close()
      await owner.close()
    })
  }
}

tape('a reader that finds the block size while it hears of a deletion does not show the record', async (t) => {
  const file = testFolder(t)('log')
  const writer = promises(FlumeLog(file, { blockSize: BLOCK_SIZE, sync: 'never' }))
  await writer.onReady()
  let gate = Promise.resolve()
  // an empty log tells no block size
  const reader = promises(watched(file, { beforePoll: () => gate }))
  await reader.onReady()
  const seqs = []
  // no other one has room in the first block
  for (let i = 0; i < 4; i++) seqs.push(await writer.append(data(i)))
  await until(() => reader.log.since.value === seqs.at(-1))
  t.deepEqual(await indexes(reader), upTo(4))
  let release
  gate = new Promise(resolve => { release = resolve })
  await writer.del(seqs[1])
  for (let i = 4; i < 10; i++) seqs.push(await writer.append(data(i)))
  await published(file, seqs.at(-1))
  release()
  await until(() => reader.log.since.value === seqs.at(-1))
  t.deepEqual(await indexes(reader), upTo(10, [1]))
  t.equal(await codeOf(reader.get(seqs[1])), 'flumelog:deleted')
  await Promise.all([reader.close(), writer.close()])
})

tape('the client of a shared log that could not read the file when a record was deleted does not show it later', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { shared: true }))
  const made = pathFile(file, { readOnly: false, lock: false })
  let mustFail = false
  let failures = 0
  const read = (offset, size, cb) => {
    if (!mustFail) return made.read(offset, size, cb)
    failures++
    mustFail = false
    process.nextTick(cb, Object.assign(new Error('EIO: made to fail'), { code: 'EIO' }))
  }
  await owner.onReady()
  const client = promises(createLog({ ...made, read }, settingsOf({ shared: true })))
  const seqs = []
  for (let i = 0; i < 3; i++) seqs.push(await client.append(data(i)))
  t.deepEqual(await indexes(client), upTo(3))
  mustFail = true
  await client.del(seqs[1])
  t.equal(failures, 1)
  t.deepEqual(await indexes(client), upTo(3, [1]))
  await client.close()
  await owner.close()
})

/** What FILE.meta says. */
const metadataIn = (file) => parseMetadata(fs.readFileSync(file + '.meta', 'latin1')).metadata

/** A reader that notices nothing between `sleep` and `wake`, like one whose process is busy. */
function sleeper (file, options) {
  const made = pathFile(file, { readOnly: true, lock: false })
  let awake = Promise.resolve()
  let wake = () => {}
  const { metadata } = made
  const read = metadata.read.bind(metadata)
  metadata.read = () => awake.then(read)
  const log = promises(createLog(made, settingsOf({ ...options, readOnly: true })))
  const sleep = () => { awake = new Promise(resolve => { wake = resolve }) }
  return { log, sleep, wake: () => wake() }
}

for (const checksum of [true, false]) {
  // the recovery point moves up with almost every append
  const options = { blockSize: BLOCK_SIZE, checksum, sync: 'always', syncBytes: 4 }
  const opened = async (t, count = 20) => {
    const file = testFolder(t)('log')
    const writer = promises(FlumeLog(file, options))
    const seqs = []
    for (let i = 0; i < count; i++) seqs.push(await writer.append(data(i)))
    await published(file, seqs.at(-1))
    return { file, writer, seqs }
  }
  const how = checksum ? 'with checksums' : 'without checksums'
  const shows = async (reader, expected) => {
    for (;;) {
      const found = await indexes(reader)
      if (found.join() === expected.join()) return
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }

  tape(`a busy reader of a closed log learns of a deletion by a writer that came and went: ${how}`, async (t) => {
    const { file, writer, seqs } = await opened(t)
    await writer.close()
    const { log: reader, sleep, wake } = sleeper(file, options)
    t.deepEqual(await indexes(reader), upTo(20))
    sleep()
    const next = promises(FlumeLog(file, options))
    await next.del([seqs[1], seqs[19]])
    await next.close()
    wake()
    await shows(reader, upTo(20, [1, 19]))
    t.equal(await codeOf(reader.get(seqs[1])), 'flumelog:deleted')
    await reader.close()
  })

  tape(`a busy reader learns of a deletion that was dropped from FILE.meta meanwhile: ${how}`, async (t) => {
    const { file, writer, seqs } = await opened(t)
    const { log: reader, sleep, wake } = sleeper(file, options)
    t.deepEqual(await indexes(reader), upTo(20))
    sleep()
    await writer.del([seqs[1], seqs[19]])
    const added = []
    while (metadataIn(file).deletions.length > 0) {
      added.push(20 + added.length)
      await writer.append(data(added.at(-1)))
    }
    wake()
    const expected = [...upTo(20, [1, 19]), ...added]
    await shows(reader, expected)
    t.equal(await codeOf(reader.get(seqs[1])), 'flumelog:deleted')
    await Promise.all([reader.close(), writer.close()])
  })

  tape(`a reader learns of a deletion in the block in which the log ends, though it does not grow: ${how}`, async (t) => {
    const { file, writer, seqs } = await opened(t)
    const { log: reader } = sleeper(file, options)
    t.deepEqual(await indexes(reader), upTo(20))
    await writer.del(seqs[19])
    await shows(reader, upTo(19))
    await Promise.all([reader.close(), writer.close()])
  })

  tape(`a reader keeps blocks in memory while the recovery point moves up: ${how}`, async (t) => {
    const { file, writer, seqs } = await opened(t)
    const { log: reader } = sleeper(file, options)
    await writer.del(seqs[1])
    await shows(reader, upTo(20, [1]))
    const { misses } = reader.log.stats().cache
    const before = metadataIn(file).end
    // the deletion is dropped, too, which the reader has seen
    while (metadataIn(file).end === before) {
      const seq = await writer.append(data(20))
      await until(() => reader.log.since.value === seq)
    }
    await reader.get(seqs[8])
    t.equal(reader.log.stats().cache.misses, misses)
    await Promise.all([reader.close(), writer.close()])
  })
}

for (const checksum of [true, false]) {
  for (const sync of ['always', 'interval', 'never']) {
    tape(`a reader of which the last block that it has shown is deleted as a whole goes on behind it: sync '${sync}', ${checksum ? 'with' : 'without'} checksums`, async (t) => {
      const file = testFolder(t)('log')
      const options = { blockSize: BLOCK_SIZE, checksum, sync, syncInterval: 1 }
      const writer = promises(FlumeLog(file, options))
      const seqs = []
      for (let i = 0; i < 10; i++) seqs.push(await writer.append(data(i)))
      await published(file, seqs.at(-1))
      let gate = Promise.resolve()
      const reader = promises(watched(file, { beforePoll: () => gate }, options))
      await reader.onReady()
      t.deepEqual(await indexes(reader), upTo(10))
      const seen = []
      pull(reader.log.stream({ live: true, seqs: false }), pull.drain(value => { seen.push(value[0] - 1) }, () => {}))
      let open
      gate = new Promise(resolve => { open = resolve })
      for (let i = 10; i < 30; i++) seqs.push(await writer.append(data(i)))
      await writer.del({ gte: seqs[2], lte: seqs[22] })
      await makeHoles(writer.log)
      open()
      await until(() => seen.includes(29))
      t.deepEqual(seen.filter(i => i < 10 || i > 22), [...upTo(10), 23, 24, 25, 26, 27, 28, 29], 'nothing is skipped that is there, nothing is repeated')
      t.ok(seen.every((i, at) => at === 0 || i > seen[at - 1]))
      while ((await indexes(reader)).length !== 9) await new Promise(resolve => setImmediate(resolve))
      t.deepEqual(await indexes(reader), [0, 1, 23, 24, 25, 26, 27, 28, 29])
      t.equal(await codeOf(reader.get(seqs[9])), 'flumelog:deleted')
      await Promise.all([reader.close(), writer.close()])
    })
  }
}
