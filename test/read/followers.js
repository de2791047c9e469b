'use strict'

// Readers in other processes, beside a writer: they see every record once, whole and in
// order, soon after it was appended.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { numbered } = require('../helpers/numbered')
const { start } = require('../helpers/processes')
const { writerOf, watched, follow, isAt, summary } = require('../helpers/followers')
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

tape('a follower sees records appended while it was opening', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, {})
  await writer.append(1)
  let seq
  const reader = watched(file, {
    // the last call before the file is watched
    afterSize: async () => { seq ??= await writer.append(1) }
  })
  await event(resolve => reader.since(since => { if (since === seq) resolve() }))
  t.pass('though nothing is appended after it')
  await promises(reader).close()
  await writer.close()
})

tape('followers miss only deleted records while a writer deletes', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, { blockSize: 65536 }, 1, number => 8 + number % 30000)
  await writer.append(1)
  const followers = [follow(t, file), follow(t, file)]
  const random = randomFrom(2)
  const seqs = []
  const deleted = new Set()
  while (writer.number < 300) {
    seqs[writer.number + 1] = await writer.append(1)
    for (const back of [0, 1, random.below(20)]) {
      const number = writer.number - back
      if (random() < 0.5 || number < 2) continue
      deleted.add(number)
      await writer.log.del(seqs[number])
    }
  }
  await writer.append(1)
  await Promise.all(followers.map(isAt(writer.number)))
  for (const follower of followers) {
    const { missing, wrong } = summary(follower)
    t.deepEqual(wrong, [], 'one saw whole records only, in order')
    t.deepEqual(missing.filter(number => !deleted.has(number)), [], 'what is missing had been deleted')
  }
  t.deepEqual(followers.flatMap(({ messages }) => messages.filter(({ what }) => what === 'ended')), [], 'nobody met damage')
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

tape('a reader that opens while a writer starts to append has at once what was there before', async (t) => {
  const file = testFolder(t)('log')
  const before = promises(FlumeLog(file))
  await before.append(Array.from({ length: 40 }, (_, i) => `record ${i}`))
  await before.close()
  for (let run = 0; run < 5; run++) {
    const writer = promises(FlumeLog(file))
    const appended = writer.append('another')
    const readers = []
    for (let i = 0; i < 15; i++) {
      await new Promise(setImmediate)
      const reader = promises(FlumeLog(file, { readOnly: true }))
      readers.push(reader.onReady().then(() => collect(reader.log)).then(async (found) => {
        await reader.close()
        return found.length
      }))
    }
    const counts = await Promise.all(readers)
    t.ok(counts.every(count => count >= 40 + run), `${counts}`)
    await appended
    await writer.close()
  }
})
