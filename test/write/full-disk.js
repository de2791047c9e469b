'use strict'

// A full disk, and a limit on file size: exactly the acknowledged records are stored, and
// appending works again when there is room.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const { randomBytes } = require('crypto')
const { spawnSync } = require('child_process')
const FlumeLog = require('../..')
const { filesIn, testFolder } = require('../helpers/folder')
const { published } = require('../helpers/followers')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { start } = require('../helpers/processes')
const { numbered, numberOf, isIntact } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { collect, codeOf } = require('../helpers/reading')

const SYNCS = [{ sync: 'always' }, { sync: 'interval', syncInterval: 1 }, { sync: 'interval', syncBytes: 20000 }, { sync: 'never' }]
/** Block sizes, smaller and larger than pages of the disk. */
const BLOCK_SIZES = [1024, 65536]

const onSmallDisk = (name, test) => tape(name, { skip: noSmallDisk === null ? false : `no small disk: ${noSmallDisk}` }, test)

if (noSmallDisk !== null) console.log(`# no small disk can be mounted here: ${noSmallDisk}`)

for (const blockSize of BLOCK_SIZES) {
  for (const sync of SYNCS) {
    const name = `blocks of ${blockSize}, ${JSON.stringify(sync)}`

    onSmallDisk(`a full disk loses nothing that was acknowledged, and appending goes on when there is room: ${name}`, async (t) => {
      const disk = smallDisk(t)
      const file = disk.file('log')
      disk.leave(300000)
      const log = promises(FlumeLog(file, { blockSize, validate: isIntact, ...sync }))
      const writer = numbering(log)
      await writer.untilFull()
      t.deepEqual([...writer.codes], ['ENOSPC'], 'what does not fit gets ENOSPC')
      t.ok(writer.acknowledged.length > 50, 'after much that fitted')
      t.deepEqual(await numbersIn(log), writer.acknowledged, 'what was acknowledged is there, and nothing else')

      for (let i = 0; i < 3; i++) await writer.untilFull()
      t.deepEqual([...writer.codes], ['ENOSPC'], 'so it is when it is tried again')
      t.deepEqual(await numbersIn(log), writer.acknowledged, 'and again')
      t.equal(log.log.since.value, writer.lastSeq, 'since is the last one acknowledged')

      disk.makeRoom()
      await writer.burst()
      t.equal(writer.acknowledged.at(-1), writer.made, 'with room there is no error')
      await log.close()
      await isWhole(t, file, writer.acknowledged)
    })
  }
}

onSmallDisk('nothing is stored of a batch that does not fit', async (t) => {
  const disk = smallDisk(t)
  const file = disk.file('log')
  disk.leave(100000)
  const log = promises(FlumeLog(file))
  const batch = (from, count) => Array.from({ length: count }, (_, i) => numbered(from + i, 1000))
  await log.append(batch(1, 20))
  t.equal(await codeOf(log.append(batch(100, 500))), 'ENOSPC', 'it gets ENOSPC')
  t.equal(await codeOf(log.append(batch(100, 5000))), 'ENOSPC', 'also if it takes several writes')
  t.deepEqual(await numbersIn(log), numbersUpTo(20), 'the log ends with the one before')
  await log.append(batch(21, 5))
  t.deepEqual(await numbersIn(log), numbersUpTo(25), 'what fits is stored')
  await log.close()
  await isWhole(t, file, numbersUpTo(25))
})

onSmallDisk('a deletion on a full disk deletes the record, or leaves it intact', async (t) => {
  for (const room of [0, 4096, 16384, 65536, 131072]) {
    const disk = smallDisk(t)
    const file = disk.file('log')
    const log = promises(FlumeLog(file, { blockSize: 65536 }))
    const seqs = [await log.append(numbered(1, 1000))]
    while (seqs.length < 200) seqs.push(await log.append(numbered(seqs.length + 1, 1000)))
    await log.sync()
    await published(file, seqs.at(-1))
    disk.leave(room)

    const left = numbersUpTo(200)
    const outcomes = new Set()
    for (const number of [1, 70, 199, 200]) {
      const outcome = await log.del(seqs[number - 1]).then(() => 'deleted', err => err.code)
      outcomes.add(outcome)
      if (outcome === 'deleted') left.splice(left.indexOf(number), 1)
      t.deepEqual(await numbersIn(log), left, `with ${room} bytes of room: ${outcome}`)
    }
    for (const outcome of outcomes) t.ok(['deleted', 'ENOSPC'].includes(outcome), outcome)
    t.equal(await numbersIn(promises(FlumeLog(file, { readOnly: true }))).then(String), String(left), 'a reader sees the same')
    await isWhole(t, copyOf(t, file), left, 'if the process were killed now')

    disk.makeRoom()
    for (const number of [1, 70, 200]) await log.del(seqs[number - 1])
    const rest = left.filter(number => ![1, 70, 200].includes(number))
    t.deepEqual(await numbersIn(log), rest, 'with room every deletion is done')
    await log.close()
    await isWhole(t, file, rest)
    t.deepEqual(filesIn(path.dirname(file)), ['log'], 'and nothing else is left beside the log')
  }
})

onSmallDisk('a log created on a full disk accepts records when there is room', async (t) => {
  const disk = smallDisk(t)
  const file = disk.file('log')
  disk.leave(0)
  const log = promises(FlumeLog(file))
  await log.onReady()
  t.equal(await codeOf(log.append(numbered(1, 100))), 'ENOSPC', 'not while it is full')
  t.deepEqual(await numbersIn(log), [], 'it stays empty')
  disk.makeRoom()
  await log.append(numbered(2, 100))
  t.deepEqual(await numbersIn(log), [2], 'then it goes on')
  await log.close()
  await isWhole(t, file, [2])
})

onSmallDisk('a log can be closed on a full disk', async (t) => {
  const disk = smallDisk(t)
  const file = disk.file('log')
  disk.leave(200000)
  const log = promises(FlumeLog(file))
  const writer = numbering(log)
  await writer.untilFull()
  t.equal(await codeOf(log.close().then(() => 'closed')), 'no error, but "closed"', 'it closes')
  await isWhole(t, file, writer.acknowledged)
})

onSmallDisk('recovery on a full disk keeps all truncated bytes, or does not truncate', async (t) => {
  for (const room of [0, 8192, 40960]) {
    const disk = smallDisk(t)
    const file = disk.file('log')
    const log = promises(FlumeLog(file))
    // with one, and random bytes after it, it could be any file
    for (const number of [1, 2, 3]) await log.append(numbered(number, 100))
    await log.close()
    const torn = randomBytes(50000)
    fs.appendFileSync(file, torn)
    const before = fs.readFileSync(file)
    disk.leave(room)
    t.equal(await codeOf(promises(FlumeLog(file)).onReady()), 'ENOSPC', `with ${room} bytes of room it cannot be kept, so the log cannot be opened`)
    t.ok(fs.readFileSync(file).equals(before), 'the file is as it was')
    t.deepEqual(filesIn(path.dirname(file)), ['filler', 'log'], 'and no part of it lies around')
    t.deepEqual(await numbersIn(promises(FlumeLog(file, { readOnly: true }))), [1, 2, 3], 'it can be read')

    disk.makeRoom()
    const again = promises(FlumeLog(file))
    const cut = await again.onReady()
    t.ok(fs.readFileSync(cut.filename).equals(torn), 'with room it is kept')
    t.deepEqual(await numbersIn(again), [1, 2, 3], 'and the log opens')
    await again.close()
  }
})

onSmallDisk('recovery on a full disk seals a corrupt tail completely, or not at all', async (t) => {
  const disk = smallDisk(t)
  const file = disk.file('log')
  const log = promises(FlumeLog(file))
  for (let number = 1; number <= 10; number++) await log.append(numbered(number, 1000))
  await log.close()
  const bytes = fs.readFileSync(file)
  bytes[4 * 1004] ^= 1
  fs.writeFileSync(file, bytes)
  disk.leave(8192)
  t.equal(await codeOf(promises(FlumeLog(file)).onReady()), 'ENOSPC', 'there is no room for its padding')
  t.ok(fs.readFileSync(file).equals(bytes), 'the file is as it was')
  disk.makeRoom()
  const again = promises(FlumeLog(file))
  await again.onReady()
  t.ok(fs.readFileSync(file).subarray(0, bytes.length).equals(bytes), 'with room nothing of it is lost either')
  await again.append(numbered(11, 1000))
  t.equal(await codeOf(collect(again.log)), 'flumelog:corrupt', 'it is damaged still')
  t.deepEqual((await collect(again.log, { seqs: false, skipCorrupt: true })).map(numberOf), [11], 'and the log goes on behind it')
  await again.close()
})

const limited = process.platform === 'win32' ? 'no ulimit here' : false

for (const blockSize of BLOCK_SIZES) {
  for (const sync of SYNCS) {
    tape(`a file at its size limit loses nothing acknowledged: blocks of ${blockSize}, ${JSON.stringify(sync)}`, { skip: limited }, async (t) => {
      const file = testFolder(t)('log')
      // not a multiple of the record or block size: the last write succeeds in part
      const program = start(t, 'append-to-limit.js', { file, options: { blockSize, ...sync } }, { shell: 'ulimit -S -f 150' })
      const first = await program.message(({ what }) => what === 'failed')
      t.equal(first.code, 'EFBIG', 'what does not fit gets EFBIG')
      t.ok(first.number > 100, 'after much that fitted')
      let shown = []
      // the writer tells readers in the turn after the one in which it tells the caller
      while (shown.length < first.number) {
        const reader = promises(FlumeLog(file, { readOnly: true }))
        shown = await numbersIn(reader)
        await reader.close()
      }
      t.deepEqual(shown, numbersUpTo(first.number), 'what was acknowledged is there, and nothing else')

      program.send({ count: 1 })
      await program.message(message => message !== first && message.code === 'EFBIG' && message.number === first.number)
      t.pass('so it is when it is tried again')

      let number = first.number
      if (spawnSync('prlimit', ['--pid', String(program.child.pid), '--fsize=unlimited']).status === 0) {
        number += 100
        program.send({ count: 100 })
        await program.message(({ what }) => what === 'appended')
        t.pass('when it may grow, appending goes on')
      } else t.comment('the limit of a running process cannot be changed here')
      program.send({ close: true })
      await program.message(({ what }) => what === 'closed')
      await isWhole(t, file, numbersUpTo(number))
    })
  }
}

/** Appends numbered records, and tracks the result of each. */
function numbering (log) {
  const writer = {
    made: 0,
    lastSeq: -1,
    acknowledged: [],
    codes: new Set(),

    /** Several calls at a time: single records and batches. */
    async burst () {
      let failed = 0
      await Promise.all(Array.from({ length: 10 }, async (_, i) => {
        const numbers = Array.from({ length: i % 4 === 3 ? 5 : 1 }, () => ++writer.made)
        const records = numbers.map(number => numbered(number, 8 + number * 37 % 1500 % 900))
        try {
          const seq = await log.append(records.length === 1 ? records[0] : records)
          if (failed > 0) throw new Error('an append is acknowledged after one before it failed')
          writer.acknowledged.push(...numbers)
          writer.lastSeq = seq
        } catch (err) {
          if (err.code === undefined) throw err
          failed++
          writer.codes.add(err.code)
        }
      }))
      return failed
    },

    async untilFull () {
      while (await writer.burst() === 0);
    }
  }
  return writer
}

const numbersIn = async ({ log }) => (await collect(log, { seqs: false })).map((value) => {
  if (!isIntact(value)) throw new Error('a record is not whole')
  return numberOf(value)
})

const numbersUpTo = (last) => Array.from({ length: last }, (_, i) => i + 1)

/** A file that is opened again has these records, and nothing is cut off it. */
async function isWhole (t, file, numbers, when = 'opened again') {
  const log = promises(FlumeLog(file))
  t.notOk(await log.onReady(), `${when}, the file has nothing torn`)
  t.deepEqual(await numbersIn(log), numbers, `${when}, the log is whole`)
  t.equal(fs.statSync(file).size, log.log.stats().size, 'and there is nothing behind its end')
  await log.close()
}

/** Copies the log and its other files to another disk. */
function copyOf (t, file) {
  const copy = testFolder(t)('copy')
  for (const suffix of ['', '.meta', '.meta.new']) {
    if (fs.existsSync(file + suffix)) fs.copyFileSync(file + suffix, copy + suffix)
  }
  return copy
}
