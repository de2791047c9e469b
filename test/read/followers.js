'use strict'

// Readers in other processes, beside a writer: they see every record once, whole and in
// order, soon after it was appended.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const FlumeLog = require('../..')
const { open } = require('../../promises')
const { noListOfOpenFiles, openFilesIn, testFolder } = require('../helpers/folder')
const { codec, numbered } = require('../helpers/numbered')
const { start } = require('../helpers/processes')
const { writerOf, follow, isAt, summary } = require('../helpers/followers')
const { promises } = require('../helpers/promises')
const { collect, event } = require('../helpers/reading')
const { randomFrom } = require('../helpers/random')

const WITHOUT_NATIVE_PART = [path.join(__dirname, '..', 'helpers', 'programs', 'without-native-part.js')]

tape('three followers started at different times see every record once, whole and in order', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, { blockSize: 4096 })
  const random = randomFrom(1)
  const followers = []
  for (const upTo of [1, 3000, 9000, 15000]) {
    while (writer.number < upTo) {
      await writer.append(random.pick([1, 1, 5, 200]))
      if (random() < 0.2) await event(setImmediate)
    }
    if (upTo !== 15000) followers.push(follow(t, file))
    if (upTo === 3000) await Promise.all(followers.map(isAt(1)))
  }
  await Promise.all(followers.map(isAt(writer.number)))
  for (const follower of followers) t.deepEqual(summary(follower), { count: writer.number, missing: [], wrong: [] }, 'one has seen all')

  await writer.append(1)
  await Promise.all(followers.map(isAt(writer.number)))
  t.pass('and sees what is appended when it has read all')
  await writer.close()
})

tape('since of a reader is updated even without a stream', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, {})
  await writer.append(1)
  const follower = follow(t, file, { streams: false })
  await follower.message(({ what, since }) => what === 'moved' && since === 0)
  const seq = await writer.append(1)
  await follower.message(({ what, since }) => what === 'moved' && since === seq)
  t.pass('to what another process appends')
  await writer.close()
})

tape('where files cannot be locked, followers see every record, too', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, { blockSize: 4096 })
  await writer.append(1)
  const follower = start(t, 'follow.js', { file, options: {} }, { preload: WITHOUT_NATIVE_PART })
  const random = randomFrom(3)
  while (writer.number < 3000) {
    await writer.append(random.pick([1, 1, 5, 200]))
    if (random() < 0.2) await event(setImmediate)
    if (random() < 0.02) await isAt(writer.number)(follower)
  }
  await writer.log.append([numbered(++writer.number, 50), numbered(++writer.number, 50)], { atomic: true })
  await isAt(writer.number)(follower)
  t.deepEqual(summary(follower), { count: writer.number, missing: [], wrong: [] })
  await writer.close()
})

tape('followers of a killed writer see a prefix, and continue with the next writer', async (t) => {
  const file = testFolder(t)('log')
  const options = { blockSize: 4096, checksum: true }
  fs.writeFileSync(file, '')
  const followers = [1, 2, 3].map(() => follow(t, file, { options: { blockSize: 4096 } }))
  let first = 1
  const deleted = new Set()
  for (let life = 0; life < 4; life++) {
    const writer = start(t, 'append-until-killed.js', { seed: life, logs: [{ file, options, first, calls: 1e9 }] })
    await writer.message(() => writer.messages.length > 50 + life * 100)
    await Promise.all(followers.map(isAt(first)))
    await writer.kill()
    for (const { what, number } of writer.messages) if (what === 'deleting') deleted.add(number)
    const acknowledged = writer.messages.findLast(({ what }) => what === 'appended').number
    const log = promises(FlumeLog(file, { ...options, codec }))
    await log.onReady()
    const all = await collect(log.log)
    const last = all.at(-1).value.readUInt32LE(0)
    t.ok(last >= acknowledged || deleted.has(acknowledged), `what was acknowledged is there (${acknowledged})`)
    first = Math.max(last, acknowledged) + 1
    await log.close()
  }
  const writer = writerOf(file, options, first)
  await writer.append(1)
  await Promise.all(followers.map(isAt(first)))
  for (const follower of followers) {
    const { missing, wrong } = summary(follower)
    t.deepEqual(wrong, [], 'one saw whole records only, in order')
    t.deepEqual(missing.filter(number => !deleted.has(number)), [], 'none is missing but deleted ones')
  }
  await writer.close()
})

tape('a follower of a missing file gets ENOENT', async (t) => {
  const file = testFolder(t)('log')
  const follower = follow(t, file)
  t.equal((await follower.message(({ what }) => what === 'refused')).code, 'ENOENT', 'ENOENT')
  t.notOk(fs.existsSync(file), 'and it does not make the file')
})

tape('a follower may start while the file is empty or too small to detect the block size', async (t) => {
  const inFolder = testFolder(t)
  for (const [name, before] of [['empty', 0], ['begun', 1], ['begun with three', 3]]) {
    const file = inFolder(name)
    const writer = writerOf(file, { blockSize: 512 })
    await writer.log.onReady()
    for (let i = 0; i < before; i++) await writer.append(1)
    const follower = follow(t, file)
    await follower.message(({ what }) => what === 'opened')
    while (writer.number < 500) await writer.append(7)
    await isAt(writer.number)(follower)
    t.deepEqual(summary(follower), { count: writer.number, missing: [], wrong: [] }, `${name}: it has seen all`)
    await writer.close()
  }
})

tape('a log that is closed has no file open, though it was just looking at what the writer has changed', { skip: noListOfOpenFiles }, async (t) => {
  const folder = testFolder(t)
  const opened = []
  for (let round = 0; round < 20; round++) {
    const writer = await open(folder('log'), { blockSize: 1024 })
    const reader = await open(folder('log'), { readOnly: true })
    const stream = reader.stream({ live: true })
    await writer.append(Array.from({ length: 30 }, (_, i) => `record ${round} ${i}`))
    await stream.next()
    if (round % 2 === 0) await writer.compact()
    await writer.append('more')
    await stream.return()
    await reader.close()
    await writer.close()
    opened.push(...openFilesIn(folder('.')))
  }
  t.deepEqual(opened, [])
})
