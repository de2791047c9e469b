'use strict'

// Cursors of logs that are trimmed or compacted: they say so, or go on at the record that they were at.

const fs = require('fs')
const tape = require('tape')
const { open, wrap } = require('../../promises')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')
const { testFolder } = require('../helpers/folder')
const { noWatch, until } = require('../helpers/followers')
const { makeHoles } = require('../helpers/holes')
const { codeOf, collect } = require('../helpers/reading')
const { machine } = require('../helpers/simulator/machine')

const BLOCK_SIZE = 64

/** Records of which five fill a block. */
async function logWithRecords (t, count = 40) {
  const file = testFolder(t)('log')
  const log = await open(file, { blockSize: BLOCK_SIZE })
  await log.append(Array.from({ length: count }, (_, i) => `r${String(i).padStart(4, '0')}`))
  const seqs = await collect(log.flumelog, { values: false })
  return { log, file, seqs }
}

async function valuesOf (cursor, options) {
  const values = []
  for await (const value of cursor.stream({ seqs: false, ...options })) values.push(String(value))
  return values
}

const names = (from, to) => Array.from({ length: to - from }, (_, i) => `r${String(from + i).padStart(4, '0')}`)

tape('a cursor behind retention says so, or goes on at the start of the log', async (t) => {
  const { log, file, seqs } = await logWithRecords(t)
  await log.cursor('behind').commit(seqs[3])
  await log.cursor('waiting').ready()
  const start = await log.trim({ lt: seqs[20] })
  const first = seqs.findIndex(seq => seq >= start)
  t.ok(first > 4)
  for (const name of ['behind', 'waiting']) {
    const cursor = log.cursor(name)
    t.equal(await codeOf(valuesOf(cursor)), 'flumelog:trimmed', name)
    t.deepEqual(await valuesOf(cursor, { fromStart: true }), names(first, 40), 'with fromStart')
  }
  t.deepEqual(await valuesOf(log.cursor('new')), names(first, 40), 'a cursor that is created now has missed nothing')
  await log.cursor('behind').commit(seqs[4])
  t.equal(log.cursor('behind').seq, seqs[4], 'what was read before it was trimmed can be committed')
  await log.cursor('behind').commit(seqs[first])
  await log.close()
  const again = await open(file)
  t.deepEqual(await valuesOf(again.cursor('behind')), names(first + 1, 40))
  t.equal(await codeOf(valuesOf(again.cursor('waiting'))), 'flumelog:trimmed', 'also after the log is opened again')
  t.deepEqual(await valuesOf(again.cursor('new')), names(first, 40))
  await again.cursor('waiting').commit(-1, { rewind: true })
  await again.close()
})

/** A log of blocks that are not in memory, on a simulated machine. */
async function simulatedLog () {
  const m = machine()
  const log = await m.open(m.world.start(), '/log', { blockSize: BLOCK_SIZE, cacheSize: 0 })
  await m.settled(log.append(names(0, 40)))
  const seqs = await m.settled(collect(log.flumelog, { values: false }))
  return { ...m, log, seqs }
}

tape('a cursor at the start of the log says so if that is trimmed while the first block is read for it', async (t) => {
  const { world, settled, until, codeOf, log, seqs } = await simulatedLog()
  const cursor = log.cursor('mailer')
  await settled(cursor.ready())
  let isReading = false
  world.fault = (process, name) => {
    isReading ||= name === 'readv'
    return null
  }
  const { latency } = world
  world.latency = () => 100
  const code = codeOf(valuesOf(cursor))
  await until(() => isReading)
  world.latency = () => 0.001
  await settled(log.trim({ lt: seqs[20] }))
  world.latency = latency
  t.equal(await code, 'flumelog:trimmed')
  world.end()
})

tape('a cursor of a reader that was not told of a trim says so if it was at the start of the log', async (t) => {
  const { world, open, settled, codeOf, log, seqs } = await simulatedLog()
  const reader = await open(world.start(), '/log', { readOnly: true, blockSize: BLOCK_SIZE })
  await settled(reader.cursor('mailer').ready())
  await world.run(() => false, 100)
  world.lostEvents = 1
  await settled(log.trim({ lt: seqs[30] }))
  t.equal(await codeOf(valuesOf(reader.cursor('mailer'))), 'flumelog:trimmed')
  world.end()
})

for (const isHeld of [true, false]) {
  tape(`a cursor behind retention says so after compactions, too, if ${isHeld ? 'it is open' : 'nobody holds it'} meanwhile`, async (t) => {
    const { log, seqs } = await logWithRecords(t)
    const all = ['behind', 'waiting', 'done']
    await log.cursor('behind').commit(seqs[3])
    await log.cursor('waiting').ready()
    const start = 3 * BLOCK_SIZE
    const first = seqs.findIndex(seq => seq >= start)
    await log.cursor('done').commit(seqs[first - 1])
    if (!isHeld) for (const name of all) await log.cursor(name).close()
    t.equal(await log.trim({ lt: seqs[first] }), start)
    for (let i = 0; i < 2; i++) {
      await log.compact()
      for (const name of ['behind', 'waiting']) t.equal(await codeOf(valuesOf(log.cursor(name))), 'flumelog:trimmed', name)
      t.deepEqual(await valuesOf(log.cursor('behind'), { fromStart: true }), names(first, 40), 'with fromStart')
      t.deepEqual(await valuesOf(log.cursor('done')), names(first, 40))
      if (!isHeld) for (const name of all) await log.cursor(name).close()
    }
    await log.cursor('behind').commit(log.since.value)
    t.deepEqual(await valuesOf(log.cursor('behind')), [])
    await log.close()
  })
}

tape('a cursor behind retention says so in a reader that has not heard of a compaction since', async (t) => {
  const { world, open, settled, codeOf } = machine()
  const log = await open(world.start(), '/log', { blockSize: BLOCK_SIZE })
  await settled(log.append(names(0, 40)))
  const seqs = await settled(collect(log.flumelog, { values: false }))
  await settled(log.cursor('behind').commit(seqs[3]))
  await settled(log.cursor('behind').close())
  const reader = await open(world.start(), '/log', { readOnly: true, blockSize: BLOCK_SIZE })
  await world.run(() => false, 100)
  world.lostEvents = 1
  await settled(log.trim({ lt: seqs[20] }))
  await settled(log.compact())
  t.notEqual(reader.id, log.id)
  t.equal(await codeOf(valuesOf(reader.cursor('behind'))), 'flumelog:trimmed')
  world.end()
})

tape('a cursor without a commit that a killed reader has left where it was before two compactions does not pass over what was trimmed between them', async (t) => {
  const { world, open, settled, codeOf } = machine()
  const log = await open(world.start(), '/log', { blockSize: BLOCK_SIZE })
  await settled(log.append(names(0, 40)))
  const process = world.start()
  const reader = await open(process, '/log', { readOnly: true, blockSize: BLOCK_SIZE })
  await settled(reader.cursor('waiting').ready())
  await world.run(() => false, 100)
  world.lostEvents = 1
  await settled(log.compact())
  const seqs = await settled(collect(log.flumelog, { values: false }))
  await settled(log.trim({ lt: seqs[20] }))
  await settled(log.compact())
  world.kill(process)
  t.equal(await codeOf(valuesOf(log.cursor('waiting'))), 'flumelog:invalid')
  const [first] = await settled(collect(log.flumelog))
  await settled(log.cursor('waiting').commit(-1, { rewind: true }))
  t.equal((await settled(valuesOf(log.cursor('waiting'))))[0], String(first.value), 'until it is put somewhere')
  world.end()
})

tape('a stream of a reader that was not told of a trim before a compaction ends with an error', async (t) => {
  const { world, open, settled, codeOf } = machine()
  const log = await open(world.start(), '/log', { blockSize: BLOCK_SIZE })
  await settled(log.append(names(0, 40)))
  const seqs = await settled(collect(log.flumelog, { values: false }))
  const reader = await open(world.start(), '/log', { readOnly: true, blockSize: BLOCK_SIZE })
  const [live, fromStart] = [reader.stream({ live: true }), reader.stream({ live: true, fromStart: true })]
  for (const stream of [live, fromStart]) t.equal(String((await settled(stream.next())).value.value), names(0, 1)[0])
  await world.run(() => false, 100)
  world.lostEvents = 1
  const start = await settled(log.trim({ lt: seqs[20] }))
  await settled(log.compact())
  world.lostEvents = 0
  await settled(log.append('after'))
  await world.run(() => reader.id === log.id, 1000)
  t.equal(reader.id, log.id)
  t.equal(await codeOf(live.next()), 'flumelog:trimmed')
  t.equal(String((await settled(fromStart.next())).value.value), names(seqs.indexOf(start), 40)[0])
  world.end()
})

tape('a cursor that has read all that was trimmed has missed nothing', async (t) => {
  const { log, seqs } = await logWithRecords(t)
  const last = seqs.findLastIndex(seq => seq < 3 * BLOCK_SIZE)
  await log.cursor('mailer').commit(seqs[last])
  t.equal(await log.trim({ lt: seqs[last + 1] }), 3 * BLOCK_SIZE)
  t.deepEqual(await valuesOf(log.cursor('mailer')), names(last + 1, 40))
  await log.cursor('mailer').close()
  t.equal(await log.cursor('mailer').ready(), seqs[last])
  t.deepEqual(await valuesOf(log.cursor('mailer')), names(last + 1, 40))
  await log.close()
})

tape('a cursor that is open goes on at its record when the log is compacted, and what was read before can be committed', async (t) => {
  const { log, file, seqs } = await logWithRecords(t)
  const cursor = log.cursor('mailer')
  const reader = await open(file, { readOnly: true })
  const beside = reader.cursor('indexer')
  const read = [[], []]
  for (const [i, each] of [cursor, beside].entries()) {
    for await (const { seq, value } of each.stream({ limit: 20 })) read[i].push([seq, String(value)])
    await each.commit(read[i][9][0])
  }
  const live = cursor.stream({ live: true, seqs: false })
  t.equal(String((await live.next()).value), 'r0010')
  await log.del([seqs[1], seqs[12], seqs[25]])
  await log.compact()
  const now = await collect(log.flumelog)
  const seqOf = (value) => now.find(record => String(record.value) === value).seq
  t.equal(cursor.seq, seqOf('r0009'))
  t.equal(String((await live.next()).value), 'r0011', 'its streams go on')
  while (reader.id !== log.id) await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(beside.seq, seqOf('r0009'), 'also beside the process that compacts')
  for (const [i, each] of [cursor, beside].entries()) {
    await each.commit(read[i][15][0])
    t.equal(each.seq, seqOf('r0015'))
    t.equal(await codeOf(each.commit(read[i][14][0])), 'flumelog:invalid', 'an earlier one is an earlier one')
    t.deepEqual(await valuesOf(each), [...names(16, 25), ...names(26, 40)])
  }
  await reader.close()
  await log.close()
  const again = await open(file)
  for (const name of ['mailer', 'indexer']) t.deepEqual(await valuesOf(again.cursor(name)), [...names(16, 25), ...names(26, 40)], name)
  await again.close()
})

tape('cursors that nobody holds are moved by each compaction', async (t) => {
  const { log, file, seqs } = await logWithRecords(t)
  await log.cursor('mailer').commit(seqs[9])
  await log.cursor('mailer').close()
  await log.cursor('new').close()
  await log.cursor('held').commit(seqs[5])
  await log.del([seqs[9], seqs[0]])
  for (let i = 0; i < 3; i++) {
    await log.compact()
    await log.append(names(40 + i, 41 + i))
  }
  const now = await collect(log.flumelog)
  const seqOf = (value) => now.find(record => String(record.value) === value).seq
  const expected = [{ name: 'held', seq: seqOf('r0005'), held: true }, { name: 'mailer', seq: seqOf('r0008'), held: false }, { name: 'new', seq: -1, held: false }]
  t.deepEqual(await log.cursors(), expected, 'of a record that is gone, to the one before it')
  t.deepEqual(await valuesOf(log.cursor('mailer')), names(10, 43))
  t.deepEqual(await valuesOf(log.cursor('held')), [...names(6, 9), ...names(10, 43)])
  t.deepEqual(await valuesOf(log.cursor('new')), [...names(1, 9), ...names(10, 43)])
  await log.close()
  const again = await open(file)
  t.deepEqual(await valuesOf(again.cursor('held')), [...names(6, 9), ...names(10, 43)])
  await again.close()
})

tape('a cursor that a killed process has left where it was before a compaction is moved when it is opened; after two, it says so', async (t) => {
  const { log, file, seqs } = await logWithRecords(t)
  await log.cursor('mailer').commit(seqs[9], { sync: true })
  await log.cursor('mailer').close()
  const before = fs.readFileSync(file + '.cursor-mailer')
  await log.compact()
  await log.close()

  fs.writeFileSync(file + '.cursor-mailer', before)
  let again = await open(file)
  t.ok((await again.cursors())[0].seq > seqs[39])
  t.deepEqual(await valuesOf(again.cursor('mailer')), names(10, 40))
  await again.cursor('mailer').close()
  const { position } = await require('../../lib/cursors/cursor-file').readCursor(file + '.cursor-mailer')
  t.equal(position.id, again.id, 'and its file says so')

  fs.writeFileSync(file + '.cursor-mailer', before)
  await again.compact()
  t.deepEqual(await valuesOf(again.cursor('mailer')), names(10, 40), 'or before the next compaction')
  await again.close()

  fs.writeFileSync(file + '.cursor-mailer', before)
  again = await open(file)
  t.equal(await codeOf(valuesOf(again.cursor('mailer'))), 'flumelog:invalid')
  await again.cursor('mailer').commit((await collect(again.flumelog))[20].seq)
  t.deepEqual(await valuesOf(again.cursor('mailer')), names(21, 40))
  await again.close()
})

for (const compactions of [0, 1]) {
  tape(`a reader that has not heard of the last of ${compactions + 1} compactions gives a cursor what comes after it in the log as it is now`, async (t) => {
    const { log, file, seqs } = await logWithRecords(t)
    await log.cursor('new').close()
    const cursor = log.cursor('mailer')
    await cursor.commit(seqs[0])
    for (let i = 0; i < compactions; i++) await log.compact()
    const reader = wrap(createLog({ ...pathFile(file, { readOnly: true, lock: false }), watch: noWatch }, settingsOf({ readOnly: true })))
    await collect(reader.flumelog)
    await log.del(cursor.seq)
    await log.compact()
    await cursor.close()
    for (const name of ['mailer', 'new']) t.deepEqual(await valuesOf(reader.cursor(name)), names(1, 40), name)
    t.equal(reader.id, log.id)
    await reader.close()
    await log.close()
  })
}

tape('commits that are called while the log is compacted are of the records that they were for', async (t) => {
  const { log, file, seqs } = await logWithRecords(t, 400)
  const cursor = log.cursor('mailer')
  await log.del(seqs[3])
  const compacting = log.compact()
  const commits = []
  const state = { isOver: false }
  compacting.then(() => { state.isOver = true })
  for (const seq of seqs.slice(0, -2)) {
    commits.push(cursor.commit(seq))
    if (commits.length % 3 === 0) await new Promise(resolve => setImmediate(resolve))
    if (state.isOver) break
  }
  const last = commits.length
  await compacting
  await Promise.all(commits)
  for (const seq of seqs.slice(last, last + 2)) await cursor.commit(seq)
  await log.close()
  const again = await open(file)
  t.deepEqual(await valuesOf(again.cursor('mailer')), names(last + 2, 400))
  await again.close()
})

/**
 * A read-only log that has no block in memory, beside the one that writes the file.
 * @param {string} file
 * @returns its reads of a record, and its fsyncs of the log, wait while there is a gate
 */
function gatedReader (file, isReadGated = true) {
  const made = pathFile(file, { readOnly: true, lock: false })
  const gate = { isWaiting: false, open: () => {}, close: () => {} }
  let opened = Promise.resolve()
  gate.close = () => {
    gate.isWaiting = false
    opened = new Promise(resolve => { gate.open = resolve })
  }
  const pass = async (run) => {
    gate.isWaiting = true
    await opened
    run()
  }
  const { readSmall, sync } = made
  const log = wrap(createLog(Object.assign(made, {
    // what the reader needs to follow compactions, too
    readSmall: (offset, size, isShared, cb) => isReadGated ? pass(() => readSmall(offset, size, isShared, cb)) : readSmall(offset, size, isShared, cb),
    sync: (cb) => pass(() => sync(cb))
  }), settingsOf({ readOnly: true, cacheSize: 0 })))
  return { log, gate }
}

tape('a commit beside the writer is stored if its record is read from the file while the log is compacted', async (t) => {
  for (const times of [1, 2]) {
    const { log, file, seqs } = await logWithRecords(t)
    const { log: reader, gate } = gatedReader(file)
    const cursor = reader.cursor('mailer')
    await cursor.commit(seqs[9])
    gate.close()
    const committed = cursor.commit(seqs[20])
    await until(() => gate.isWaiting)
    for (let i = 0; i < times; i++) {
      if (i === 0) await log.del(seqs[3])
      await log.compact()
      await until(() => reader.id === log.id)
    }
    gate.open()
    await committed
    const { seq } = (await collect(log.flumelog)).find(({ value }) => String(value) === 'r0020')
    t.equal(cursor.seq, seq, `${times} compactions`)
    t.deepEqual(await valuesOf(cursor), names(21, 40))
    await reader.close()
    t.deepEqual(await valuesOf(log.cursor('mailer')), names(21, 40), 'it is stored')
    await log.close()
  }
})

tape('a cursor beside the writer follows compactions faster than it can store where they have moved it', async (t) => {
  const { log, file, seqs } = await logWithRecords(t)
  const { log: reader, gate } = gatedReader(file, false)
  const cursor = reader.cursor('mailer')
  await cursor.commit(seqs[9])
  gate.close()
  for (let i = 0; i < 3; i++) {
    await log.compact()
    await until(() => reader.id === log.id)
    await log.append(names(40 + i, 41 + i))
  }
  const { seq } = (await collect(log.flumelog)).find(({ value }) => String(value) === 'r0009')
  t.equal(cursor.seq, seq)
  gate.open()
  t.deepEqual(await valuesOf(cursor, { limit: 30 }), names(10, 40))
  await reader.close()
  t.deepEqual(await valuesOf(log.cursor('mailer')), names(10, 43))
  await log.close()
})

tape('a cursor of a log with large records is at whole records, also after a compaction', async (t) => {
  const file = testFolder(t)('log')
  let log = await open(file, { blockSize: 256, large: true })
  const records = ['a', 'b'.repeat(1000), 'c', 'd'.repeat(3000), 'e'.repeat(1000), 'f']
  for (const record of records) await log.append(record)
  const cursor = log.cursor('mailer')
  for await (const { seq, value } of cursor.stream({ limit: 4 })) {
    await cursor.commit(seq)
    const rest = records.slice(records.indexOf(String(value)) + 1)
    t.deepEqual(await valuesOf(cursor), rest)
  }
  await log.del(0)
  await log.compact()
  t.deepEqual(await valuesOf(cursor), records.slice(4))
  await log.close()
  log = await open(file, { large: true })
  t.deepEqual(await valuesOf(log.cursor('mailer')), records.slice(4))
  await log.close()
})

tape('a cursor whose record lies in a hole goes on behind it, and records there can be committed', async (t) => {
  const { log, file, seqs } = await logWithRecords(t)
  await log.cursor('mailer').commit(seqs[6])
  await log.del(seqs.slice(0, 20))
  await makeHoles(log.flumelog)
  t.deepEqual(await valuesOf(log.cursor('mailer')), names(20, 40))
  await log.cursor('mailer').commit(seqs[7])
  await log.close()
  const again = await open(file)
  t.deepEqual(await valuesOf(again.cursor('mailer')), names(20, 40))
  t.equal(again.cursor('mailer').seq, seqs[7])
  await again.close()
})
