'use strict'

// Backups of logs that are written meanwhile.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { openOffsetMap, restore, verify } = require('../../maintenance')
const { open, wrap } = require('../../promises')
const { SourceLog } = require('../../lib/backup/source-log')
const { BlockLoader } = require('../../lib/read/block-loader')
const { createLog, logBehind } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { OffsetMap } = require('../../lib/space/offset-map')
const { MetadataFile } = require('../../lib/storage/metadata-file')
const { pathFile } = require('../../lib/storage/path-file')
const { noWatch } = require('../helpers/followers')
const { filesIn, noListOfOpenFiles, openFilesIn, testFolder } = require('../helpers/folder')
const { makeHoles } = require('../helpers/holes')
const { makeLog, overwrite } = require('../helpers/logs')
const { collect, until } = require('../helpers/reading')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { thorough } = require('../helpers/thorough')

/** @returns {Promise<Map<number, string>>} the records of a log that nobody writes */
async function recordsIn (file) {
  const { valid, closed } = await verify(file)
  if (!valid || !closed) throw new Error(`${file} is not a valid log that was closed`)
  const log = await open(file, { readOnly: true })
  const records = new Map()
  for await (const { seq, value } of log.stream()) records.set(seq, String(value))
  await log.close()
  return records
}

const lines = (count, from = 0) => Array.from({ length: count }, (_, i) => `record ${from + i} ${'x'.repeat(i % 90)}`)

async function seqsOf (log) {
  const seqs = []
  for await (const seq of log.stream({ values: false })) seqs.push(seq)
  return seqs
}

async function valuesOf (log) {
  const values = []
  for await (const value of log.stream({ seqs: false })) values.push(String(value))
  return values
}

/**
 * @param {any} log
 * @param {() => Promise<void>} run called before each read of blocks by a backup
 * @returns {() => void} ends that
 */
function beforeReads (log, run) {
  const { blocks: { loader } } = logBehind(log.flumelog ?? log).state.opened
  loader.load = async (first, count, options, cb) => {
    if (options.cacheShare === 0 && !options.isSingle) await run()
    BlockLoader.prototype.load.call(loader, first, count, options, cb)
  }
  return () => { delete loader.load }
}

/** A client of a shared log, whose inner parts a test can reach. */
async function clientOf (file) {
  const settings = settingsOf({ shared: true })
  const client = createLog(pathFile(file, { ...settings, lock: false }), settings)
  await new Promise(resolve => client.onReady(resolve))
  return client
}

async function rejects (t, promise, code, pattern, what) {
  const err = await promise.then(() => null, err => err)
  t.equal(err?.code, code, `${what}: ${err?.message}`)
  t.match(err?.message ?? '', pattern, what)
}

test('a backup of a log that is open is a valid log that was closed, with the same bytes', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'))
  await log.append(lines(3000))
  const result = await log.backup(file('new/folder/backup'))
  t.deepEqual(result, { bytes: log.stats().size, start: 0, copied: log.stats().size, incremental: false })
  t.deepEqual(filesIn(file('new/folder')), ['backup'], 'and nothing is beside it')
  t.equal((await recordsIn(file('new/folder/backup'))).size, 3000)
  await log.close()
  t.ok(fs.readFileSync(file('log')).equals(fs.readFileSync(file('new/folder/backup'))))
  if (process.platform !== 'win32') {
    fs.chmodSync(file('log'), 0o640)
    const again = await open(file('log'))
    await again.backup(file('mode'))
    t.equal(fs.statSync(file('mode')).mode & 0o777, 0o640, 'and the permissions')
    await again.close()
  }
})

test('a second backup copies what is new, and writes nothing if nothing has changed', async (t) => {
  for (const checksum of [true, false]) {
    const file = testFolder(t)
    const log = await open(file('log'), { checksum, blockSize: 1024 })
    await log.append(lines(5000))
    await log.backup(file('backup'))
    const { size } = log.stats()
    await log.append(lines(2000, 5000))
    const { bytes, copied, incremental } = await log.backup(file('backup'))
    t.deepEqual({ bytes, copied, incremental }, { bytes: log.stats().size, copied: log.stats().size - size, incremental: true })
    const { mtimeMs } = fs.statSync(file('backup'))
    t.deepEqual(await log.backup(file('backup')), { bytes, start: 0, copied: 0, incremental: true })
    t.equal(fs.statSync(file('backup')).mtimeMs, mtimeMs, 'it was not touched')
    await log.close()
    t.ok(fs.readFileSync(file('log')).equals(fs.readFileSync(file('backup'))), 'byte for byte')
    t.deepEqual(filesIn(file('.')).sort(), ['backup', 'log'])
  }
})

test('a second backup is a full one if records were deleted, in the log or in the backup', async (t) => {
  for (const checksum of [true, false]) {
    const file = testFolder(t)
    const log = await open(file('log'), { checksum, blockSize: 256 })
    await log.append(lines(500))
    await log.backup(file('backup'))
    await log.del((await seqsOf(log)).filter((_, i) => i % 7 === 3))
    await log.append(lines(50))
    t.notOk((await log.backup(file('backup'))).incremental)
    const backup = await open(file('backup'))
    await backup.del((await seqsOf(backup))[50])
    await backup.close()
    t.notOk((await log.backup(file('backup'))).incremental)
    t.ok((await log.backup(file('backup'))).incremental)
    await log.close()
    t.ok(fs.readFileSync(file('log')).equals(fs.readFileSync(file('backup'))), 'byte for byte')
  }
})

test('an empty log, one that is read only, and one that is not open yet are backed up, too', async (t) => {
  const file = testFolder(t)
  const empty = FlumeLog(file('empty'))
  t.equal((await new Promise((resolve, reject) => empty.backup(file('backup'), (err, done) => err ? reject(err) : resolve(done)))).bytes, 0)
  await new Promise(resolve => empty.append('one', resolve))
  t.equal((await new Promise((resolve, reject) => empty.backup(file('backup'), {}, (err, done) => err ? reject(err) : resolve(done)))).bytes, 7, 'and then it is not empty any more')
  const reader = await open(file('empty'), { readOnly: true })
  t.equal((await reader.backup(file('by a reader'))).bytes, 7)
  t.equal((await reader.backup(file('backup'))).copied, 0, 'the reader finds nothing new')
  await new Promise(resolve => empty.close(resolve))
  await reader.close()
  await rejects(t, reader.backup(file('closed')), 'flumelog:closed', /closed/, 'a closed log')
})

test('owner and client of a shared log make the same backup', async (t) => {
  const file = testFolder(t)
  const owner = await open(file('log'), { shared: true })
  const client = await open(file('log'), { shared: true })
  await client.append(lines(2000))
  await client.backup(file('by the client'))
  await owner.backup(file('by the owner'))
  t.equal(client.role, 'client')
  const seq = (await seqsOf(client))[100]
  await client.del(seq)
  await client.append('new')
  for (const log of [client, owner]) await log.backup(file(`by the ${log.role}`))
  await client.close()
  await owner.close()
  for (const name of ['by the client', 'by the owner']) t.ok(fs.readFileSync(file(name)).equals(fs.readFileSync(file('log'))), name)
})

test('a target that is no backup of the log is refused, and left as it is', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 256 })
  await log.append(lines(100))
  await makeLog(file('other'), lines(20, 7), { blockSize: 256 })
  await makeLog(file('other blocks'), lines(40), { blockSize: 1024 })
  await makeLog(file('longer'), lines(200), { blockSize: 256 })
  await makeLog(file('open'), lines(10), { blockSize: 256 })
  fs.writeFileSync(file('text'), 'not a log at all, but something else'.repeat(10))
  fs.writeFileSync(file('stale.meta'), 'not of a log')
  fs.mkdirSync(file('folder'))
  fs.symlinkSync(file('log'), file('link'))
  const holder = await open(file('open'))
  const before = new Map(['other', 'other blocks', 'longer', 'text', 'open'].map(name => [name, fs.readFileSync(file(name))]))
  await rejects(t, log.backup(file('other')), 'flumelog:invalid', /not a backup of .*: another record is at offset 0/, 'another log')
  await rejects(t, log.backup(file('other blocks')), 'flumelog:invalid', /blocks of 1024 bytes, the log of 256/, 'other blocks')
  await rejects(t, log.backup(file('longer')), 'flumelog:invalid', /bytes, the log has/, 'a longer log')
  await rejects(t, log.backup(file('text')), 'flumelog:not-a-log', /not a log/, 'text')
  await rejects(t, log.backup(file('open')), 'flumelog:locked', /another program/, 'a log that is open')
  await rejects(t, log.backup(file('log')), 'flumelog:invalid', /the log itself/, 'the log')
  await rejects(t, log.backup(file('link')), 'flumelog:invalid', /the log itself/, 'a link to it')
  await rejects(t, log.backup(file('folder')), 'EISDIR', /is a directory/, 'a folder')
  await rejects(t, log.backup(file('stale')), 'EEXIST', /stale\.meta/, 'a file that is not of a log')
  await rejects(t, log.backup(''), 'flumelog:invalid', /target/, 'no name')
  await rejects(t, log.backup(file('x'), { fully: true }), 'flumelog:invalid', /`full`/, 'an unknown option')
  for (const [name, bytes] of before) t.ok(fs.readFileSync(file(name)).equals(bytes), `${name} is as it was`)
  await holder.close()
  await log.backup(file('other'), { full: true })
  t.equal((await recordsIn(file('other'))).size, 100, '`full` replaces another log')
  await log.close()
})

test('what is trimmed in the log takes no space in a backup, the first and the next one', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 4096 })
  await log.append(lines(20000))
  await log.backup(file('earlier'))
  const seqs = await seqsOf(log)
  const start = await log.trim({ lt: seqs[15000] })
  await log.append(lines(100, 20000))
  const { copied } = await log.backup(file('first'))
  t.ok(copied <= log.stats().size - start, 'only what is left is copied')
  t.notOk((await log.backup(file('earlier'))).incremental)
  await log.append(lines(100))
  for (const name of ['first', 'earlier']) t.ok((await log.backup(file(name))).incremental)
  await log.close()
  for (const name of ['first', 'earlier']) {
    t.ok(fs.readFileSync(file(name)).equals(fs.readFileSync(file('log'))), `${name}: byte for byte`)
    if (log.stats().holes) t.ok(fs.statSync(file(name)).blocks * 512 < log.stats().size / 2, `${name}: sparse`)
  }
})

test('a block of which all is deleted becomes a hole in a backup, too', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'))
  await log.append(lines(20000))
  await log.backup(file('earlier'))
  const seqs = await seqsOf(log)
  await log.del({ gte: seqs[2000], lt: seqs[19000] })
  await makeHoles(log.flumelog)
  await log.append(lines(20000))
  await log.del({ gte: seqs.at(-1) })
  for (const name of ['earlier', 'first']) await log.backup(file(name))
  t.deepEqual(await log.backup(file('earlier')), { bytes: log.stats().size, start: 0, copied: 0, incremental: true })
  const { holes } = log.stats()
  await log.close()
  for (const name of ['first', 'earlier']) {
    t.ok(fs.readFileSync(file(name)).equals(fs.readFileSync(file('log'))), `${name}: byte for byte`)
    if (holes) t.ok(fs.statSync(file(name)).blocks * 512 < fs.statSync(file(name)).size / 2, `${name}: sparse`)
  }
})

test('a backup is valid if the block in which it ends fills up and is deleted meanwhile', async (t) => {
  const { lastPart } = SourceLog.prototype
  t.teardown(() => { SourceLog.prototype.lastPart = lastPart })
  for (const checksum of [true, false]) {
    const file = testFolder(t)
    const log = await open(file('log'), { blockSize: 256, checksum })
    await log.append(lines(20))
    await log.backup(file('earlier'))
    await log.append(lines(100))
    await log.append('the last one')
    for (const name of ['first', 'earlier']) {
      // its last block has two records
      await log.append([...lines(10), 'x'.repeat(200), 'y'.repeat(200), 'one', 'two'])
      const seqs = await seqsOf(log)
      const { size } = log.stats()
      const from = Math.floor(size / 256) * 256
      SourceLog.prototype.lastPart = async function () {
        SourceLog.prototype.lastPart = lastPart
        await log.append(lines(30))
        await log.del({ gte: from, lt: from + 256 })
        await log.sync()
        return lastPart.call(this)
      }
      t.equal((await log.backup(file(name))).bytes, size)
      t.deepEqual([...(await recordsIn(file(name))).keys()], seqs.filter(seq => seq < from), `${name}: all but what is deleted`)
      t.ok(seqs.at(-1) > from, 'the last block had records')
    }
    for (const name of ['first', 'earlier']) {
      await log.backup(file(name))
      t.deepEqual([...(await recordsIn(file(name))).keys()], await seqsOf(log), `${name}: once more`)
    }
    await log.close()
  }
})

test('nothing that was deleted before the call is in a backup, at whatever moment the log is trimmed meanwhile', async (t) => {
  let isOver = false
  let moments = 0
  for (let moment = 1; !isOver; moment++) {
    for (const trimmed of thorough ? [0.3, 0.7, 1] : [0.3, 1]) {
      const file = testFolder(t)
      const log = await open(file('log'), { blockSize: 256 })
      await log.append(lines(40))
      await log.backup(file('backup'))
      const seqs = await seqsOf(log)
      const deleted = seqs.filter((_, i) => i % 4 === 3)
      await log.del(deleted)
      await log.append(lines(20, 40))
      const all = await seqsOf(log)
      let reads = 0
      const stop = beforeReads(log, async () => {
        if (++reads === moment) await log.trim({ lt: trimmed === 1 ? Infinity : all[Math.floor(all.length * trimmed)] })
      })
      await log.backup(file('backup'))
      stop()
      isOver = reads < moment
      moments++
      const found = [...(await recordsIn(file('backup'))).keys()]
      if (found.some(seq => deleted.includes(seq))) t.fail(`a deleted record is there (read ${moment}, ${trimmed})`)
      const missing = all.filter(seq => seq >= log.start && !found.includes(seq))
      if (missing.length > 0) t.fail(`${missing} is missing (read ${moment}, ${trimmed})`)
      await log.close()
    }
  }
  t.ok(moments > 10, `${moments} moments`)
})

test('retention ends no backup, however fast it trims the log: it starts again', async (t) => {
  for (const isReader of [false, true]) {
    const file = testFolder(t)
    const log = await open(file('log'), { blockSize: 512, sync: 'always', retain: { bytes: 5000 } })
    const reader = isReader ? await open(file('log'), { readOnly: true }) : log
    let number = 0
    const append = async (count) => { await log.append(lines(count, number)); number += count }
    await append(200)
    let turns = 0
    const stop = beforeReads(reader, async () => {
      // all of the log is replaced while a block is read
      if (turns >= 8) return
      turns++
      await append(300)
      for (let i = 0; i < 50; i++) await new Promise(setImmediate)
      // others get to know when space is freed, of which there is little
      if (isReader) await log.trim({ lt: 0 })
    })
    for (const name of ['first', 'first', 'second']) {
      turns = 0
      await append(50)
      const before = number
      await until(() => reader.since.value === log.since.value)
      const { bytes } = await reader.backup(file(name))
      const found = [...(await recordsIn(file(name))).values()]
      t.ok(found.length > 0 && bytes > 0, `${found.length} records, after ${turns} turns`)
      const numbers = found.map(line => Number(line.match(/\d+/)[0]))
      const [first] = numbers
      t.deepEqual(numbers, found.map((_, i) => first + i), 'all from its start to its end')
      t.ok(first + found.length >= before, 'and all that was there when it was started')
    }
    stop()
    await append(300)
    // and then retention goes on
    await until(() => log.stats().size - log.start <= 5000 + 4 * 512)
    if (isReader) await reader.close()
    await log.close()
  }
})

test('a reader backs up what the writer has published, though nothing has told it of that yet', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 256 })
  await log.append('first')
  const settings = settingsOf({ readOnly: true })
  const reader = createLog({ ...pathFile(file('log'), settings), watch: noWatch }, settings)
  await new Promise(resolve => reader.onReady(resolve))
  await log.append(lines(20))
  await log.backup(file('backup'))
  const { end } = await new Promise((resolve, reject) => reader.backup(file('backup'), (err, { start, bytes } = {}) => err ? reject(err) : resolve({ end: start + bytes })))
  t.equal(end, log.stats().size)
  await new Promise(resolve => reader.close(resolve))
  await log.close()
})

test('a client of a shared log backs up what the owner has acknowledged, though it was not told of that yet', async (t) => {
  const file = testFolder(t)
  const owner = await open(file('log'), { shared: true })
  const client = await clientOf(file('log'))
  const { follower, writer } = logBehind(client).state.opened
  const { tell } = follower
  const { sync } = writer
  const told = []
  follower.tell = (...end) => told.push(end)
  // it comes in front of the answer
  writer.sync = (cb) => sync.call(writer, (err) => {
    follower.tell = tell
    for (const end of told.splice(0)) follower.tell(...end)
    cb(err)
  })
  await owner.append(lines(20))
  await owner.backup(file('backup'))
  const { bytes } = await new Promise((resolve, reject) => client.backup(file('backup'), (err, result) => err ? reject(err) : resolve(result)))
  t.equal(bytes, owner.stats().size)
  await new Promise(resolve => client.close(resolve))
  await owner.close()
})

test('a client of a shared log that becomes the owner while it makes a backup completes it', async (t) => {
  const file = testFolder(t)
  const owner = await open(file('log'), { shared: true, blockSize: 256 })
  await owner.append(lines(20))
  const client = await clientOf(file('log'))
  await new Promise(resolve => client.getPrevious(owner.stats().size, resolve))
  const stop = beforeReads(client, async () => {
    stop()
    await owner.close()
    await new Promise((resolve, reject) => client.append('more', err => err ? reject(err) : resolve()))
  })
  const before = owner.stats().size
  const { bytes } = await new Promise((resolve, reject) => client.backup(file('backup'), (err, result) => err ? reject(err) : resolve(result)))
  t.equal(client.role, 'owner')
  t.equal(bytes, before)
  await new Promise(resolve => client.close(resolve))
})

test('a backup of which nothing is left in the log is replaced, if it is known to be of this log, is empty, or that is asked for', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 256 })
  await log.append(lines(20))
  await log.backup(file('backup'))
  await log.backup(file('unknown'))
  await makeLog(file('other'), lines(20), { blockSize: 256 })
  fs.copyFileSync(file('backup'), file('copied'))
  fs.copyFileSync(file('other.meta'), file('copied.meta'))
  fs.rmSync(file('unknown.meta'))
  await log.append(lines(100))
  await log.trim({ lt: Infinity })
  const records = new Map(await Promise.all((await seqsOf(log)).map(async seq => [seq, String(await log.get(seq))])))
  for (const name of ['unknown', 'copied']) {
    await rejects(t, log.backup(file(name)), 'flumelog:invalid', /not all of it is in the log/, name)
    t.equal((await recordsIn(file(name))).size, 20, `${name} is as it was`)
    await log.backup(file(name), { full: true })
    t.deepEqual(await recordsIn(file(name)), records)
  }
  fs.writeFileSync(file('empty'), '')
  for (const name of ['backup', 'empty']) {
    t.notOk((await log.backup(file(name))).incremental)
    t.deepEqual(await recordsIn(file(name)), records)
  }
  await log.close()
})

test('a backup of a log that has been compacted since is made anew, and has its id', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 1024 })
  await log.append(lines(3000))
  await log.backup(file('backup'))
  await makeLog(file('other'), lines(2500, 7), { blockSize: 1024 })
  await log.del((await seqsOf(log)).filter((_, i) => i % 2 === 0))
  await log.compact()
  await rejects(t, log.backup(file('other')), 'flumelog:invalid', /not a backup/, 'another log')
  t.notOk((await log.backup(file('backup'))).incremental)
  await log.append('new')
  t.ok((await log.backup(file('backup'))).incremental)
  const backup = await open(file('backup'), { readOnly: true })
  t.equal(backup.id, log.id, 'the same id')
  t.deepEqual(await seqsOf(backup), await seqsOf(log))
  await backup.close()
  const seqs = await seqsOf(log)
  await log.close()
  await restore(file('backup'), file('restored'))
  const restored = await open(file('restored'))
  t.equal(restored.id, log.id, 'also when it is restored')
  t.deepEqual(await seqsOf(restored), seqs)
  await restored.close()
})

test('a backup that replaces an earlier one leaves no file of it open', { skip: noListOfOpenFiles }, async (t) => {
  const folder = testFolder(t)
  const log = await open(folder('log'))
  await log.append(lines(100))
  for (let backups = 0; backups < 3; backups++) {
    await log.backup(folder('copy'))
    await log.compact()
  }
  t.deepEqual(openFilesIn(folder('.')).filter(name => path.basename(name).startsWith('copy')), [])
  await log.close()
})

test('a backup of a log that has been compacted twice since is made anew, unless nothing beside it says that it is one', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 1024 })
  await log.append(lines(3000))
  await log.backup(file('backup'))
  fs.copyFileSync(file('backup'), file('unknown'))
  for (let n = 0; n < 2; n++) {
    await log.del((await seqsOf(log))[0])
    await log.compact()
  }
  await rejects(t, log.backup(file('unknown')), 'flumelog:invalid', /not a backup/, 'without its metadata')
  t.notOk((await log.backup(file('backup'))).incremental)
  t.deepEqual(await recordsIn(file('backup')), new Map(await Promise.all((await seqsOf(log)).map(async seq => [seq, String(await log.get(seq))]))))
  await log.close()
})

test('a log of another program that has not closed it is no backup, and stays as it is', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 256 })
  await log.append(lines(100))
  await makeLog(file('other'), lines(100), { blockSize: 256 })
  const other = await open(file('other'))
  await other.append(lines(10, 100))
  await other.del((await seqsOf(other))[3])
  for (const name of ['other', 'other.meta']) fs.copyFileSync(file(name), file(name.replace('other', 'left')))
  await other.close()
  const before = ['left', 'left.meta'].map(name => fs.readFileSync(file(name), 'latin1'))
  await rejects(t, log.backup(file('left')), 'flumelog:invalid', /not a backup of .* did not close it/, 'refused')
  t.deepEqual(['left', 'left.meta'].map(name => fs.readFileSync(file(name), 'latin1')), before)
  await log.backup(file('left'), { full: true })
  t.equal((await recordsIn(file('left'))).size, 100, '`full` replaces it')
  await log.close()
})

test('a log that is compacted while it is backed up is backed up as it is before, or since', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 1024 })
  await log.append(lines(10000))
  for (let n = 0; n < 4; n++) {
    await log.del((await seqsOf(log)).filter((_, i) => i % 10 === 0))
    const values = await valuesOf(log)
    let compacting = null
    const onProgress = () => { compacting ??= log.compact() }
    await Promise.all([log.backup(file('backup'), n % 2 ? { onProgress } : {}), n % 2 ? null : log.compact()])
    await compacting
    t.deepEqual([...(await recordsIn(file('backup'))).values()], values, `${values.length} records`)
  }
  await log.close()
})

test('a corrupt block ends a backup, and leaves the target as it was', async (t) => {
  const file = testFolder(t)
  await makeLog(file('log'), lines(100), { blockSize: 256 })
  overwrite(file('log'), 600, 'XX')
  const log = await open(file('log'))
  const err = await log.backup(file('backup')).catch(err => err)
  t.equal(err.code, 'flumelog:corrupt', err.message)
  t.equal(err.block, 2)
  t.deepEqual(filesIn(file('.')).sort(), ['log'])
  await log.close()
})

test('a signal ends a backup at any moment, and leaves the target as it was', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'))
  await log.append(lines(60000))
  const steps = []
  /** Ends a backup at its first moment, then at its second, until one is made. */
  const endEach = async (check) => {
    for (let n = 1; ; n++) {
      const stop = new AbortController()
      let calls = 0
      const onProgress = ({ step }) => { if (++calls === n) { steps.push(step); stop.abort(new Error('enough')) } }
      const result = await log.backup(file('backup'), { onProgress, signal: stop.signal }).catch(err => err)
      if (!(result instanceof Error)) return
      t.equal(result.message, 'enough')
      await check()
    }
  }
  await endEach(() => t.deepEqual(filesIn(file('.')).filter(name => !name.startsWith('log')), [], 'nothing is left of the first one'))
  const { size } = log.stats()
  await log.append(lines(30000))
  const isEarlier = async () => t.ok(fs.statSync(file('backup')).size === size && (await recordsIn(file('backup'))).size === 60000, 'the earlier one is there')
  await log.del((await seqsOf(log))[70000])
  await endEach(isEarlier)
  t.deepEqual([...new Set(steps)], ['copy', 'compare'], 'in each step')
  t.equal((await recordsIn(file('backup'))).size, 90000 - 1)
  await log.close()
})

test('what a callback of progress throws ends a backup, and so does a signal, also if the reason is null', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'))
  await log.append(lines(10))
  await rejects(t, log.backup(file('backup'), { onProgress () { throw new Error('no') } }), undefined, /no/, 'thrown')
  for (const options of [{ signal: AbortSignal.abort(null) }, { onProgress () { throw null } }]) { // eslint-disable-line no-throw-literal
    t.equal(await log.backup(file('backup'), options).catch(err => err), null, 'rejected')
    const err = await new Promise(resolve => log.flumelog.backup(file('backup'), options, resolve))
    t.ok(err instanceof Error && err.reason === null, 'a callback gets an error')
  }
  t.notOk(fs.existsSync(file('backup')))
  await log.close()
})

test('a backup in the place of a symbolic link that leads nowhere is refused, with nothing left', { skip: process.platform === 'win32' && 'links need rights there' }, async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'))
  await log.append(lines(10))
  await log.compact()
  fs.symlinkSync(file('nowhere'), file('backup'))
  await rejects(t, log.backup(file('backup')), 'EEXIST', /backup/, 'refused')
  t.deepEqual(filesIn(file('.')).filter(name => !name.startsWith('log')), ['backup'])
  await log.close()
})

test('a backup that does not get its name leaves nothing', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'))
  await log.append(lines(10))
  await log.compact()
  const { renameSync } = fs
  t.teardown(() => { fs.renameSync = renameSync })
  fs.renameSync = (from, to) => {
    renameSync(from, to)
    // when all is copied, another program makes a file of the name
    if (to.endsWith('backup.meta')) fs.writeFileSync(file('backup'), 'other')
  }
  await rejects(t, log.backup(file('backup')), 'EEXIST', /backup/, 'refused')
  t.deepEqual(filesIn(file('.')).filter(name => !name.startsWith('log')), ['backup'])
  t.equal(fs.readFileSync(file('backup'), 'utf8'), 'other')
  await log.close()
})

test('a full disk leaves nothing of a first backup, and the earlier one of another', { skip: noSmallDisk && `no disk: ${noSmallDisk}` }, async (t) => {
  const file = testFolder(t)
  const disk = smallDisk(t)
  const log = await open(file('log'))
  await log.append(lines(5000))
  await log.backup(disk.file('backup'))
  const records = await recordsIn(disk.file('backup'))
  await log.append(lines(30000))
  await rejects(t, log.backup(disk.file('backup')), 'ENOSPC', /ENOSPC|No space left/, 'a second one')
  t.deepEqual(await recordsIn(disk.file('backup')), records)
  await rejects(t, log.backup(disk.file('another')), 'ENOSPC', /ENOSPC|No space left/, 'a first one')
  t.deepEqual(filesIn(path.dirname(disk.file('x'))), ['backup'])
  const seqs = await seqsOf(log)
  await log.del(seqs.slice(0, 1000))
  disk.leave(0)
  await rejects(t, log.backup(disk.file('backup')), 'ENOSPC', /ENOSPC|No space left/, 'one that has to delete')
  disk.makeRoom()
  t.deepEqual(await recordsIn(disk.file('backup')), records)
  await log.close()
})

test('a backup of a log that is closed meanwhile has the mode of the log, or fails with flumelog:closed', async (t) => {
  const file = testFolder(t)
  for (const readOnly of [false, true]) {
    for (let turns = 0; turns < 40; turns++) {
      const name = file(`log-${readOnly}-${turns}`)
      const writer = await open(name, { blockSize: 64 })
      await writer.append(lines(20))
      if (readOnly) await writer.close()
      fs.chmodSync(name, 0o640)
      const log = readOnly ? await open(name, { readOnly }) : writer
      const backup = log.backup(name + '.backup').then(() => null, err => err)
      for (let i = 0; i < turns; i++) await new Promise(resolve => setImmediate(resolve))
      await log.close()
      const err = await backup
      if (err !== null) t.equal(err.code, 'flumelog:closed', `after ${turns} turns`)
      else t.equal(fs.statSync(name + '.backup').mode & 0o777, 0o640, `after ${turns} turns`)
    }
  }
})

test('a backup of a log with less than a block has the block size of the log', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 256 })
  await log.append('one')
  await log.backup(file('backup'))
  const backup = await open(file('backup'), { blockSize: 256 })
  await backup.append(lines(20))
  await backup.close()
  t.equal((await verify(file('backup'))).blockSize, 256)
  await log.close()
})

test('a later backup that is done is there after a power cut, with the records in it that are deleted in the log', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 256 })
  await log.append(lines(20))
  await log.backup(file('backup'))
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(await log.append(`more ${i}`))
  await log.del(seqs[3])
  let left = null
  const { replace, sync } = MetadataFile.prototype
  t.teardown(() => Object.assign(MetadataFile.prototype, { replace, sync }))
  // a power cut leaves what was fsynced last
  const noting = (call) => async function (...args) {
    await call.apply(this, args)
    if (this.filename === file('backup.meta')) left = fs.readFileSync(this.filename)
  }
  Object.assign(MetadataFile.prototype, { replace: noting(replace), sync: noting(sync) })
  t.ok((await log.backup(file('backup'))).incremental)
  fs.writeFileSync(file('backup.meta'), left)
  const backup = await open(file('backup'), { blockSize: 256 })
  await backup.close()
  t.equal((await recordsIn(file('backup'))).size, 39)
  await log.close()
})

test('a backup that fails because the log cannot be asked which it is releases the earlier one', async (t) => {
  const name = testFolder(t)
  const made = pathFile(name('log'), { readOnly: false, lock: true })
  const log = wrap(createLog(made, settingsOf({})))
  await log.append(lines(10))
  await log.backup(name('backup'))
  const { metadata } = made
  const read = metadata.read.bind(metadata)
  metadata.read = async () => { throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }) }
  await rejects(t, log.backup(name('backup')), 'EIO', /i\/o error/, 'the first one')
  metadata.read = read
  t.ok((await log.backup(name('backup'))).incremental, 'the next one')
  await log.close()
})

test('a backup that is complete when a compaction ends is one of the log as it is then, with its id', async (t) => {
  const name = testFolder(t)
  const made = pathFile(name('log'), { readOnly: false, lock: true })
  const { metadata } = made
  const read = metadata.read.bind(metadata)
  let before = async () => {}
  // a full backup asks which log it is of when all is copied
  metadata.read = async () => {
    await before()
    return read()
  }
  const log = wrap(createLog(made, settingsOf({ blockSize: 64 })))
  const seqs = []
  for (let i = 0; i < 40; i++) seqs.push(await log.append(`record ${i}`))
  await log.del(seqs[3])
  before = async () => {
    before = async () => {}
    await log.compact()
  }
  await log.backup(name('backup'))
  t.notEqual(log.id, '0', 'it was compacted')
  const backup = await open(name('backup'), { readOnly: true })
  t.equal(backup.id, log.id)
  t.deepEqual(await collect(backup.flumelog), await collect(log.flumelog))
  await backup.close()
  await log.close()
})

test('a later backup gives the offset map its name if a process was killed before that', async (t) => {
  const name = testFolder(t)
  const log = await open(name('log'))
  const seqs = await Promise.all(lines(50).map(line => log.append(line)))
  await log.del(seqs[3])
  await log.compact()
  await log.backup(name('backup'))
  const before = filesIn(name('.'))
  fs.renameSync(name('backup.offset-map'), name('backup.unfinished.offset-map'))
  await log.append('later')
  await log.backup(name('backup'))
  t.deepEqual(filesIn(name('.')), before)
  await log.close()
})

test('a backup has the offset map of its id, also if the log is compacted again before that is copied', async (t) => {
  const name = testFolder(t)
  const log = await open(name('log'))
  await log.append(['first', 'second'])
  await log.compact()
  const { open: openMap } = OffsetMap
  t.teardown(() => { OffsetMap.open = openMap })
  let compacting = null
  OffsetMap.open = async (...args) => {
    compacting ??= log.compact()
    await compacting
    return openMap.call(OffsetMap, ...args)
  }
  await log.backup(name('backup'))
  OffsetMap.open = openMap
  const backup = await open(name('backup'))
  const map = await openOffsetMap(name('backup'))
  t.equal(map?.id, backup.id)
  await map?.close()
  await backup.close()
  await log.close()
})

test('a backup has the offset map of its log, not that of another log which has been compacted to the same', async (t) => {
  const name = testFolder(t)
  const log = await open(name('log'))
  const seq = await log.append('record')
  await log.append('deleted')
  await log.del(await log.append('another'))
  await log.backup(name('backup'))
  await restore(name('backup'), name('copy'))
  for (const file of ['copy', 'log']) {
    const compacted = file === 'log' ? log : await open(name(file))
    await compacted.compact()
    await compacted.backup(name('backup'))
    const map = await openOffsetMap(name('backup'))
    t.equal(map?.id, compacted.flumelog.id, `of ${file}`)
    if (map !== null) t.equal(String(await compacted.get(await map.map(seq))), 'record')
    await map?.close()
    await compacted.close()
  }
})
