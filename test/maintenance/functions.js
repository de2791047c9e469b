'use strict'

// verify and repair as functions.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { openOffsetMap, verify, repair, restore } = require('../../maintenance')
const { open } = require('../../promises')
const { copyRecords } = require('../../lib/maintenance/copy')
const { openExtent } = require('../../lib/maintenance/extent')
const { verifyExtent } = require('../../lib/maintenance/verify')
const { deletionOf } = require('../../lib/format/deletions')
const { promised } = require('../../lib/callbacks')
const { OffsetMap } = require('../../lib/space/offset-map')
const { pathFile } = require('../../lib/storage/path-file')
const { filesIn, testFolder } = require('../helpers/folder')
const { leaveMetadata } = require('../helpers/left-metadata')
const { published } = require('../helpers/followers')
const { makeLog, readLog, deleteFrom, overwrite } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')

const BLOCK_SIZE = 256
const RECORDS = Array.from({ length: 100 }, (_, i) => `record number ${i}`)
const FUNCTIONS = { verify, repair }

const inBlock = (seq) => Math.floor(seq / BLOCK_SIZE)

/** A log of which block 1 has a wrong checksum. */
async function makeCorrupt (file) {
  const seqs = await makeLog(file, RECORDS, { blockSize: BLOCK_SIZE })
  overwrite(file, BLOCK_SIZE + 30, 'X')
  return { seqs, valid: seqs.filter(seq => inBlock(seq) !== 1), bytes: fs.readFileSync(file) }
}

const seqsIn = async (file) => (await readLog(file)).map(({ seq }) => seq)

test('verify says what a log consists of, and which ranges are corrupt', async (t) => {
  const name = testFolder(t)
  const { seqs, valid, bytes } = await makeCorrupt(name('log'))
  const report = await verify(name('log'))
  t.equal(report.valid, false)
  t.deepEqual(report.ranges.map(({ kind, start, end }) => ({ kind, start, end })), [{ kind: 'corrupt', start: 256, end: 512 }])
  t.equal(report.counts.records, valid.length)
  t.equal(report.size, bytes.length)
  await makeLog(name('other'), RECORDS)
  const other = await verify(name('other'), null)
  t.deepEqual([other.valid, other.ranges, other.counts.records], [true, [], seqs.length])
  fs.writeFileSync(name('text'), 'this is no log')
  t.equal(await codeOf(verify(name('text'))), 'flumelog:not-a-log')
  t.equal(await codeOf(verify(name('missing'))), 'ENOENT')
  t.deepEqual(filesIn(name('.')), ['log', 'other', 'text'])
})

test('repair says what it found, what it wrote, and where', async (t) => {
  const name = testFolder(t)
  const { valid, bytes } = await makeCorrupt(name('log'))
  const beside = await repair(name('log'))
  t.deepEqual([beside.file, beside.original, beside.report.valid], [name('log.repaired'), name('log'), false])
  t.deepEqual([beside.copied.counts.records, beside.copied.lost.length], [valid.length, 1])
  t.deepEqual(await seqsIn(beside.file), valid)
  t.ok(fs.readFileSync(name('log')).equals(bytes))

  const inPlace = await repair(name('log'), { inPlace: true })
  t.deepEqual([inPlace.file, inPlace.original], [name('log'), name('log.corrupt')])
  const again = await repair(name('log'), { inPlace: true })
  t.deepEqual([again.copied, again.file, again.report.valid], [null, null, true], 'a valid log is not copied')
})

test('repair is refused while a process has the log open, verify is not', async (t) => {
  const name = testFolder(t)
  const log = promises(FlumeLog(name('log'), { blockSize: BLOCK_SIZE, sync: 'never' }))
  await log.append(RECORDS)
  t.equal(await codeOf(repair(name('log'))), 'flumelog:locked')
  const report = await verify(name('log'))
  t.deepEqual([report.valid, report.open, report.counts.records], [true, true, RECORDS.length])
  await log.close()
})

test('only those who can read the log can read what repair writes', async (t) => {
  const name = testFolder(t)
  await makeCorrupt(name('corrupt'))
  fs.chmodSync(name('corrupt'), 0o600)
  t.equal(fs.statSync((await repair(name('corrupt'))).file).mode & 0o777, 0o600)
})

const STEPS = { verify: ['verify'], repair: ['verify', 'copy', 'check'] }

for (const [called, call] of Object.entries(FUNCTIONS)) {
  test(`${called} tells of its progress in each step, up to the end`, async (t) => {
    const name = testFolder(t)
    await makeCorrupt(name('log'))
    const told = []
    await call(name('log'), { onProgress: (progress) => told.push(progress) })
    t.deepEqual([...new Set(told.map(({ step }) => step))], STEPS[called])
    for (const step of STEPS[called]) {
      const { bytes, total } = told.findLast(progress => progress.step === step)
      t.ok(bytes > 0 && bytes === total, `${step}: ${bytes} of ${total}`)
    }
  })

  test(`${called} that is aborted, or whose onProgress throws, rejects with that and leaves nothing behind`, async (t) => {
    const name = testFolder(t)
    const { bytes } = await makeCorrupt(name('log'))
    const reason = new Error('enough')
    for (const at of STEPS[called]) {
      const controller = new AbortController()
      const aborted = call(name('log'), { signal: controller.signal, onProgress: ({ step }) => { if (step === at) controller.abort(reason) } })
      t.equal(await aborted.catch(err => err), reason, `aborted in ${at}`)
      const thrown = call(name('log'), { onProgress: ({ step }) => { if (step === at) throw reason } })
      t.equal(await thrown.catch(err => err), reason, `thrown in ${at}`)
      t.deepEqual(filesIn(name('.')), ['log'])
    }
    t.equal(await call(name('log'), { signal: AbortSignal.abort(reason) }).catch(err => err), reason, 'aborted before')
    t.ok(fs.readFileSync(name('log')).equals(bytes))
    const log = promises(FlumeLog(name('log')))
    t.equal(await codeOf(log.onReady()), 'no error, but null', 'the lock is released')
    await log.close()
  })

  test(`${called} refuses invalid arguments`, async (t) => {
    const name = testFolder(t)
    await makeCorrupt(name('log'))
    for (const file of [undefined, null, '', 5, {}, 'a\0b']) t.equal(await codeOf(call(file, {})), 'flumelog:invalid', String(file))
    for (const options of [{ onProgress: 5 }, { signal: 'soon' }, { onprogress: () => {} }, 5]) t.equal(await codeOf(call(name('log'), options)), 'flumelog:invalid', JSON.stringify(options))
    const wrong = await call(name('log'), { onprogress: () => {} }).catch(err => err.message)
    t.match(wrong, new RegExp(`^unknown option \`onprogress\` of ${called}: it takes .*\`onProgress\``))
    t.deepEqual(filesIn(name('.')), ['log'])
  })
}

const staleFor = (file) => leaveMetadata(file, Buffer.alloc(11))

test('a repair does not replace the metadata of another log', async (t) => {
  const name = testFolder(t)
  await makeCorrupt(name('corrupt'))
  await staleFor(name('corrupt.repaired'))
  const { file } = await repair(name('corrupt'))
  t.equal(file, name('corrupt.repaired.2'), 'repair takes the next name')
  t.ok((await readLog(file)).length > 0)
  await staleFor(name('corrupt.corrupt'))
  const stale = fs.readFileSync(name('corrupt.corrupt.meta'))
  t.equal((await repair(name('corrupt'), { inPlace: true })).original, name('corrupt.corrupt.2'))
  t.ok(fs.readFileSync(name('corrupt.corrupt.meta')).equals(stale))
})

test('maintenance works on the files that its arguments led to when it was called', async (t) => {
  const name = testFolder(t)
  const before = process.cwd()
  t.teardown(() => process.chdir(before))
  fs.mkdirSync(name('other'))
  await makeLog(name('other/log'), ['of another log'])
  const other = fs.readFileSync(name('other/log'))
  for (const options of [{}, { inPlace: true }]) {
    const { valid } = await makeCorrupt(name('log'))
    process.chdir(name('.'))
    const { file } = await repair('log', { ...options, onProgress: () => process.chdir(name('other')) })
    t.deepEqual(await seqsIn(name(file)), valid, 'the names in its result are as that of the call')
    fs.rmSync(name('log'))
  }
  t.ok(fs.readFileSync(name('other/log')).equals(other))
  t.deepEqual(filesIn(name('other')), ['log'])
})

test('what is restored is the backup to which its name led when the call was made, as its options were then', async (t) => {
  const name = testFolder(t)
  const before = process.cwd()
  t.teardown(() => process.chdir(before))
  fs.mkdirSync(name('other'))
  await makeLog(name('backup'), ['this', 'log'])
  await makeLog(name('other/backup'), ['another one'])
  await makeLog(name('log'), ['an earlier', 'log', 'that stays'])
  process.chdir(name('.'))
  const options = { force: false }
  const refused = restore('backup', 'log', options).catch(({ code }) => code)
  const restored = restore('backup', 'restored', options)
  options.force = true
  process.chdir(name('other'))
  t.equal((await restored).records, 2)
  t.equal(await refused, 'EEXIST')
  t.equal((await verify(name('restored'))).counts.records, 2)
  t.equal((await verify(name('log'))).counts.records, 3)
})

test('a repair in place that fails leaves the log as it was, and what was being deleted from it is', async (t) => {
  const name = testFolder(t)
  for (const [method, matches] of [['rename', /unfinished/], ['copyFile', /log\.meta/]]) {
    const { seqs, bytes } = await makeCorrupt(name('log'))
    const seq = seqs.at(-1)
    const start = seq - seq % BLOCK_SIZE
    const deletion = deletionOf(start, bytes.subarray(start), [seq - start], null)
    await leaveMetadata(name('log'), bytes, { end: start, blockSize: BLOCK_SIZE, deletions: [deletion] })
    const call = fs.promises[method]
    fs.promises[method] = async (from, to) => {
      if (matches.test(from)) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
      return call.call(fs.promises, from, to)
    }
    t.equal(await codeOf(repair(name('log'), { inPlace: true })), 'EIO', method)
    fs.promises[method] = call
    t.deepEqual(filesIn(name('.')), ['log'])
    t.ok(fs.existsSync(name('log.meta')))
    fs.rmSync(name('log.meta'))
    t.notOk((await seqsIn(name('log')).catch(() => [])).includes(seq))
    t.equal((await verify(name('log'))).counts.deleted, 1, 'the deletion is complete without the recovery point')
    fs.rmSync(name('log'))
  }
})

test('a repair in place that fails once the copy has taken the place of the log keeps the old file', async (t) => {
  const name = testFolder(t)
  const { valid, bytes } = await makeCorrupt(name('log'))
  const { renameSync } = fs
  t.teardown(() => { fs.renameSync = renameSync })
  fs.renameSync = (from, to) => {
    // the copy has its name by then
    if (/log\.meta\.new$/.test(from) && !fs.existsSync(name('log.unfinished'))) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    renameSync(from, to)
  }
  t.equal(await codeOf(repair(name('log'), { inPlace: true })), 'ENOSPC')
  fs.renameSync = renameSync
  t.ok(fs.readFileSync(name('log.corrupt')).equals(bytes), 'as FILE.corrupt')
  t.deepEqual(await seqsIn(name('log')), valid)
})

test('a repair in place that is killed at any moment leaves a log with all of its records, and none that was deleted', async (t) => {
  const name = testFolder(t)
  // the records are all the same, so a deletion in the old file could be made in the new one
  const seqs = await makeLog(name('log'), RECORDS.map(() => 'the same'), { blockSize: BLOCK_SIZE })
  await deleteFrom(name('log'), [seqs[1]])
  overwrite(name('log'), BLOCK_SIZE + 30, 'X')
  const valid = seqs.filter(seq => inBlock(seq) !== 1)
  const seq = seqs.at(-2)
  const start = seq - seq % BLOCK_SIZE
  const deletion = deletionOf(start, fs.readFileSync(name('log')).subarray(start), [seq - start], null)
  await leaveMetadata(name('log'), fs.readFileSync(name('log')), { blockSize: BLOCK_SIZE, deletions: [deletion] })
  const methods = ['link', 'copyFile', 'unlink', 'rename']
  const originals = methods.map(method => fs.promises[method])
  let states = 0
  for (const method of methods) {
    const call = fs.promises[method]
    fs.promises[method] = async (...args) => {
      await call.apply(fs.promises, args)
      const copy = name(`${states++}`)
      fs.mkdirSync(copy)
      for (const file of fs.readdirSync(name('.'))) if (file.startsWith('log')) fs.copyFileSync(name(file), `${copy}/${file}`)
    }
  }
  await repair(name('log'), { inPlace: true })
  methods.forEach((method, i) => { fs.promises[method] = originals[i] })
  t.ok(states >= 3, `${states} states`)
  for (let i = 0; i < states; i++) {
    const log = promises(FlumeLog(name(`${i}/log`), { blockSize: BLOCK_SIZE }))
    await log.onReady()
    t.equal((await collect(log.log, { skipCorrupt: true })).length, valid.length - 2, `state ${i}`)
    await log.close()
  }
})

test('a log is verified while the block in which it ends fills up and is deleted', async (t) => {
  const folder = testFolder(t)
  const log = await open(folder('log'), { blockSize: 4096 })
  const record = 'x'.repeat(1000)
  await log.append(Array(6000).fill(record))
  await log.append(['one', 'two'])
  const from = Math.floor(log.stats().size / 4096) * 4096
  let changed = null
  const change = async () => {
    await log.append(Array(20).fill(record))
    await log.del({ gte: from, lt: from + 4096 })
  }
  const { ranges } = await verify(folder('log'), { onProgress () { changed ??= change() } })
  await changed
  t.deepEqual(ranges.filter(({ kind }) => kind === 'corrupt'), [], 'nothing is taken for corrupt')
  await log.close()
})

for (const isCompacted of [false, true]) {
  test(`a log is verified and copied while it is trimmed${isCompacted ? ' and compacted' : ''}: what is trimmed counts as deleted, not as corrupt`, async (t) => {
    const folder = testFolder(t)
    for (const [name, length] of [['some', 200], ['more', 2000]]) {
      const log = await open(folder(name), { blockSize: BLOCK_SIZE })
      const seqs = await log.append(Array.from({ length: 1000 }, (_, i) => `record ${i}`)).then(() => collect(log.flumelog, { values: false }))
      await published(folder(name), seqs.at(-1))
      const extents = []
      for (let i = 0; i < 2; i++) extents.push(await openExtent(pathFile(folder(name), { readOnly: true, lock: false })))
      // all that they know may be trimmed
      for (let i = 1000; i < 3000; i++) seqs.push(await log.append(`record ${i}`))
      await log.trim({ lt: seqs[length] })
      const { start } = log.flumelog
      if (isCompacted) await log.compact()
      const left = seqs.slice(0, 1000).filter(seq => seq >= start)
      const { valid, counts, ranges } = await verifyExtent(extents[0])
      t.deepEqual([valid, counts.records, ranges], [true, left.length, []], `verify, ${name}`)
      const { io: target } = pathFile(folder(`${name}-1`), { readOnly: false, lock: false })
      await target.open()
      const copied = await copyRecords(extents[1], target)
      await target.close()
      t.deepEqual([copied.lost, copied.counts.records], [[], left.length], `copied, ${name}`)
      t.deepEqual(await seqsIn(folder(`${name}-1`)), left)
      for (const { io } of extents) await io.close()
      await log.close()
    }
  })
}

test('the offset map of a log that is compacted while it is looked for is that of one of its compactions', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file)
  const seq = await log.append('record')
  const compact = () => promised(cb => log.flumelog.compact({}, cb))
  await compact()
  const openMap = OffsetMap.open
  t.teardown(() => { OffsetMap.open = openMap })
  OffsetMap.open = async (...args) => {
    OffsetMap.open = openMap
    await compact()
    return OffsetMap.open(...args)
  }
  const before = log.id
  const map = await openOffsetMap(file)
  t.deepEqual([map.id, map.previousId], [log.id, before])
  t.equal(await map.map(seq), null)
  await map.close()
  await log.close()
})
