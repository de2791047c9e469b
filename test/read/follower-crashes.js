'use strict'

// Readers beside a writer that deletes, is killed, or closes the log while another opens it.

const tape = require('tape')
const fs = require('fs')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { deletionOf } = require('../../lib/format/deletions')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { writerOf, watched, playedWriter, until, frame, follow, isAt, summary } = require('../helpers/followers')
const { numbered, numberOf, isIntact, codec } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { collect, event } = require('../helpers/reading')

tape('a follower that reads during a deletion sees the record whole, or not at all', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, { blockSize: 4096 }, 1, () => 1000)
  const seqs = []
  for (let i = 0; i < 2; i++) seqs.push(await writer.append(1))
  await writer.close()
  const played = playedWriter(t, file, 4096)
  await played.write({ end: 0, acknowledged: 2008 })
  let step = 'idle'
  const reader = watched(file, {
    // a writer appends a record and deletes it; the follower reads while half of it is zeros
    beforeRead: async () => {
      if (step !== 'appended') return
      step = 'reading'
      const before = fs.readFileSync(file)
      const position = seqs[2]
      const after = Buffer.from(before).fill(0, position + 2, position + 1002)
      played.record([deletionOf(0, before, [position], null)])
      fs.writeFileSync(file, Buffer.concat([after.subarray(0, position + 500), before.subarray(position + 500)]))
      step = 'half'
    },
    afterRead: async () => {
      if (step !== 'half') return
      step = 'done'
      const after = fs.readFileSync(file).fill(0, seqs[2] + 2, seqs[2] + 1002)
      fs.writeFileSync(file, after)
      await played.write({ end: seqs[2] + 1004, acknowledged: 4016 })
    }
  })
  const values = []
  pull(reader.stream({ live: true, seqs: false }), pull.drain(value => values.push(numberOf(value)), () => {}))
  await promises(reader).onReady()
  seqs.push(seqs[1] + 1004)
  step = 'appended'
  const records = [3, 4].map(number => numbered(number, 1000))
  fs.appendFileSync(file, Buffer.concat(records.map(record => frame(record))))
  played.publish(4016)
  await event(resolve => reader.since(since => { if (since === seqs[2] + 1004) resolve() }))
  await event(setImmediate)
  t.equal(step, 'done', 'the follower read while the block was being rewritten')
  t.deepEqual(values, [1, 2, 4], 'and shows none of it')
  await promises(reader).close()
})

tape('a follower of a log left by a crash shows nothing that recovery would truncate', async (t) => {
  const file = testFolder(t)('log')
  const record = numbered(3, 50)
  record[30]++
  fs.writeFileSync(file, Buffer.concat([frame(numbered(1, 50)), frame(numbered(2, 50)), frame(record)]))
  const writer = playedWriter(t, file)
  await writer.write({ end: 54, acknowledged: 162 })
  writer.release()
  let looks = 0
  const reader = watched(file, { beforePoll: async () => { looks++ } }, { validate: isIntact })
  const values = []
  pull(reader.stream({ live: true, seqs: false }), pull.drain(value => values.push(numberOf(value)), () => {}))
  await promises(reader).onReady()
  await until(() => looks > 3)
  t.deepEqual(values, [1, 2], 'a record that is not whole is not shown')
  const next = writerOf(file, { validate: isIntact }, 3)
  t.equal((await next.log.onReady()).bytes, 54, 'the next writer cuts it off')
  await next.append(1)
  await event(resolve => reader.since(since => { if (since === 108) resolve() }))
  t.deepEqual(values, [1, 2, 3], 'what it appends in its place is shown')
  await promises(reader).close()
  await next.close()
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

tape('a follower sees records that replaced a torn one', async (t) => {
  const file = testFolder(t)('log')
  const first = writerOf(file, {})
  await first.append(1)
  await first.close()
  const record = numbered(2, 50)
  // a writer was killed: as many bytes as the next writer's record will have
  fs.appendFileSync(file, Buffer.concat([frame(record).subarray(0, 20), Buffer.alloc(34, 1)]))
  const before = fs.statSync(file).size
  let looks = 0
  let hold = async () => {}
  const reader = watched(file, {
    beforePoll: async () => {
      looks++
      await hold()
    }
  })
  const values = []
  pull(reader.stream({ live: true, seqs: false }), pull.drain(value => values.push(numberOf(value)), () => {}))
  await until(() => looks > 3 && values.length > 0)
  t.deepEqual(values, [1], 'it has looked at the torn one')

  const next = promises(FlumeLog(file))
  // it does not poll while the file is shorter
  const appended = next.onReady().then(async ({ bytes }) => {
    t.equal(bytes, 54, 'the next writer cuts that off')
    await next.append(record)
  })
  hold = () => appended
  await appended
  t.equal(fs.statSync(file).size, before, 'the file is as long as it was')
  await until(() => values.length > 1)
  t.deepEqual(values, [1, 2], 'and what is appended is seen')
  for (const log of [promises(reader), next]) await log.close()
})
