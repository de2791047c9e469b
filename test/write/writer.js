'use strict'

// The writer's promises while its operations are pending, one by one: what an fsync
// covers, that every caller is answered, and that nobody waits for others for long.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { ControlledFile } = require('../helpers/controlled-file')
const { promises } = require('../helpers/promises')
const { newFile, testFolder } = require('../helpers/folder')
const { collect } = require('../helpers/reading')
const { ShiftedClock } = require('../helpers/shifted-clock')
const { uncaughtDuring } = require('../helpers/uncaught')

const NO_SPACE = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
const KIB = 1024

test('an fsync that was started before a write failed does not cover what is written in its place', async (t) => {
  const clock = new ShiftedClock()
  const syncInterval = 1e6
  const { file, log } = await open({ sync: 'interval', syncInterval, blockSize: 65536 }, clock)
  await log.append('first')
  file.held = new Set(['write', 'sync'])

  // three writes: the second fails, while an fsync of the first is pending
  const batch = log.append(Array.from({ length: 50 }, () => Buffer.alloc(60 * KIB, 1))).catch(err => err)
  ;(await file.next('write')).finish()
  const write = await file.next('write')
  clock.advance(syncInterval)
  const early = await file.next('sync')
  write.finish(NO_SPACE)
  early.finish()
  // what is written next must not be mixed with what was truncated
  ;(await file.next('sync')).finish()
  t.equal((await batch).code, 'ENOSPC')
  const forced = log.append('forced', { sync: true })
  ;(await file.next('write')).finish()
  // another fsync has to follow
  ;(await file.next('sync')).finish()
  await forced
  t.ok(file.durable.includes('forced'), 'the append is durable when it is acknowledged')
  file.held.clear()
  await log.close()
})

test('no more than syncBytes are acknowledged without being durable, however small they are', async (t) => {
  for (const syncBytes of [1, 1000, 65536]) {
    const { file, log } = await open({ sync: 'interval', syncBytes, syncInterval: 2 ** 31 - 1 })
    let most = 0
    let acknowledged = 0
    const record = Buffer.alloc(1000, 1)
    await Promise.all(Array.from({ length: 1500 }, () => log.append(record).then((seq) => {
      acknowledged = Math.max(acknowledged, seq + record.length + 4)
      most = Math.max(most, acknowledged - file.durable.length)
    })))
    t.ok(most <= syncBytes, `${most} bytes were acknowledged and not durable, of at most ${syncBytes}`)
    await log.close()
  }
})

test('a truncation after a failed write is durable before callers are told', async (t) => {
  const { file, log } = await open({ sync: 'always' })
  await log.append('first')
  file.held.add('write')
  const failing = log.append('second').catch(err => err)
  ;(await file.next('write')).finish(NO_SPACE)
  await failing
  t.ok(file.durable.equals(file.bytes))
  file.held.clear()
  const { sync } = file.counts
  await log.close()
  t.equal(file.counts.sync, sync)
})

test('callers are told of a failed write when the file is truncated, not before', async (t) => {
  const { file, log } = await open({ sync: 'never' })
  await log.append('first')
  file.held = new Set(['write', 'truncate'])
  let told = 0
  const failing = log.append('second').catch(() => told++)
  ;(await file.next('write')).finish(NO_SPACE)
  const truncation = await file.next('truncate')
  const meanwhile = log.append('third').catch(() => told++)
  await new Promise(resolve => setImmediate(resolve))
  t.equal(told, 0)
  truncation.finish()
  await Promise.all([failing, meanwhile])
  t.equal(told, 2, 'and what was appended by then fails with it')
  file.held.clear()
  await log.close()
})

test('deletions that were called before close are done before it, also while an append is being synced', async (t) => {
  const { file, log } = await open({ blockSize: 128, sync: 'never' })
  const seqs = []
  for (let i = 0; i < 100; i++) seqs.push(await log.append(Buffer.alloc(100, i + 1)))
  file.held.add('sync')
  const order = []
  const forced = log.append('forced', { sync: true }).then(() => order.push('append'))
  const sync = await file.next('sync')
  const deleted = log.del(seqs).then(() => order.push('del'))
  const closed = log.close().then(() => order.push('close'))
  file.held.clear()
  sync.finish()
  await Promise.all([forced, deleted, closed])
  t.deepEqual(order, ['append', 'del', 'close'])
  const again = new ControlledFile(newFile(file.bytes)).open()
  t.equal((await collect(again.log)).length, 1, 'all of them are deleted')
  await again.close()
})

test('whatever is called while a write is pending, and then close, is answered once, in order', async (t) => {
  const { file, log } = await open({ sync: 'never' })
  file.held.add('write')
  const answers = []
  const note = (name) => (err) => answers.push(err ? `${name} ${err.code}` : name)
  log.log.append('one', note('append'))
  const write = await file.next('write')
  log.log.append([], note('empty batch'))
  log.log.append([], { sync: true }, note('synced empty batch'))
  log.log.append([], { atomic: true }, note('atomic empty batch'))
  log.log.onDrain(note('onDrain'))
  log.log.sync(note('sync'))
  log.log.close(note('close'))
  log.log.append('late', note('late append'))
  log.log.sync(note('late sync'))
  file.held.clear()
  write.finish()
  await log.close()
  const late = answers.filter(name => name.startsWith('late'))
  t.deepEqual(late, ['late append flumelog:closed', 'late sync flumelog:closed'])
  t.deepEqual(answers.filter(name => !name.startsWith('late')), ['append', 'empty batch', 'synced empty batch', 'atomic empty batch', 'onDrain', 'sync', 'close'])
})

test('a sink with sync: true whose source ends after close has started calls back', async (t) => {
  for (const isClosed of [false, true]) {
    const { file, log } = await open({ sync: 'never' })
    const { read, end } = sourceOfOne('a record')
    const sunk = new Promise(resolve => log.log.sink({ sync: true }, (err, stored) => resolve([err, stored.records]))(read))
    await log.onDrain()
    file.held.add('sync')
    const closed = log.close()
    const sync = await file.next('sync')
    if (isClosed) {
      sync.finish()
      await closed
      end()
    } else {
      end()
      sync.finish()
    }
    t.deepEqual(await sunk, [null, 1], isClosed ? 'once it is closed' : 'while it is closing')
    await closed
  }
})

test('a callback that throws keeps no other caller from being answered', async (t) => {
  const { file, log } = await open({ sync: 'never' })
  const answers = []
  const thrown = await uncaughtDuring(async () => {
    file.held.add('write')
    const answer = (name) => () => { answers.push(name); throw new Error(name) }
    log.log.append('one', answer('one'))
    const write = await file.next('write')
    log.log.append('two', answer('two'))
    log.log.onDrain(answer('drain'))
    log.log.sync(answer('sync'))
    const last = new Promise(resolve => log.log.sync(() => { answers.push('last'); resolve() }))
    file.held.clear()
    write.finish()
    await last
    await log.close()
  })
  t.deepEqual(answers, ['one', 'two', 'drain', 'sync', 'last'])
  t.deepEqual(thrown.map(({ message }) => message), ['one', 'two', 'drain', 'sync'], 'each exception reaches the event loop once')
})

test('an append does not wait for all of a large deletion, nor a deletion for all appends', async (t) => {
  const { file, log } = await open({ blockSize: 128, sync: 'never' })
  const seqs = []
  for (let i = 0; i < 200; i++) seqs.push(await log.append(Buffer.alloc(100, 1)))
  const before = file.counts['metadata.append'] ?? 0
  let atAppend = 0
  const deleted = log.del(seqs)
  const appended = log.append('meanwhile').then(() => { atAppend = file.counts['metadata.append'] - before })
  await Promise.all([deleted, appended])
  const whole = file.counts['metadata.append'] - before
  t.ok(atAppend <= 2 && whole >= 4, `acknowledged after ${atAppend} of ${whole} parts of the deletion`)

  let isAppending = true
  const next = (err) => { if (!err && isAppending) log.log.append('more', next) }
  log.log.append('more', next)
  await log.del(await log.append('one to delete'))
  t.pass('a deletion is done while appends go on')
  isAppending = false
  await log.close()
})

test('a failed fsync answers everybody who waits, each once, and every later call', async (t) => {
  const { file, log } = await open({ sync: 'never' })
  await log.append('one')
  file.held = new Set(['sync', 'write'])
  const answers = []
  const note = (name) => (err) => answers.push(`${name} ${err?.code}`)
  log.log.append('two', { sync: true }, note('synced append'))
  ;(await file.next('write')).finish()
  const sync = await file.next('sync')
  log.log.append('three', note('append'))
  log.log.del(0, note('del'))
  log.log.sync(note('sync'))
  log.log.onDrain(note('onDrain'))
  sync.finish(Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }))
  await new Promise(resolve => setImmediate(resolve))
  for (const name of ['append', 'del', 'sync', 'onDrain']) {
    await new Promise(resolve => name === 'append'
      ? log.log.append('late', (err) => resolve(note('late append')(err)))
      : name === 'del' ? log.log.del(0, (err) => resolve(note('late del')(err))) : log.log[name]((err) => resolve(note(`late ${name}`)(err))))
  }
  const names = ['append', 'del', 'late append', 'late del', 'late onDrain', 'late sync', 'onDrain', 'sync', 'synced append']
  t.deepEqual(answers.sort(), names.map(name => `${name} flumelog:failed`))
  t.equal((await log.close().catch(err => err)).code, 'flumelog:failed')
  t.equal(file.metadata.closed, false, 'the log stays open in FILE.meta')
})

test('a deletion in the tail that is called while a write fails deletes that record and nothing else', async (t) => {
  const { file, log } = await open({ sync: 'never' })
  const seqs = [await log.append('one'), await log.append('two'), await log.append('three')]
  file.held.add('write')
  const failing = log.append('four').catch(err => err)
  const write = await file.next('write')
  const deleted = log.del(seqs[1])
  const later = log.append('five').catch(err => err)
  file.held.clear()
  write.finish(NO_SPACE)
  t.deepEqual([(await failing).code, (await later).code], ['ENOSPC', 'ENOSPC'])
  await deleted
  await log.append('six')
  const texts = async (log) => (await collect(log.log, { seqs: false })).map(String)
  t.deepEqual(await texts(log), ['one', 'three', 'six'])
  await log.close()
  const again = new ControlledFile(newFile(file.bytes)).open()
  t.deepEqual(await texts(again), ['one', 'three', 'six'], 'in the file, too')
  await again.close()
})

test('a log whose file is deleted, moved or replaced under its writer says so at the next sync, and when it is closed', async (t) => {
  const folder = testFolder(t)
  const changes = {
    deleted: (file) => fs.unlinkSync(file),
    moved: (file) => fs.renameSync(file, file + '-moved'),
    replaced: (file) => {
      fs.writeFileSync(file + '-other', 'another file')
      fs.renameSync(file + '-other', file)
    }
  }
  for (const [name, change] of Object.entries(changes)) {
    const file = folder(name)
    const log = promises(FlumeLog(file))
    await log.append('one', { sync: true })
    change(file)
    const codes = []
    for (const call of [() => log.append('two', { sync: true }), () => log.append('three'), () => log.sync(), () => log.close()]) {
      codes.push(await call().then(() => null, err => err.code))
    }
    t.deepEqual(codes, Array(4).fill('flumelog:replaced'), name)
  }
})

/** A log on a file of which a test decides when its operations finish. */
async function open (options, clock = undefined) {
  const file = new ControlledFile()
  const log = file.open(options, clock)
  await log.onReady()
  return { file, log }
}

function sourceOfOne (value) {
  let asked = null
  let isGiven = false
  const read = (abort, cb) => {
    if (abort) return cb(abort)
    if (!isGiven) {
      isGiven = true
      return cb(null, value)
    }
    asked = cb
  }
  return { read, end: () => asked(true) }
}
