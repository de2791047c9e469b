'use strict'

// Readers in other processes: what they see while a writer appends, and when the writer is
// killed, or the file is truncated or does not exist yet.

const tape = require('tape')
const fs = require('fs')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { createLog } = require('../../lib/log')
const { pathFile } = require('../../lib/storage/path-file')
const { settingsOf } = require('../../lib/options')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/processes')
const { numbered, numberOf, isIntact, sizeOf, codec } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { collect, codeOf, event } = require('../helpers/reading')
const { randomFrom } = require('../helpers/disk')
const layout = require('../../lib/format/layout')

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

tape('a follower gets records as they are appended', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, {})
  await writer.append(1)
  const follower = follow(t, file)
  await isAt(1)(follower)
  const delays = []
  for (let i = 0; i < 40; i++) {
    await event(resolve => setTimeout(resolve, i))
    const appended = Number(process.hrtime.bigint()) / 1e6
    await writer.append(1)
    const { time } = await isAt(writer.number)(follower)
    delays.push(time - appended)
  }
  delays.sort((a, b) => a - b)
  t.equal(summary(follower).count, writer.number, 'every one')
  t.comment(`milliseconds from append to the follower's hands: median ${delays[20].toFixed(1)}, worst ${delays[39].toFixed(1)}`)
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

tape('a follower that reads during a deletion sees the record whole, or not at all', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, { blockSize: 4096 }, 1, () => 1000)
  const seqs = []
  for (let i = 0; i < 2; i++) seqs.push(await writer.append(1))
  await writer.close()
  const { point } = pathFile(file, { readOnly: true, lock: false })
  const pointIs = (value) => event(resolve => point.write(value, resolve))
  let step = 'idle'
  const reader = watched(file, {
    // a writer appends a record and deletes it; the follower reads while half of it is zeros
    beforeRead: async () => {
      if (step !== 'appended') return
      step = 'reading'
      const before = fs.readFileSync(file)
      const position = seqs[2]
      const after = Buffer.from(before).fill(0, position + 2, position + 1002)
      await pointIs({ offset: position, rewrites: [{ offset: 0, data: after }] })
      fs.writeFileSync(file, Buffer.concat([after.subarray(0, position + 500), before.subarray(position + 500)]))
      step = 'half'
    },
    afterRead: async () => {
      if (step !== 'half') return
      step = 'done'
      const after = fs.readFileSync(file).fill(0, seqs[2] + 2, seqs[2] + 1002)
      fs.writeFileSync(file, after)
      await pointIs({ offset: seqs[2], rewrites: [] })
    }
  })
  const values = []
  pull(reader.stream({ live: true, seqs: false }), pull.drain(value => values.push(numberOf(value)), () => {}))
  await promises(reader).onReady()
  seqs.push(seqs[1] + 1004)
  step = 'appended'
  const records = [3, 4].map(number => numbered(number, 1000))
  fs.appendFileSync(file, Buffer.concat(records.map(record => frame(record))))
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
  const { point } = pathFile(file, { readOnly: true, lock: false })
  await event(resolve => point.write({ offset: 54, rewrites: [] }, resolve))
  let looks = 0
  const reader = watched(file, { afterSize: async () => { looks++ } }, { validate: isIntact })
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

tape('a corrupt block is an error for a follower, or is skipped with skipCorrupt', async (t) => {
  const file = testFolder(t)('log')
  const whole = testFolder(t)('whole')
  const writer = writerOf(whole, { blockSize: 512 }, 1, () => 50)
  await writer.append(60)
  await writer.close()
  const bytes = fs.readFileSync(whole)
  bytes[3 * 512 + 200] ^= 1
  fs.writeFileSync(file, bytes.subarray(0, 700))
  const readers = [{}, { skipCorrupt: true }].map((options) => {
    const log = promises(FlumeLog(file, { readOnly: true }))
    const reader = { log, values: [], skipped: [], ended: undefined, done: () => {} }
    reader.over = event(resolve => { reader.done = resolve })
    const onSkip = ({ start, end, error }) => reader.skipped.push([start, end, error.code])
    pull(log.log.stream({ live: true, seqs: false, onSkip, ...options }), pull.drain((value) => {
      reader.values.push(numberOf(value))
      if (numberOf(value) === 60) reader.done()
    }, reader.done))
    return reader
  })
  await Promise.all(readers.map(({ log }) => log.onReady()))
  fs.appendFileSync(file, bytes.subarray(700))
  const [failing, skipping] = readers
  const err = await failing.over
  t.equal(err?.code, 'flumelog:corrupt', 'the stream ends with an error')
  t.equal(err?.block, 3, 'that has the block')
  const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
  t.deepEqual(failing.values, numbers(1, 27), 'after all that is in front of it')
  await skipping.over
  t.deepEqual(skipping.skipped, [[3 * 512, 4 * 512, 'flumelog:corrupt']], 'with skipCorrupt it reports the block')
  t.deepEqual(skipping.values, [...numbers(1, 27), ...numbers(37, 60)], 'and gives all others')
  for (const { log } of readers) await log.close()
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

tape('a truncated file is an error for its follower', async (t) => {
  const file = testFolder(t)('log')
  for (const length of [0, 100, 5000]) {
    fs.rmSync(file, { force: true })
    const writer = writerOf(file, { blockSize: 1024 })
    while (writer.number < 200) await writer.append(10)
    await writer.close()
    const follower = follow(t, file)
    await isAt(200)(follower)
    fs.truncateSync(file, length)
    const { code, message } = await follower.message(({ what }) => what === 'ended')
    t.equal(code, 'flumelog:corrupt', `to ${length} bytes: the stream ends with an error`)
    t.ok(message.includes(file) && message.includes(String(length)), 'that names the file and its length')
    follower.send({ close: true })
    t.notOk((await follower.message(({ what }) => what === 'closed')).code, 'and the process goes on')
  }
})

tape('a block that is no longer in the file is an error for its reader', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, { blockSize: 1024 })
  while (writer.number < 200) await writer.append(10)
  await writer.close()
  const reader = promises(FlumeLog(file, { readOnly: true, cacheSize: 0 }))
  await reader.onReady()
  fs.truncateSync(file, 1500)
  t.ok(['EPARTIALREAD', 'flumelog:corrupt'].includes(await codeOf(collect(reader.log))), 'for a stream')
  t.ok(['EPARTIALREAD', 'flumelog:corrupt'].includes(await codeOf(reader.get(2048))), 'for get')
  await reader.close()
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
  let hold = nothing
  const reader = watched(file, {
    afterSize: async () => {
      looks++
      await hold()
    }
  })
  const values = []
  pull(reader.stream({ live: true, seqs: false }), pull.drain(value => values.push(numberOf(value)), () => {}))
  await until(() => looks > 3)
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

/** A writer in this process, which numbers its records. */
function writerOf (file, options, first = 1, size = undefined) {
  const log = promises(FlumeLog(file, options))
  const most = layout.maxRecordSize(options.blockSize ?? 65536, options.checksum ?? true)
  const writer = {
    log,
    number: first - 1,
    append (count) {
      const batch = Array.from({ length: count }, () => {
        const number = ++writer.number
        return numbered(number, size === undefined ? sizeOf(number, most) : size(number))
      })
      return log.append(count === 1 ? batch[0] : batch)
    },
    close: () => log.close()
  }
  return writer
}

/**
 * A reader whose polls of the file can be delayed.
 * @param {string} file
 * @param {{ afterSize?: () => Promise<void>, beforeRead?: () => Promise<void>, afterRead?: () => Promise<void> }} steps
 */
function watched (file, { afterSize = nothing, beforeRead = nothing, afterRead = nothing }, options = {}) {
  const made = pathFile(file, { readOnly: true, lock: false })
  return createLog({
    ...made,
    size: (cb) => made.size((err, size) => afterSize().then(() => cb(err, size))),
    read: (offset, size, cb) => beforeRead().then(() => made.read(offset, size, (err, data) => afterRead().then(() => cb(err, data))))
  }, settingsOf({ readOnly: true, ...options }))
}

const nothing = async () => {}

async function until (isSo) {
  while (!isSo()) await event(setImmediate)
}

/** @param {Buffer} record */
function frame (record) {
  const bytes = Buffer.alloc(record.length + layout.FRAME_SIZE)
  layout.writeRecord(bytes, 0, record)
  return bytes
}

const follow = (t, file, more = {}) => start(t, 'follow.js', { file, options: {}, ...more })

/** Resolves when a follower has seen a record, or a later one. */
const isAt = (wanted) => async (follower) => {
  const message = await follower.message(({ what, number }) => (what === 'at' && number >= wanted) || ['ended', 'refused'].includes(what))
  if (message.what !== 'at') throw new Error(`the follower ended before it saw record ${wanted}: ${message.message ?? message.code}`)
  return message
}

function summary ({ messages }) {
  const told = messages.filter(({ what }) => what === 'at')
  return {
    count: told.at(-1)?.count ?? 0,
    missing: told.flatMap(({ missing }) => missing),
    wrong: messages.filter(({ what }) => what === 'wrong').map(({ why }) => why)
  }
}
