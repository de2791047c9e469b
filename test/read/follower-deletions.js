'use strict'

// Readers in other processes see deletions that the log's file does not have yet.

const tape = require('tape')
const fs = require('fs')
const FlumeLog = require('../..')
const { isHole } = require('../../lib/format/hole')
const { createLog, logBehind } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { parseMetadata } = require('../../lib/storage/metadata-text')
const { pathFile } = require('../../lib/storage/path-file')
const { testFolder } = require('../helpers/folder')
const { until, published } = require('../helpers/followers')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')
const { machine } = require('../helpers/simulator/machine')

const BLOCK_SIZE = 512
const data = (i) => Buffer.alloc(100, i + 1)
const indexes = async (log) => (await collect(log.log, { seqs: false })).map(value => value[0] - 1)
const upTo = (count, deleted = []) => Array.from({ length: count }, (_, i) => i).filter(i => !deleted.includes(i))

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

  tape(`a reader follows a log of which the last block that it knows becomes a hole while it reads it: ${how}`, async (t) => {
    const file = testFolder(t)('log')
    // the recovery point stays, and FILE.meta lists each deletion until a block becomes a hole
    const writer = promises(FlumeLog(file, { blockSize: BLOCK_SIZE, checksum, sync: 'always' }))
    const append = (i) => writer.append(data(i))
    const [first, second] = [await append(0), await append(1)]
    const { log: reader, sleep, wake } = sleeper(file, { checksum })
    t.deepEqual(await indexes(reader), [0, 1])
    sleep()
    await writer.del(second)
    for (let i = 2; i < 6; i++) await append(i)
    const { log: followed } = /** @type {any} */ (logBehind(reader.log)).state.opened.follower
    const { read } = followed
    let isHoled = false
    followed.read = async (tail) => {
      if (!isHoled) await writer.del({ gte: first, lt: BLOCK_SIZE })
      isHoled = isHole(fs.readFileSync(file).subarray(0, BLOCK_SIZE))
      return read.call(followed, tail)
    }
    wake()
    const last = await append(6)
    t.equal((await reader.get(last))[0], 7)
    t.ok(isHoled)
    t.deepEqual(await indexes(reader), [4, 5, 6])
    await Promise.all([reader.close(), writer.close()])
  })
}

tape('a reader of a closed log is told of deletions by the second writer after it, too', async (t) => {
  const { world, open, settled } = machine()
  const openToWrite = () => open(world.start(), '/log', { sync: 'never' })
  await settled((await openToWrite()).close())
  const reader = await open(world.start(), '/log', { readOnly: true })
  // this one comes and goes before the reader looks
  const first = await openToWrite()
  const seqs = []
  for (let i = 0; i < 3; i++) seqs.push(await settled(first.append(data(i))))
  await settled(first.close())
  await world.run(() => false, 100)
  t.deepEqual(await settled(reader.get(seqs[1])), data(1))
  const second = await openToWrite()
  await world.run(() => false, 100)
  // the file of the log gets it when it is closed
  await settled(second.del(seqs[1]))
  await world.run(() => false, 1000)
  t.equal(await settled(codeOf(reader.get(seqs[1]))), 'flumelog:deleted')
  t.deepEqual((await settled(collect(reader.flumelog))).map(({ seq }) => seq), [seqs[0], seqs[2]])
  world.end()
})
