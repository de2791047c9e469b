'use strict'

// verify, repair and copy as functions.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { verify, repair, copy } = require('../../maintenance')
const { testFolder } = require('../helpers/folder')
const { published } = require('../helpers/followers')
const { makeLog, readLog, deleteFrom, overwrite } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { codeOf } = require('../helpers/reading')

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
  t.deepEqual(report.ranges.map(({ kind, start, end }) => ({ kind, start, end })), [{ kind: 'damaged', start: 256, end: 512 }])
  t.equal(report.counts.records, valid.length)
  t.equal(report.size, bytes.length)
  await makeLog(name('other'), RECORDS)
  const other = await verify(name('other'), null)
  t.deepEqual([other.valid, other.ranges, other.counts.records], [true, [], seqs.length])
  fs.writeFileSync(name('text'), 'this is no log')
  t.equal(await codeOf(verify(name('text'))), 'flumelog:not-a-log')
  t.equal(await codeOf(verify(name('missing'))), 'ENOENT')
  t.deepEqual(fs.readdirSync(name('.')).sort(), ['log', 'other', 'text'])
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
  t.deepEqual([inPlace.file, inPlace.original], [name('log'), name('log.damaged')])
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
  t.deepEqual(fs.readdirSync(name('.')).sort(), ['late', 'link', 'log', 'there'])
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
      t.deepEqual(fs.readdirSync(name('.')), ['log'])
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
    t.deepEqual(fs.readdirSync(name('.')), ['log'])
  })
}

test('copy refuses an invalid target', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  for (const target of [undefined, '', 5]) t.equal(await codeOf(copy(name('log'), target)), 'flumelog:invalid')
  t.equal(await codeOf(copy(name('missing'), name('copy'))), 'ENOENT')
  t.deepEqual(fs.readdirSync(name('.')), ['log'])
})
