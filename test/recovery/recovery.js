'use strict'

// Opening a log that was not closed: how much of it is read, what is changed, and what is
// reported.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const FlumeLog = require('../..')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { Disk, randomFrom } = require('../helpers/disk')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')

const MIB = 1024 * 1024
const SYNC_BYTES = 2 * MIB

tape('opening after a crash reads little more than syncBytes, whatever the size of the log', async (t) => {
  for (const size of [4 * MIB, 40 * MIB]) {
    const disk = new Disk({ random: randomFrom(size) })
    const log = open(disk, { syncBytes: SYNC_BYTES })
    await fill(log, size)
    const after = disk.afterPowerLoss()
    const read = countReads(after)
    const again = open(after, { syncBytes: SYNC_BYTES })
    await again.onReady()
    t.ok(read.bytes < 2 * SYNC_BYTES, `${size / MIB} MiB: ${read.bytes} bytes were read`)
    await again.close()
  }
})

tape('opening a log that was closed reads a few blocks', async (t) => {
  const disk = new Disk()
  const log = open(disk, {})
  await fill(log, 20 * MIB)
  await log.close()
  const read = countReads(disk)
  const again = open(disk, {})
  await again.onReady()
  t.ok(read.bytes <= 4 * 65536, `${read.bytes} bytes were read`)
  await again.close()
})

tape('a log that lost its first block in a crash starts empty, and the remaining bytes are kept', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('one')
  const point = fs.readFileSync(file + '.recovery-point')
  await log.close()
  fs.writeFileSync(file, Buffer.alloc(200000))
  t.equal(await promises(FlumeLog(file)).onReady().catch(err => err.code), 'flumelog:corrupt', 'without a recovery point it could be any file')
  fs.writeFileSync(file + '.recovery-point', point)
  const again = promises(FlumeLog(file))
  t.deepEqual(await again.onReady(), { offset: 0, bytes: 200000, filename: file + '.cut-0' })
  t.equal(await again.append('a new one'), 0)
  await again.close()
})

tape('truncated bytes are kept in a file next to the log, and onReady and stats report them', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('one')
  await log.append('two')
  await log.close()
  const whole = fs.statSync(file).size
  const torn = Buffer.from([100, 0, 1, 2, 3])
  fs.appendFileSync(file, torn)

  const again = promises(FlumeLog(file))
  const cut = await again.onReady()
  t.deepEqual(cut, { offset: whole, bytes: torn.length, filename: `${file}.cut-${whole}` })
  t.deepEqual(again.log.stats().cut, cut)
  t.deepEqual(fs.readFileSync(cut.filename), torn, 'the bytes are in that file')
  t.equal(fs.statSync(file).size, whole)
  t.equal(String(await again.get(7)), 'two')
  await again.append('three')
  await again.close()

  fs.appendFileSync(file, Buffer.from([1]))
  const third = promises(FlumeLog(file))
  t.equal((await third.onReady()).bytes, 1, 'it can happen again')
  await third.close()
  fs.truncateSync(file, whole)
  fs.appendFileSync(file, torn)
  const fourth = promises(FlumeLog(file))
  t.equal((await fourth.onReady()).filename, `${file}.cut-${whole}.2`, 'and an earlier cut is not overwritten')
  await fourth.close()
})

tape('opening a log read-only does not change it', async (t) => {
  const folder = testFolder(t)
  const file = folder('log')
  const log = promises(FlumeLog(file, { blockSize: 256 }))
  for (let i = 0; i < 50; i++) await log.append(`record number ${i}`)
  await log.close()
  fs.appendFileSync(file, Buffer.from([100, 0, 1, 2, 3]))
  fs.writeFileSync(file + '.recovery-point', '00000000 {"offset":0,"rewrites":[]}\n')
  const before = contents(folder('.'))

  const reader = promises(FlumeLog(file, { readOnly: true }))
  await reader.onReady()
  t.equal(String(await reader.get(reader.log.since.value)), 'record number 49')
  t.equal(await reader.append('no').catch(err => err.code), 'flumelog:read-only')
  t.equal(await reader.del(0).catch(err => err.code), 'flumelog:read-only')
  await reader.sync()
  await reader.close()
  t.deepEqual(contents(folder('.')), before)
})

tape('an interrupted deletion is completed on opening, and visible to read-only logs', async (t) => {
  for (let seed = 1; seed < 40; seed++) {
    const disk = new Disk({ random: randomFrom(seed), pageSize: 64 })
    const log = open(disk, { blockSize: 1024 })
    const seqs = []
    for (let i = 1; i < 100; i++) seqs.push(await log.append(Buffer.alloc(200, i)))
    await log.sync()
    disk.kinds = ['write']
    disk.operations = 0
    disk.plan.set(1, 'off')
    log.log.del([seqs[4], seqs[5]], () => t.fail('it was not interrupted'))
    await disk.off
    const after = disk.afterPowerLoss()
    const images = after.points[0].rewrites
    if (images.length === 0) t.fail('no image was kept')

    const reader = promises(createLog(after.file('log'), settingsOf({ readOnly: true })))
    for (const log of [reader, open(after, {})]) {
      for (const [i, seq] of seqs.entries()) {
        const found = await log.get(seq).catch(err => err.code)
        const expected = i === 4 || i === 5 ? 'flumelog:deleted' : Buffer.alloc(200, i + 1)
        // for a reader, a block that the rewriting has not touched is as before
        if (log === reader && found.length === 200 && Buffer.alloc(200, i + 1).equals(found)) continue
        if (String(found) !== String(expected)) t.fail(`seed ${seed}, record ${i}: ${found}`)
      }
      await log.close()
    }
  }
  t.pass('so it is')
})

function open (disk, options) {
  return promises(createLog(disk.file('log'), settingsOf(options)))
}

async function fill (log, size) {
  const value = Buffer.alloc(1000, 1)
  for (let done = 0; done < size; done += 500 * 1000) await log.append(Array.from({ length: 500 }, () => value))
}

function countReads (disk) {
  const counted = { bytes: 0 }
  const file = disk.file.bind(disk)
  disk.file = (name) => {
    const made = file(name)
    return { ...made, read: (offset, size, cb) => { counted.bytes += size; made.read(offset, size, cb) } }
  }
  return counted
}

function contents (folder) {
  return fs.readdirSync(folder).sort().map(name => [name, fs.readFileSync(path.join(folder, name)).toString('hex')])
}
