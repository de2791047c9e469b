'use strict'

// What reads a log that another part of the program, or another process, compacts: read-only logs, and the views of flumedb.

const fs = require('fs')
const Obv = require('obz')
const pull = require('pull-stream')
const tape = require('tape')
const Flume = require('flumedb')
const Level = require('flumeview-level')
const Reduce = require('flumeview-reduce')
const codec = require('flumecodec').json
const FlumeLog = require('../..')
const { open, wrap } = require('../../promises')
const { createLog, logBehind } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')
const { testFolder } = require('../helpers/folder')
const { until } = require('../helpers/followers')
const { codeOf, event } = require('../helpers/reading')

const SMALL = { blockSize: 1024 }

tape('a read-only log follows a compaction: its streams go on where they were, live ones among them', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, SMALL)
  const seqs = []
  for (let n = 0; n < 500; n++) seqs.push(await log.append(`record ${n}`))
  await published()
  const reader = await open(file, { readOnly: true })
  const ids = []
  reader.onCompact(({ id, previousId }) => ids.push([previousId, id]))
  const forward = reader.stream()
  const backward = reader.stream({ reverse: true })
  const live = reader.stream({ live: true })
  const [ahead, behind, seen] = [[], [], []]
  for (let n = 0; n < 200; n++) {
    ahead.push(await next(forward))
    behind.push(await next(backward))
  }
  for (let n = 0; n < 500; n++) seen.push(await next(live))
  const expectedIds = []
  for (let round = 0; round < 2; round++) {
    const before = log.id
    // what nobody has read yet
    for (const n of round === 0 ? [250, 251, 299] : []) await log.del(seqs[n])
    await log.compact()
    await log.append(`after ${round}`)
    expectedIds.push([before, log.id])
    seen.push(await next(live))
    ahead.push(await next(forward))
    behind.push(await next(backward))
  }
  t.deepEqual(ids, expectedIds)
  t.equal(reader.id, log.id)
  t.equal(reader.since.value, log.since.value)
  t.equal(reader.flumelog.start, log.flumelog.start)
  const left = numbers(500).filter(n => ![250, 251, 299].includes(n)).map(n => `record ${n}`)
  t.deepEqual(seen, [...numbers(500).map(n => `record ${n}`), 'after 0', 'after 1'])
  for await (const { value } of forward) ahead.push(String(value))
  for await (const { value } of backward) behind.push(String(value))
  t.deepEqual(ahead, [...left, 'after 0', 'after 1'])
  t.deepEqual(behind, [...left].reverse())
  t.equal(await codeOf(reader.get(seqs[5])), 'flumelog:trimmed')
  for await (const { seq, value } of log.stream()) if (!value.equals(await reader.get(seq))) t.fail(`${seq} has another value`)
  await log.close()
  await reader.close()
})

tape('at the moment when a read-only log goes on in the compacted file it shows all that it has shown before', async (t) => {
  const folder = testFolder(t)
  const log = await open(folder('log'), SMALL)
  await log.append(numbers(500).map(n => `record ${n}`))
  await published()
  const reader = await open(folder('log'), { readOnly: true })
  const backward = reader.stream({ reverse: true })
  const unread = reader.stream({ reverse: true })
  const behind = [await next(backward)]
  const live = reader.stream({ live: true, gt: reader.since.value })
  const moved = new Promise(resolve => reader.onCompact(() => resolve({
    last: collect(reader.stream({ reverse: true, limit: 1 })),
    all: collect(reader.stream()),
    since: reader.since.value,
    backup: reader.backup(folder('backup')),
    behind: collect(backward),
    unread: collect(unread)
  })))
  const waited = next(live)
  await log.compact()
  const found = await moved
  const all = numbers(500).map(n => `record ${n}`)
  t.deepEqual(await found.last, ['record 499'], 'a stream from the end that is started then')
  t.deepEqual(await found.all, all, 'a stream from the start that is started then')
  t.deepEqual([...behind, ...await found.behind], [...all].reverse(), 'a stream from the end that had been started')
  t.deepEqual(await found.unread, [...all].reverse(), 'one of which nothing had been read')
  t.equal(found.since, log.since.value, '`since`')
  await found.backup
  const backup = await open(folder('backup'), { readOnly: true })
  t.deepEqual(await collect(backup.stream()), all, 'a backup')
  await log.append('after')
  t.equal(await waited, 'after', 'a live stream')
  for (const opened of [log, reader, backup]) await opened.close()
})

for (const isCompacted of [false, true]) {
  tape(`a live stream whose next records were trimmed${isCompacted ? ' before a compaction' : ''} ends with an error, or with \`fromStart\` goes on at the start`, async (t) => {
    const log = await open(testFolder(t)('log'), { blockSize: 64 })
    for (let n = 0; n < 10; n++) await log.append(`record ${n}`.padEnd(20))
    const backward = log.stream({ live: true, reverse: true })
    const backwardFromStart = log.stream({ live: true, reverse: true, fromStart: true })
    for (const stream of [backward, backwardFromStart]) t.equal((await next(stream)).trim(), 'record 9')
    const source = log.flumelog.stream({ old: false })
    const seqs = []
    for (let n = 10; n < 40; n++) seqs.push(await log.append(`record ${n}`.padEnd(20)))
    const start = await log.trim({ lt: seqs[20] })
    if (isCompacted) await log.compact()
    let given
    do given = await next(backward).catch(err => err.code)
    while (/record [0-9] /.test(given))
    t.equal(given, 'flumelog:trimmed')
    t.equal(await codeOf(event((resolve) => source(null, resolve)).then((err) => { throw err })), 'flumelog:trimmed', 'one of new records that was not read yet')
    do given = await next(backwardFromStart)
    while (/record [0-9] /.test(given))
    t.equal(given.trim(), `record ${10 + seqs.indexOf(start)}`)
    await log.close()
  })
}

tape('what was trimmed before a compaction is trimmed for a read-only log that has yet to go on in the compacted file', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, SMALL)
  const seqs = []
  for (let n = 0; n < 500; n++) seqs.push(await log.append(`record ${n}`))
  await published()
  const made = pathFile(file, { readOnly: true, lock: false })
  const reader = wrap(createLog(made, settingsOf({ readOnly: true, lock: false, cacheSize: 0 })))
  const backward = reader.stream({ reverse: true })
  const live = reader.stream({ live: true, fromStart: true })
  t.equal(await next(backward), 'record 499')
  t.equal(await next(live), 'record 0')
  const { follower } = logBehind(reader.flumelog).state.opened
  await until(() => !follower.running)
  // the next poll waits, reads of blocks do not
  const { metadata } = made
  const peek = metadata.peek.bind(metadata)
  let openGate
  let isWaiting = false
  const gate = new Promise(resolve => { openGate = resolve })
  metadata.peek = () => {
    isWaiting = true
    metadata.peek = peek
    return gate.then(peek)
  }
  for (let n = 500; n < 1000; n++) seqs.push(await log.append(`record ${n}`))
  await until(() => isWaiting)
  await log.trim({ lt: seqs[700] })
  const { start } = log.flumelog
  const first = seqs.indexOf(start)
  t.ok(start > reader.since.value, 'all that the reader knows is trimmed')
  await log.compact()
  const code = codeOf(reader.get(seqs[100]))
  openGate()
  t.equal(await code, 'flumelog:trimmed')
  const shown = []
  while (shown.at(-1) !== 'record 999') shown.push(await next(live))
  t.deepEqual(shown.slice(-(1000 - first)), numbers(1000).slice(first).map(n => `record ${n}`))
  t.deepEqual(await collect(reader.stream()), numbers(1000).slice(first).map(n => `record ${n}`))
  // by the poll after the one that was waiting
  await until(() => reader.id === log.id)
  t.deepEqual(await collect(reader.stream()), numbers(1000).slice(first).map(n => `record ${n}`))
  await log.close()
  await reader.close()
})

tape('readers do not see a part of an append that a compaction interrupts', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file)
  for (let n = 0; n < 3; n++) await log.append(`record ${n}`)
  await log.del(0)
  const { writer } = logBehind(log.flumelog).state.opened
  // more than one write
  const array = Array.from({ length: 40 }, (_, i) => Buffer.alloc(60000, `${i} `))
  const { exclusively, committer } = writer
  const { write } = committer
  let appended
  writer.exclusively = async (run) => {
    appended = log.append(array)
    return new Promise((resolve, reject) => {
      committer.write = () => {
        delete committer.write
        write.call(committer)
        exclusively.call(writer, run).then(resolve, reject)
      }
    })
  }
  const { metadata } = writer.metadata
  const { sync } = metadata
  const seen = []
  let reader
  metadata.sync = async () => {
    await sync.call(metadata)
    // the log's file is the old one still, and FILE.meta speaks of the new one
    if (metadata.metadata.next === null || reader !== undefined) return
    reader = await open(file, { readOnly: true })
    for await (const { value } of reader.stream()) seen.push(String(value))
  }
  const live = []
  await log.compact()
  await appended
  const expected = ['record 1', 'record 2', ...array.map(String)]
  t.ok([2, expected.length].includes(seen.length), `${seen.length} records`)
  for await (const { value } of reader.stream()) live.push(String(value))
  t.deepEqual(live, expected)
  await Promise.all([log, reader].map(log => log.close()))
})

tape('a read-only log whose file is replaced by another one fails, as it does without compactions', async (t) => {
  const folder = testFolder(t)
  const log = await open(folder('log'), SMALL)
  await log.append(['a', 'b'])
  await log.compact()
  await log.close()
  const reader = await open(folder('log'), { readOnly: true })
  const live = reader.stream({ live: true })
  await next(live)
  await next(live)
  fs.copyFileSync(folder('log'), folder('copy'))
  fs.renameSync(folder('copy'), folder('log'))
  t.equal(await codeOf(next(live)), 'flumelog:replaced')
  await reader.close()
})

tape('the views of flumedb are rebuilt by themselves when the log is compacted, and when it was compacted while they were closed', async (t) => {
  const folder = testFolder(t)
  fs.mkdirSync(folder('db'))
  const { error } = console
  // flumedb tells why it rebuilds a view
  console.error = () => {}
  t.teardown(() => { console.error = error })
  const file = folder('db/log')
  const make = () => {
    const log = FlumeLog(file, { ...SMALL, codec })
    return { log, db: Flume(log).use('sum', Reduce(1, (sum, { n }) => sum + n, null, null, 0)).use('index', Level(1, ({ n }) => [n])) }
  }
  const appended = []
  let { log, db } = make()
  const append = (n) => promised(cb => db.append({ n }, cb)).then(seq => { appended[n] = seq })
  const check = async (what, expected) => {
    t.equal(await promised(cb => db.sum.get({}, cb)), expected.reduce((a, b) => a + b, 0), `${what}: flumeview-reduce`)
    const found = []
    for (const n of expected) found.push((await promised(cb => db.index.get(n, cb))).n)
    t.deepEqual(found, expected, `${what}: flumeview-level`)
  }
  for (let n = 0; n < 100; n++) await append(n)
  await check('before', numbers(100))
  for (let n = 0; n < 100; n += 10) await promised(cb => db.del(appended[n], cb))
  await promised(cb => log.compact(cb))
  await append(100)
  const kept = numbers(101).filter(n => n === 100 || n % 10 !== 0)
  await check('online', kept)
  await promised(cb => db.close(cb))

  const alone = await open(file, { ...SMALL, codec })
  for await (const { value: { n }, seq } of alone.stream()) if (n >= 50) await alone.del(seq)
  await alone.compact()
  await alone.close()
  ;({ log, db } = make())
  await check('after a restart', kept.filter(n => n < 50))
  await append(500)
  await check('and goes on', [...kept.filter(n => n < 50), 500])
  await promised(cb => db.close(cb))
})

tape('a compaction under flumedb ends streams of the log: what appends, waits for `since` or follows a cursor goes on', async (t) => {
  const log = FlumeLog(testFolder(t)('log'), { ...SMALL, codec })
  const db = Flume(log)
  const wrapped = wrap(log)
  await wrapped.append([{ n: 0 }, { n: 1 }])
  const since = wrapped.since.changes()
  await since.next()
  const jobs = wrapped.cursor('jobs').stream({ live: true, seqs: false })
  const views = wrapped.stream({ live: true, seqs: false })
  for (const stream of [jobs, views]) for (const n of numbers(2)) t.deepEqual(await stream.next(), { value: { n }, done: false })
  const job = jobs.next()
  const viewed = codeOf(views.next())
  let compacted
  const stored = wrapped.appendFrom((async function * () {
    await new Promise(resolve => { compacted = resolve })
    yield { n: 2 }
  })())
  const [changed, called] = [since.next(), wrapped.since.next()]
  const { start } = await wrapped.compact()
  t.equal(await viewed, 'flumelog:compacted')
  t.ok((await changed).value > start)
  t.ok(await called > start)
  compacted()
  t.equal((await stored).seq, log.since.value)
  t.deepEqual((await job).value, { n: 2 })
  await promised(cb => db.close(cb))
})

tape('a view of flumedb gets no new seq before onCompact has told of the compaction', async (t) => {
  const log = FlumeLog(testFolder(t)('log'), { ...SMALL, codec })
  const { error } = console
  console.error = () => {}
  t.teardown(() => { console.error = error })
  const events = []
  const since = Obv()
  since.set(-1)
  const db = Flume(log).use('seqs', () => ({
    since,
    methods: {},
    createSink: (cb) => pull.drain(({ seq }) => {
      events.push(seq < log.start ? 'old' : `new, and since is ${log.since.value < log.start ? 'old' : 'new'}`)
      since.set(seq)
    }, cb),
    destroy (cb) {
      since.set(-1)
      cb(null)
    },
    close: (cb) => cb(null)
  }))
  await promised(cb => db.append([{ n: 0 }, { n: 1 }], cb))
  events.length = 0
  let later
  log.onCompact(() => {
    events.push('compacted')
    later = promised(cb => log.stream({ old: false })(null, cb))
  })
  await promised(cb => log.compact(cb))
  await promised(cb => db.seqs.ready(cb))
  t.deepEqual(events, ['compacted', 'new, and since is new', 'new, and since is new'])
  await promised(cb => db.append({ n: 2 }, cb))
  t.deepEqual((await later).value, { n: 2 }, 'a stream that is started then goes on')
  await promised(cb => db.close(cb))
})

/** What was acknowledged is published in the turn after that. */
function published () {
  return event(setImmediate)
}

function numbers (count) {
  return Array.from({ length: count }, (_, i) => i)
}

async function collect (stream) {
  const values = []
  for await (const { value } of stream) values.push(String(value))
  return values
}

async function next (stream) {
  const { value, done } = await stream.next()
  if (done) throw new Error('the stream has ended')
  return String(value.value)
}

function promised (start) {
  return new Promise((resolve, reject) => start((err, value) => err ? reject(err) : resolve(value)))
}
