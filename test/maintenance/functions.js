'use strict'

// verify, repair and copy as functions.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { verify, repair, copy } = require('../../maintenance')
const { open } = require('../../promises')
const { copyRecords } = require('../../lib/maintenance/copy')
const { openExtent, verifyExtent } = require('../../lib/maintenance/verify')
const { deletionOf } = require('../../lib/format/deletions')
const { pathFile } = require('../../lib/storage/path-file')
const { promises: promisedFile } = require('../../lib/storage/promisified-file')
const { filesIn, testFolder } = require('../helpers/folder')
const { leaveMetadata } = require('../helpers/left-metadata')
const { published } = require('../helpers/followers')
const { makeLog, readLog, deleteFrom, overwrite } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')

const BLOCK_SIZE = 256
const RECORDS = Array.from({ length: 100 }, (_, i) => `record number ${i}`)
const FUNCTIONS = { verify, repair, copy: (file, options) => copy(file, `${file}.copy`, options) }

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
  t.deepEqual([beside.copied.counts.records, beside.copied.lost.length, beside.copied.moved], [valid.length, 1, false])
  t.deepEqual(await seqsIn(beside.file), valid)
  t.ok(fs.readFileSync(name('log')).equals(bytes))

  const inPlace = await repair(name('log'), { inPlace: true, salvage: true })
  t.deepEqual([inPlace.file, inPlace.original], [name('log'), name('log.corrupt')])
  t.ok(inPlace.copied.salvaged[0].records > 0)
  const again = await repair(name('log'), { inPlace: true })
  t.deepEqual([again.copied, again.file, again.report.valid], [null, null, true], 'a valid log is not copied')

  await deleteFrom(name('log'), [valid[0]])
  const { copied } = await repair(name('log'), { compact: true })
  t.deepEqual([copied.moved, copied.counts.deleted], [true, 0])
})

test('repair is refused while a process has the log open, copy and verify are not', async (t) => {
  const name = testFolder(t)
  const log = promises(FlumeLog(name('log'), { blockSize: BLOCK_SIZE, sync: 'never' }))
  await log.append(RECORDS)
  t.equal(await codeOf(repair(name('log'))), 'flumelog:locked')
  const report = await verify(name('log'))
  t.deepEqual([report.valid, report.open, report.counts.records], [true, true, RECORDS.length])
  t.equal((await copy(name('log'), name('copy'))).counts.records, RECORDS.length)
  t.deepEqual(await readLog(name('copy')), await readLog(name('log')))
  await log.close()
})

test('a log that is copied while it is appended to gives a valid copy of a prefix', async (t) => {
  const name = testFolder(t)
  const log = promises(FlumeLog(name('log'), { blockSize: BLOCK_SIZE }))
  let acknowledged = await log.append('the first')
  const state = { isAppending: true }
  const appending = (async () => {
    for (let i = 0; state.isAppending; i++) {
      acknowledged = await log.append(`record ${i}`)
      await new Promise(resolve => setImmediate(resolve))
    }
  })()
  for (let i = 0; i < 3; i++) {
    const before = acknowledged
    await published(name('log'), before)
    const { lost } = await copy(name('log'), name(`copy.${i}`))
    t.deepEqual(lost, [])
    const copied = await readLog(name(`copy.${i}`))
    t.ok(copied.at(-1).seq >= before, 'with all that was acknowledged before')
    const same = (await readLog(name('log'))).slice(0, copied.length)
    t.ok(copied.every(({ seq, value }, at) => same[at].seq === seq && same[at].value.equals(value)))
  }
  state.isAppending = false
  await appending
  await log.close()
})

test('copy keeps offsets and deletions, or compacts', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS, { blockSize: BLOCK_SIZE })
  await deleteFrom(name('log'), [seqs[0], seqs[50]])
  const plain = await copy(name('log'), name('some/new/folder/copy'))
  t.deepEqual([plain.moved, plain.lost, plain.counts.deleted], [false, [], 2])
  t.ok(fs.readFileSync(name('log')).equals(fs.readFileSync(name('some/new/folder/copy'))), 'byte for byte')
  const compacted = await copy(name('log'), name('compacted'), { compact: true })
  t.deepEqual([compacted.moved, compacted.counts.records, compacted.counts.deleted], [true, 98, 0])
  t.equal(compacted.size, fs.statSync(name('compacted')).size)
  t.equal((await readLog(name('compacted'))).length, 98)

  await deleteFrom(name('compacted'), await seqsIn(name('compacted')))
  const empty = await copy(name('compacted'), name('empty'), { compact: true })
  t.deepEqual([empty.size, fs.statSync(name('empty')).size], [0, 0])
})

test('a copy with the same offsets has the same id, and one with others another one, which cursors notice', async (t) => {
  const name = testFolder(t)
  const log = await open(name('log'), { blockSize: 256 })
  await log.append(RECORDS)
  const seqs = await seqsIn(name('log'))
  const cursor = await log.cursor('mailer')
  await cursor.commit(seqs[40])
  await cursor.close()
  await log.del([seqs[0], seqs[99]])
  const idOf = async (file) => {
    const log = await open(name(file), { readOnly: true })
    await log.close()
    return log.id
  }
  await log.close()
  await copy(name('log'), name('first copy'))
  t.equal(await idOf('first copy'), '0')
  fs.writeFileSync(name('second copy.offset-map'), 'of an earlier log')
  await copy(name('log'), name('second copy'), { compact: true })
  const ids = new Set(['0', await idOf('second copy')])
  const again = await open(name('log'))
  const { id } = await again.compact()
  await again.del((await again.compact()).start)
  await again.close()
  ids.add(id)
  await copy(name('log'), name('same'))
  t.equal(await idOf('same'), id, 'as it has been compacted')
  await copy(name('log'), name('packed'), { compact: true })
  ids.add(await idOf('packed'))
  t.equal((await repair(name('log'), { compact: true })).file, name('log.repaired'))
  ids.add(await idOf('log.repaired'))
  t.equal(await idOf('log'), id, 'the log is as it was')
  t.deepEqual((await repair(name('log'), { compact: true, inPlace: true })).original, name('log.corrupt'))
  ids.add(await idOf('log'))
  t.equal(await idOf('log.corrupt'), id, 'the old file keeps its id')
  t.equal(ids.size, 6, 'each of the others has one of its own')
  t.deepEqual(filesIn(name('.')).filter(file => file.includes('unfinished')), [])
  const repaired = await open(name('log'))
  const held = await repaired.cursor('mailer')
  const err = await held.stream().next().catch(err => err)
  t.match(err.message, /earlier compaction/, err.code)
  await held.close()
  await repaired.close()
})

test('a compact copy that is shorter, though nothing has moved, has another id', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS)
  await deleteFrom(name('log'), seqs.slice(-2))
  t.equal((await copy(name('log'), name('copy'), { compact: true })).moved, false)
  const log = await open(name('copy'), { readOnly: true })
  t.notEqual(log.id, '0', 'what is appended to it gets offsets that others had')
  await log.close()
})

test('copy of a corrupt log says what is lost', async (t) => {
  const name = testFolder(t)
  const { valid } = await makeCorrupt(name('log'))
  const { lost, salvaged } = await copy(name('log'), name('copy'))
  t.deepEqual([lost.map(({ start, end }) => [start, end]), salvaged], [[[256, 512]], []])
  t.deepEqual(await seqsIn(name('copy')), valid)
  t.equal((await copy(name('log'), name('salvaged'), { salvage: true })).salvaged.length, 1)
})

test('copy overwrites nothing, and only those who can read the log can read the copy', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  fs.writeFileSync(name('there'), 'something else')
  fs.symlinkSync(name('nowhere'), name('link'))
  for (const target of ['there', 'link', 'log', '.']) t.equal(await codeOf(copy(name('log'), name(target))), 'EEXIST', target)
  const late = copy(name('log'), name('late'), { onProgress: () => fs.writeFileSync(name('late'), 'it came meanwhile') })
  t.equal(await codeOf(late), 'EEXIST')
  t.equal(fs.readFileSync(name('there'), 'utf8'), 'something else')
  t.equal(fs.readFileSync(name('late'), 'utf8'), 'it came meanwhile')
  t.deepEqual(filesIn(name('.')), ['late', 'link', 'log', 'there'])
  for (const mode of [0o600, 0o640, 0o666, 0o444]) {
    fs.chmodSync(name('log'), mode)
    await copy(name('log'), name(`${mode}`))
    t.equal(fs.statSync(name(`${mode}`)).mode & 0o777, mode)
  }
  await makeCorrupt(name('corrupt'))
  fs.chmodSync(name('corrupt'), 0o600)
  t.equal(fs.statSync((await repair(name('corrupt'))).file).mode & 0o777, 0o600, 'nor that of repair')
})

const STEPS = { verify: ['verify'], repair: ['verify', 'copy', 'check'], copy: ['copy', 'check'] }

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
    t.equal(wrong, `unknown option \`onprogress\` of ${called}: did you mean \`onProgress\`?`)
    if (called !== 'verify') t.equal(await codeOf(call(name('log'), { compact: 'yes' })), 'flumelog:invalid')
    t.deepEqual(filesIn(name('.')), ['log'])
  })
}

test('copy refuses an invalid target', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  for (const target of [undefined, '', 5]) t.equal(await codeOf(copy(name('log'), target)), 'flumelog:invalid')
  t.equal(await codeOf(copy(name('missing'), name('copy'))), 'ENOENT')
  t.deepEqual(filesIn(name('.')), ['log'])
})

const staleFor = (file) => leaveMetadata(file, Buffer.alloc(11))

test('a copy does not replace a file beside its name that another program has made, nor a repair the metadata of another log', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS)
  for (const suffix of ['.meta']) {
    fs.writeFileSync(name(`copy${suffix}`), 'not of a log')
    const refused = await copy(name('log'), name('copy')).catch(err => err)
    t.deepEqual([refused.code, refused.path], ['EEXIST', name(`copy${suffix}`)])
    fs.rmSync(name(`copy${suffix}`))
    const late = copy(name('log'), name('copy'), { onProgress: () => fs.writeFileSync(name(`copy${suffix}`), 'it came meanwhile') })
    t.equal(await codeOf(late), 'EEXIST', 'nor if it comes meanwhile')
    t.deepEqual(filesIn(name('.')), ['log'])
    fs.rmSync(name(`copy${suffix}`))
  }

  await makeCorrupt(name('corrupt'))
  await staleFor(name('corrupt.repaired'))
  const { file } = await repair(name('corrupt'))
  t.equal(file, name('corrupt.repaired.2'), 'repair takes the next name')
  t.ok((await readLog(file)).length > 0)
  await staleFor(name('corrupt.corrupt'))
  const stale = fs.readFileSync(name('corrupt.corrupt.meta'))
  t.equal((await repair(name('corrupt'), { inPlace: true })).original, name('corrupt.corrupt.2'))
  t.ok(fs.readFileSync(name('corrupt.corrupt.meta')).equals(stale))
  t.ok(seqs.length > 0)
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
  await makeLog(name('log'), RECORDS)
  process.chdir(name('.'))
  await copy('log', 'copy', { onProgress: () => process.chdir(name('other')) })
  t.equal((await readLog(name('copy'))).length, RECORDS.length)
  t.ok(fs.readFileSync(name('other/log')).equals(other))
  t.deepEqual(filesIn(name('other')), ['log'])
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
  for (const compact of [false, true]) {
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
    await repair(name('log'), { inPlace: true, compact })
    methods.forEach((method, i) => { fs.promises[method] = originals[i] })
    t.ok(states >= 3, `${states} states`)
    for (let i = 0; i < states; i++) {
      const log = promises(FlumeLog(name(`${i}/log`), { blockSize: BLOCK_SIZE }))
      await log.onReady()
      t.equal((await collect(log.log, { skipCorrupt: true })).length, valid.length - 2, `state ${i}`)
      await log.close()
    }
  }
})

test('copy that fails leaves none of the directories that it has created, nor the copy', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  const reason = new Error('enough')
  t.equal(await copy(name('log'), name('a/b/c'), { onProgress: () => { throw reason } }).catch(err => err), reason)
  const { unlink } = fs.promises
  fs.promises.unlink = async (file) => {
    if (/unfinished/.test(file)) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
    return unlink.call(fs.promises, file)
  }
  t.equal(await codeOf(copy(name('log'), name('a/b/c'))), 'EIO')
  fs.promises.unlink = unlink
  t.deepEqual(filesIn(name('.')), ['log'])
})

test('a log is copied and verified while the block in which it ends fills up and is deleted', async (t) => {
  const folder = testFolder(t)
  const log = await open(folder('log'), { blockSize: 4096 })
  const record = 'x'.repeat(1000)
  await log.append(Array(6000).fill(record))
  for (const work of [options => copy(folder('log'), folder('copy'), options), options => verify(folder('log'), options)]) {
    await log.append(['one', 'two'])
    const from = Math.floor(log.stats().size / 4096) * 4096
    let changed = null
    const change = async () => {
      await log.append(Array(20).fill(record))
      await log.del({ gte: from, lt: from + 4096 })
    }
    const { lost, ranges } = await work({ onProgress () { changed ??= change() } })
    await changed
    t.deepEqual((lost ?? ranges).filter(({ kind }) => kind === 'corrupt'), [], 'nothing is taken for corrupt')
  }
  t.ok((await verify(folder('copy'))).valid)
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
      for (let i = 0; i < 3; i++) extents.push(await openExtent(pathFile(folder(name), { readOnly: true, lock: false })))
      // all that they know may be trimmed
      for (let i = 1000; i < 3000; i++) seqs.push(await log.append(`record ${i}`))
      await log.trim({ lt: seqs[length] })
      const { start } = log.flumelog
      if (isCompacted) await log.compact()
      const left = seqs.slice(0, 1000).filter(seq => seq >= start)
      const { valid, counts, ranges } = await verifyExtent(extents[0])
      t.deepEqual([valid, counts.records, ranges], [true, left.length, []], `verify, ${name}`)
      for (const [i, compact] of [[1, false], [2, true]]) {
        const target = promisedFile(pathFile(folder(`${name}-${i}`), { readOnly: false, lock: false }))
        await target.open()
        const { lost, counts } = await copyRecords(extents[i], target, { compact, salvage: false })
        await target.close()
        t.deepEqual([lost, counts.records], [[], left.length], `compact: ${compact}, ${name}`)
      }
      t.deepEqual(await seqsIn(folder(`${name}-1`)), left)
      for (const { io } of extents) await io.close()
      await log.close()
    }
  })
}
