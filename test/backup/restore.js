'use strict'

// Logs that are made of backups.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const { restore, verify } = require('../../maintenance')
const { canLock, tryLock } = require('../../lib/storage/lock')
const { open } = require('../../promises')
const { filesIn, testFolder } = require('../helpers/folder')
const { makeLog, overwrite, readLog } = require('../helpers/logs')
const { noSmallDisk, smallDisk } = require('../helpers/full')

const lines = (count, from = 0) => Array.from({ length: count }, (_, i) => `record ${from + i}`)
const valuesIn = async (file) => (await readLog(file)).map(({ value }) => String(value))

async function rejects (t, promise, code, pattern, what) {
  const err = await promise.then(() => null, err => err)
  t.equal(err?.code, code, `${what}: ${err?.message}`)
  t.match(err?.message ?? '', pattern, what)
}

test('a log is restored from a backup, in a folder that was not there', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { blockSize: 256 })
  await log.append(lines(200))
  await log.del(0)
  await log.trim({ lt: 1500 })
  await log.backup(file('backup'))
  const seqs = []
  for await (const seq of log.stream({ values: false })) seqs.push(seq)
  await log.close()
  const steps = new Set()
  const result = await restore(file('backup'), file('new/log'), { onProgress: ({ step }) => steps.add(step) })
  t.deepEqual(result, { bytes: fs.statSync(file('backup')).size - result.start, start: seqs[0] - seqs[0] % 256, records: seqs.length, replaced: false })
  t.deepEqual([...steps], ['copy', 'check'])
  t.ok(fs.readFileSync(file('new/log')).equals(fs.readFileSync(file('backup'))), 'byte for byte')
  t.deepEqual(filesIn(file('new')), ['log'])
  t.deepEqual((await readLog(file('new/log'))).map(({ seq }) => seq), seqs)
})

test('a log that is there is not replaced, unless that is asked for, and never while it is open', async (t) => {
  const file = testFolder(t)
  await makeLog(file('backup'), lines(10))
  await makeLog(file('log'), ['other'])
  await rejects(t, restore(file('backup'), file('log')), 'EEXIST', /exists already/, 'without force')
  await rejects(t, restore(file('backup'), file('backup'), { force: true }), 'flumelog:invalid', /the backup itself/, 'over itself')
  fs.mkdirSync(file('folder'))
  await rejects(t, restore(file('backup'), file('folder'), { force: true }), 'EISDIR', /directory/, 'over a directory')
  await rejects(t, restore(file('missing'), file('log'), { force: true }), 'ENOENT', /missing/, 'of nothing')
  await rejects(t, restore(file('backup'), file('x'), { forced: true }), 'flumelog:invalid', /`force`/, 'an unknown option')
  for (const options of [{}, { shared: true }]) {
    const holder = await open(file('log'), options)
    await rejects(t, restore(file('backup'), file('log'), { force: true }), 'flumelog:locked', /another writer/, 'an open log')
    await holder.close()
  }
  t.deepEqual(await valuesIn(file('log')), ['other'], 'the log is as it was')
  t.ok((await restore(file('backup'), file('log'), { force: true })).replaced)
  t.deepEqual(await valuesIn(file('log')), lines(10))
  t.deepEqual(filesIn(file('.')), ['backup', 'folder', 'log'])
})

test('what a program has open for writing is not restored, since it is not a backup', { skip: !canLock && 'files cannot be locked here' }, async (t) => {
  const file = testFolder(t)
  for (const options of [{}, { shared: true }]) {
    const log = await open(file('log'), options)
    await log.append(lines(10))
    await rejects(t, restore(file('log'), file('new')), 'flumelog:locked', /\/log: .*open for writing, so it is not a backup; close it there first/, `an open log, ${JSON.stringify(options)}`)
    await log.close()
  }
  t.deepEqual(filesIn(file('.')), ['log'])
  const fd = fs.openSync(file('log'), 'r+')
  const onProgress = ({ step }) => t.notOk(tryLock(fd), `no writer can open it during the step ${step}`)
  t.equal((await restore(file('log'), file('new'), { onProgress })).records, 20, 'a log that was closed is')
  t.ok(tryLock(fd), 'afterwards one can')
  fs.closeSync(fd)
})

test('nothing that was beside an earlier log changes what is restored', async (t) => {
  const file = testFolder(t)
  const log = await open(file('log'), { sync: 'never' })
  await log.append(lines(10))
  await log.backup(file('backup'))
  await log.append(lines(10, 10))
  await log.del(0)
  // as after a crash: the recovery point says that the first record is deleted
  for (const suffix of ['', '.meta']) fs.copyFileSync(file('log' + suffix), file('crashed' + suffix))
  await log.close()
  fs.copyFileSync(file('crashed.meta'), file('gone.meta'))
  await restore(file('backup'), file('gone'))
  await restore(file('backup'), file('crashed'), { force: true })
  for (const name of ['gone', 'crashed']) {
    t.deepEqual(await valuesIn(file(name)), lines(10), name)
    const again = await open(file(name))
    await again.close()
    t.deepEqual(await valuesIn(file(name)), lines(10), `${name}, opened for writing`)
  }
})

test('a log with corrupt metadata is replaced by its backup, and has the id of that', async (t) => {
  const file = testFolder(t)
  await makeLog(file('log'), lines(50))
  const log = await open(file('log'))
  await log.del(0)
  const { id } = await log.compact()
  await log.backup(file('backup'))
  await log.append('another')
  await log.close()
  overwrite(file('log.meta'), 100, Buffer.from('?'))
  await rejects(t, open(file('log')), 'flumelog:corrupt', /restore a backup/, 'it is not opened')
  t.ok((await restore(file('backup'), file('log'), { force: true })).replaced)
  t.deepEqual(await valuesIn(file('log')), lines(49, 1))
  const restored = await open(file('log'))
  t.equal(restored.id, id)
  await restored.close()
})

test('a backup that was killed while it was brought up to date is restored as far as it is whole', async (t) => {
  const file = testFolder(t)
  await makeLog(file('backup'), lines(10))
  const log = await open(file('backup'))
  await log.append(lines(10, 10))
  for (const suffix of ['', '.meta']) fs.copyFileSync(file('backup' + suffix), file('killed' + suffix))
  await log.close()
  fs.appendFileSync(file('killed'), 'half a record')
  await restore(file('killed'), file('log'))
  t.deepEqual(await valuesIn(file('log')), lines(20))
})

test('of a corrupt backup nothing is restored', async (t) => {
  const file = testFolder(t)
  await makeLog(file('backup'), lines(100), { blockSize: 256 })
  await makeLog(file('log'), ['other'])
  overwrite(file('backup'), 600, 'XX')
  await rejects(t, restore(file('backup'), file('log'), { force: true }), 'flumelog:corrupt', /backup is corrupt at offset 5\d\d/, 'a corrupt one')
  t.deepEqual(await valuesIn(file('log')), ['other'])
  t.deepEqual(filesIn(file('.')), ['backup', 'log'])
})

test('a signal, or a full disk, leaves the log as it was', { skip: noSmallDisk && `no disk: ${noSmallDisk}` }, async (t) => {
  const file = testFolder(t)
  const disk = smallDisk(t)
  await makeLog(file('backup'), lines(300000))
  await makeLog(disk.file('log'), ['other'])
  await rejects(t, restore(file('backup'), disk.file('log'), { force: true }), 'ENOSPC', /ENOSPC|No space left/, 'a full disk')
  t.deepEqual(await valuesIn(disk.file('log')), ['other'])
  for (const wanted of ['copy', 'check']) {
    const stop = new AbortController()
    const onProgress = ({ step }) => { if (step === wanted) stop.abort(new Error('enough')) }
    await rejects(t, restore(file('backup'), file('new'), { onProgress, signal: stop.signal }), undefined, /enough/, wanted)
  }
  t.deepEqual(fs.readdirSync(path.dirname(file('x'))).filter(name => !name.startsWith('backup')), [])
  t.deepEqual(filesIn(path.dirname(disk.file('x'))), ['log'])
  t.ok((await verify(disk.file('log'))).valid)
})
