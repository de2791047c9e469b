'use strict'

// Cursors: named positions that survive restarts.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { open, wrap } = require('../../promises')
const { ControlledFile } = require('../helpers/controlled-file')
const { testFolder } = require('../helpers/folder')
const { codeOf, collectSource, event } = require('../helpers/reading')
const { uncaughtDuring } = require('../helpers/uncaught')

const RECORDS = ['first', 'second', 'third', 'fourth', 'fifth']

/** @returns {Promise<{ log: any, seqs: number[], file: string, name: (name: string) => string }>} */
async function logWithRecords (t, options) {
  const name = testFolder(t)
  const log = await open(name('log'), options)
  const seqs = []
  for (const record of RECORDS) seqs.push(await log.append(record))
  return { log, seqs, file: name('log'), name }
}

async function seqsOf (cursor, options) {
  const seqs = []
  for await (const { seq } of cursor.stream(options)) seqs.push(seq)
  return seqs
}

const messageOf = (promise) => promise.then(() => null, err => err.message)

tape('a cursor starts at the start of the log, and goes on after what was committed, also in a log that is opened again', async (t) => {
  const { log, seqs, file } = await logWithRecords(t)
  const cursor = log.cursor('mailer')
  t.equal(cursor.seq, undefined, 'it is not open yet')
  t.equal(await cursor.ready(), -1)
  t.deepEqual(await seqsOf(cursor), seqs)
  await cursor.commit(seqs[1])
  t.equal(cursor.seq, seqs[1])
  t.deepEqual(await seqsOf(cursor), seqs.slice(2), 'a stream that is started later comes after it')
  await log.close()

  const again = await open(file)
  t.deepEqual(await seqsOf(again.cursor('mailer')), seqs.slice(2))
  t.deepEqual(await seqsOf(again.cursor('indexer')), seqs, 'another cursor is somewhere else')
  await again.cursor('indexer').commit(seqs[4])
  await again.close()
  const third = await open(file)
  t.deepEqual(await third.cursors(), [{ name: 'indexer', seq: seqs[4], held: false }, { name: 'mailer', seq: seqs[1], held: false }])
  t.deepEqual(await seqsOf(third.cursor('indexer')), [], 'nothing is left behind the last record')
  await third.close()
})

tape('a loop can commit each record it is given, live, and another one resumes after the last', async (t) => {
  const { log, seqs, file } = await logWithRecords(t)
  const cursor = log.cursor('mailer')
  const given = []
  for await (const { seq, value } of cursor.stream({ live: true })) {
    given.push(String(value))
    await cursor.commit(seq)
    if (seq === seqs[2]) break
  }
  t.deepEqual(given, RECORDS.slice(0, 3))
  setTimeout(() => log.append('sixth'), 10)
  for await (const { seq, value } of cursor.stream({ live: true })) {
    given.push(String(value))
    await cursor.commit(seq)
    if (String(value) === 'sixth') break
  }
  t.deepEqual(given, [...RECORDS, 'sixth'])
  await log.close()
  const again = await open(file)
  t.deepEqual(await seqsOf(again.cursor('mailer')), [])
  await again.close()
})

tape('calls that are made before the log is open wait, and are answered in their order', async (t) => {
  const { log, seqs, file } = await logWithRecords(t)
  await log.close()
  const early = FlumeLog(file)
  const cursor = early.cursor('mailer')
  const answers = []
  await Promise.all([
    event(resolve => cursor.onReady((err, seq) => resolve(answers.push(['ready', err, seq])))),
    event(resolve => cursor.commit(seqs[0], (err) => resolve(answers.push(['commit', err])))),
    event(resolve => cursor.commit(seqs[2], { sync: true }, (err) => resolve(answers.push(['commit', err])))),
    collectSource(cursor.stream({ values: false })).then(rest => answers.push(['stream', rest]))
  ])
  t.deepEqual(answers, [['ready', null, -1], ['commit', null], ['commit', null], ['stream', seqs.slice(3)]])
  await event(resolve => early.close(resolve))
})

tape('many commits are one write, every callback is called once and in order, and the last one wins', async (t) => {
  const { log, seqs, file } = await logWithRecords(t)
  const cursor = log.flumelog.cursor('mailer')
  await event(resolve => cursor.onReady(resolve))
  const { writeSync } = fs
  let writes = 0
  fs.writeSync = (fd, data, ...rest) => {
    if (data.length === 4096) writes++
    return writeSync(fd, data, ...rest)
  }
  const answers = []
  try {
    await event(resolve => {
      for (const seq of seqs) cursor.commit(seq, (err) => answers.push([seq, err]))
      cursor.commit(seqs[4], resolve)
    })
  } finally {
    fs.writeSync = writeSync
  }
  t.deepEqual(answers, seqs.map(seq => [seq, null]))
  t.equal(writes, 1)
  t.equal(cursor.seq, seqs[4])
  await log.close()
  const again = await open(file)
  t.equal(await again.cursor('mailer').ready(), seqs[4])
  await again.close()
})

tape('a commit that is wrong gets an error that says why, and the others are stored', async (t) => {
  const { log, seqs } = await logWithRecords(t)
  const cursor = log.cursor('mailer')
  const results = await Promise.allSettled([
    cursor.commit(seqs[1]), cursor.commit(seqs[1] + 1), cursor.commit(seqs[0]), cursor.commit(-2), cursor.commit('12'), cursor.commit(1.5),
    cursor.commit(100000), cursor.commit(seqs[2], { synch: true }), cursor.commit(seqs[3])
  ])
  t.deepEqual(results.map(({ reason }) => reason?.code), [
    undefined, 'flumelog:not-found', 'flumelog:invalid', 'flumelog:invalid', 'flumelog:invalid', 'flumelog:invalid',
    'flumelog:not-found', 'flumelog:invalid', undefined
  ])
  t.equal(cursor.seq, seqs[3])
  t.match(results[2].reason.message, /the cursor 'mailer' is at \d+ already, after 0; commit with rewind: true to go back/)
  t.match(results[7].reason.message, /unknown option `synch` of commit: it takes `sync`, `rewind`$/)
  t.throws(() => log.flumelog.cursor('mailer').commit(seqs[4], {}, 'callback'), err => err.code === 'flumelog:invalid')
  t.equal(await codeOf(cursor.commit(seqs[4], () => {})), 'flumelog:invalid', 'with promises, no callback')
  await log.close()
})

tape('a record that is trimmed while its commit reads it can be committed, like one that was trimmed before', async (t) => {
  const file = new ControlledFile(testFolder(t)('log'))
  const log = await file.open({ blockSize: 64, cacheSize: 0 })
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(await log.append('x'.repeat(30)))
  const cursor = wrap(log.log).cursor('mailer')
  await cursor.ready()
  file.held.add('read')
  const committed = cursor.commit(seqs[5])
  const read = await file.next('read')
  file.held.delete('read')
  await log.trim({ lt: seqs[10] })
  read.finish()
  await committed
  t.equal(cursor.seq, seqs[5])
  await cursor.commit(seqs[6])
  t.equal(cursor.seq, seqs[6])
  await log.close()
})

tape('a cursor goes back only if it is told to', async (t) => {
  const { log, seqs } = await logWithRecords(t)
  const cursor = log.cursor('mailer')
  await cursor.commit(seqs[3])
  t.equal(await codeOf(cursor.commit(seqs[0])), 'flumelog:invalid')
  await cursor.commit(seqs[3])
  await cursor.commit(seqs[0], { rewind: true })
  t.deepEqual(await seqsOf(cursor), seqs.slice(1))
  await cursor.commit(-1, { rewind: true })
  t.deepEqual(await seqsOf(cursor), seqs)
  await Promise.all([cursor.commit(seqs[2]), cursor.commit(seqs[1], { rewind: true })])
  t.equal(cursor.seq, seqs[1], 'also among commits that are gathered')
  await log.close()
})

tape('the streams of a cursor take the options that make sense for them, and refuse the others with the reason', async (t) => {
  const { log, seqs } = await logWithRecords(t)
  const cursor = log.cursor('mailer')
  await cursor.commit(seqs[0])
  t.deepEqual(await seqsOf(cursor, { limit: 2 }), seqs.slice(1, 3))
  const values = []
  for await (const batch of cursor.batches({ seqs: false, cache: false })) values.push(...batch.map(String))
  t.deepEqual(values, RECORDS.slice(1))
  for (const [option, value] of [['gt', 5], ['gte', 5], ['lt', 5], ['lte', 5], ['reverse', true], ['old', false]]) {
    t.match(await messageOf(seqsOf(cursor, { [option]: value })), new RegExp(`^unknown option \`${option}\` of stream of a cursor: it takes `))
    const source = log.flumelog.cursor('mailer').batches({ [option]: value })
    t.match(await messageOf(collectSource(source)), new RegExp(`^unknown option \`${option}\` of batches of a cursor: it takes `))
    t.deepEqual(await seqsOf(cursor, { [option]: undefined }), seqs.slice(1), 'undefined counts as not given')
  }
  t.match(await messageOf(seqsOf(cursor, 5)), /must be an object/)
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 10)
  t.match(await messageOf(seqsOf(cursor, { live: true, signal: controller.signal })), /aborted/)
  t.equal(log.stats().streams, 0)
  await log.close()
})

tape('a commit of the last record of a block makes durable that the block has no more', async (t) => {
  const log = await open(testFolder(t)('log'), { blockSize: 64, sync: 'never' })
  const seq = await log.append('x'.repeat(30), { sync: true })
  await log.append('y'.repeat(30))
  t.ok(log.stats().unsynced > 0)
  const cursor = log.cursor('mailer')
  await cursor.commit(seq)
  t.equal(log.stats().unsynced, 0, 'after a power cut, nothing else is appended to it')
  await log.close()
})

tape('errors of a cursor name its file with the path of the log as it was given', async (t) => {
  const folder = path.dirname(testFolder(t)('log'))
  const given = path.join(path.relative(process.cwd(), folder), 'log')
  const log = await open(given)
  await log.append('record')
  const cursor = log.cursor('mailer')
  await cursor.commit(0)
  const reader = await open(given, { readOnly: true })
  t.equal(await messageOf(reader.cursor('mailer').ready()).then(message => message.split(': ')[0]), `${given}.cursor-mailer`, 'locked')
  t.equal(await messageOf(cursor.commit(-1)).then(message => message.split(': ')[0]), `${given}.cursor-mailer`, 'before the last commit')
  await cursor.close()
  t.equal(await messageOf(cursor.commit(0)).then(message => message.split(': ')[0]), `${given}.cursor-mailer`, 'closed')
  await reader.close()
  await log.close()
})

tape('the same name gives the same cursor until it is closed; another log object gets flumelog:locked', async (t) => {
  const { log, seqs, file } = await logWithRecords(t)
  const { flumelog } = log
  const cursor = flumelog.cursor('mailer')
  t.equal(flumelog.cursor('mailer'), cursor)
  await log.cursor('mailer').commit(seqs[1])
  t.equal(cursor.seq, seqs[1])

  const reader = await open(file, { readOnly: true })
  const other = reader.cursor('mailer')
  t.equal(await codeOf(other.ready()), 'flumelog:locked')
  t.match(await messageOf(other.commit(seqs[2])), /log\.cursor-mailer: another process, or another log object of this one, holds the cursor 'mailer'/)
  t.equal(await codeOf(seqsOf(other)), 'flumelog:locked')
  t.equal(other.seq, undefined)
  await other.close()
  t.deepEqual(await reader.cursors(), [{ name: 'mailer', seq: seqs[1], held: true }])

  await event(resolve => cursor.close(resolve))
  t.equal(await codeOf(log.cursor('mailer').ready()), String(`no error, but ${seqs[1]}`), 'after it is closed, it can be opened again')
  t.notEqual(flumelog.cursor('mailer'), cursor)
  const closing = log.cursor('mailer').close()
  t.equal(await log.cursor('mailer').ready(), seqs[1], 'also while it is being closed')
  await closing
  await log.cursor('mailer').close()
  t.equal(await reader.cursor('mailer').ready(), seqs[1], 'the other one can have it now')
  await reader.close()
  await log.close()
})

tape('of several that create a cursor at the same time, one gets it, and the others can have it later', async (t) => {
  const { log, file, name } = await logWithRecords(t)
  const readers = await Promise.all(Array.from({ length: 8 }, () => open(file, { readOnly: true })))
  for (let round = 0; round < 2; round++) {
    const cursors = readers.map(reader => reader.cursor(`cursor-${round}`))
    const codes = await Promise.all(cursors.map(cursor => codeOf(cursor.ready())))
    t.equal(codes.filter(code => code === 'no error, but -1').length, 1)
    t.equal(codes.filter(code => code === 'flumelog:locked').length, 7)
    await Promise.all(cursors.map(cursor => cursor.close()))
  }
  t.deepEqual(fs.readdirSync(name('.')).filter(other => other.endsWith('.new')), [], 'nothing is left of the others')
  t.equal(await readers[7].cursor('cursor-0').ready(), -1)
  await Promise.all(readers.map(reader => reader.close()))
  await log.close()
})

tape('a closed cursor ends its streams, and takes no commits', async (t) => {
  const { log, seqs } = await logWithRecords(t)
  const cursor = log.cursor('mailer')
  const live = seqsOf(cursor, { live: true })
  await cursor.commit(seqs[4])
  const started = event(resolve => setTimeout(resolve, 5))
  await started
  const last = cursor.commit(seqs[4])
  const closed = Promise.all([cursor.close(), cursor.close()])
  t.equal(await codeOf(cursor.commit(seqs[4])), 'flumelog:closed')
  await Promise.all([last, closed])
  t.ok((await live).length <= seqs.length)
  t.equal(cursor.seq, undefined)
  t.equal(await codeOf(seqsOf(cursor)), 'flumelog:closed')
  t.equal(await codeOf(cursor.ready()), 'flumelog:closed')
  await cursor.close()
  t.equal(log.stats().streams, 0)
  await log.close()
})

tape('closing the log stores what was committed, with or without a callback, and closes its cursors', async (t) => {
  const { log, seqs, file } = await logWithRecords(t, { sync: 'never' })
  const [mailer, indexer] = [log.flumelog.cursor('mailer'), log.flumelog.cursor('indexer')]
  const answers = []
  indexer.commit(seqs[1])
  mailer.commit(seqs[3], (err) => answers.push(err))
  await log.close()
  t.deepEqual(answers, [null])
  t.equal(await codeOf(event((resolve) => mailer.commit(seqs[4], resolve)).then(err => { throw err })), 'flumelog:closed')
  const again = await open(file)
  t.deepEqual(await again.cursors(), [{ name: 'indexer', seq: seqs[1], held: false }, { name: 'mailer', seq: seqs[3], held: false }])
  await again.close()
})

tape('a cursor of a log that cannot be opened, or is closed, gives the log\'s error', async (t) => {
  const { log, file } = await logWithRecords(t)
  const second = wrap(FlumeLog(file))
  const cursor = second.cursor('mailer')
  t.equal(await codeOf(cursor.ready()), 'flumelog:locked')
  t.equal(await codeOf(cursor.commit(0)), 'flumelog:locked')
  t.equal(await codeOf(seqsOf(cursor)), 'flumelog:locked')
  await second.close()
  await log.close()
  t.equal(await codeOf(log.cursor('mailer').ready()), 'flumelog:closed')
  t.equal(await codeOf(log.cursors()), 'flumelog:closed')
})

tape('a name that cannot be part of a file name is refused', async (t) => {
  const { log, name } = await logWithRecords(t)
  for (const bad of ['', 'a/b', '..', 'a.new', 'über', 'a b', 'x'.repeat(65), 5, undefined, null]) {
    t.throws(() => log.cursor(bad), err => err.code === 'flumelog:invalid' && /1 to 64 letters/.test(err.message), String(bad))
  }
  t.equal(await log.cursor('A-b_9').ready(), -1)
  await log.close()
  const long = await open(name('x'.repeat(220)))
  t.throws(() => long.cursor('a-name-that-is-long-enough'), /would have a name of \d+ bytes; the maximum is 255/)
  t.equal(await long.cursor('short').ready(), -1)
  await long.close()
})

tape('a cursor of a log in a file takes no options, such as those of one in a stream', async (t) => {
  const { log } = await logWithRecords(t)
  const refused = err => err.code === 'flumelog:invalid' && /unknown option `commitWithin` of cursor: it takes none$/.test(err.message)
  t.throws(() => log.cursor('mailer', { commitWithin: 1000 }), refused)
  t.throws(() => log.flumelog.cursor('mailer', { commitWithin: 1000 }), refused)
  t.equal(log.cursor('mailer', { commitWithin: undefined }), log.cursor('mailer', {}), 'undefined counts as not given')
  await log.close()
})

tape('what a callback of commit throws reaches only its caller', async (t) => {
  const { log, seqs } = await logWithRecords(t)
  const cursor = log.flumelog.cursor('mailer')
  const thrown = await uncaughtDuring(() => event(resolve => {
    cursor.commit(seqs[0], () => { throw new Error('a mistake') })
    cursor.commit(seqs[1], () => setImmediate(resolve))
  }))
  t.deepEqual(thrown.map(({ message }) => message), ['a mistake'])
  t.equal(cursor.seq, seqs[1])
  await log.close()
})

tape('a cursor whose record was deleted, with its whole block or alone, goes on behind it', async (t) => {
  const name = testFolder(t)
  const log = await open(name('log'), { blockSize: 64 })
  const seqs = []
  for (let i = 0; i < 12; i++) seqs.push(await log.append('a record ' + i))
  const cursor = log.cursor('mailer')
  await cursor.commit(seqs[4])
  await log.del(seqs[4])
  await log.close()
  const again = await open(name('log'))
  t.deepEqual(await seqsOf(again.cursor('mailer')), seqs.slice(5))
  await again.cursor('mailer').commit(seqs[5])
  await again.close()
})

const REPLACED = {
  'it ends before that': ['a'],
  'no record starts there': ['a record of another length', 'another one', 'and another one'],
  'another record is there': ['firsT', 'seconD', 'thirD', 'fourtH', 'fiftH']
}
for (const [why, records] of Object.entries(REPLACED)) {
  tape(`a cursor of another log, or of one restored from a backup, is refused: ${why}`, async (t) => {
    const { log, seqs, file } = await logWithRecords(t)
    await log.cursor('mailer').commit(seqs[2])
    await log.close()
    fs.rmSync(file)
    const other = await open(file)
    await other.append(records)
    const cursor = other.cursor('mailer')
    t.equal(await cursor.ready(), seqs[2])
    const err = await seqsOf(cursor).catch(err => err)
    t.equal(err.code, 'flumelog:invalid')
    t.match(err.message, new RegExp(`log.cursor-mailer: the record of the cursor 'mailer' at offset ${seqs[2]} is missing: (the log ends |no record|another record)`))
    t.equal(await codeOf(seqsOf(cursor)), 'flumelog:invalid', 'again')
    await cursor.commit(-1, { rewind: true })
    t.equal((await seqsOf(cursor)).length, records.length, 'a commit puts it right')
    await other.close()
  })
}

tape('a pull-stream of a cursor can be aborted before it is open', async (t) => {
  const { log } = await logWithRecords(t)
  const source = log.flumelog.cursor('mailer').stream({ live: true })
  t.equal(await event(resolve => {
    source(null, (end) => resolve(end))
    source(true, () => {})
  }), true)
  t.deepEqual(await event(resolve => pull(log.flumelog.cursor('mailer').stream({ seqs: false }), pull.take(2), pull.collect((_, all) => resolve(all.map(String))))), RECORDS.slice(0, 2))
  await log.close()
})
