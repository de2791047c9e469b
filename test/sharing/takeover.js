'use strict'

// What becomes of calls when the owner of a shared log is closed, dies, or does not answer.

const tape = require('tape')
const cluster = require('cluster')
const fs = require('fs')
const path = require('path')
const pull = require('pull-stream')
const { execFileSync } = require('child_process')
const { Worker } = require('worker_threads')
const { testFolder } = require('../helpers/folder')
const { sharer, shared, following, inTime, numbersIn, upTo } = require('../helpers/sharing')
const { codeOf, event } = require('../helpers/reading')
const { until } = require('../helpers/followers')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { numbered } = require('../helpers/numbered')

tape('records in flight when the owner is closed are stored once', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const clients = [shared(file), shared(file)]
  await Promise.all(clients.map(client => client.onReady()))
  const appends = clients.map(() => [])
  let isOver = false
  const busy = clients.map(async (client, i) => {
    for (let number = 1; number < 1e6; number++) {
      if (isOver) break
      appends[i].push(...client.number(i * 1e6 + number))
      await event(setImmediate)
    }
  })
  await Promise.all(appends.map(list => list[0]))
  const { code } = await owner.call('close')
  t.equal(code, undefined, 'the owner is closed')
  await until(() => clients.some(({ log }) => log.role === 'owner'))
  isOver = true
  await Promise.all(busy)
  const seqs = await inTime(Promise.all(appends.map(list => Promise.all(list))), 'an append')
  t.ok(seqs.every(list => list.every((seq, i) => i === 0 || seq > list[i - 1])), 'every record got its seq')
  for (const client of clients.reverse()) await inTime(client.close(), 'close')
  const numbers = await numbersIn(file)
  for (const [i, list] of appends.entries()) {
    t.deepEqual(numbers.filter(number => Math.floor(number / 1e6) === i), upTo(i * 1e6 + list.length, i * 1e6 + 1), 'each process\'s records are there once, in order')
  }
})

tape('a program whose last call is to close a log that others use closes it', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file)
  await client.append(numbered(1, 20))
  owner.child.stdin.end = () => {}
  const { code } = await owner.call('close')
  t.equal(code, undefined, 'it is called back')
  t.equal((await owner.over).code, 0, 'the program ends by itself')
  await client.append(numbered(2, 20))
  await client.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)).filter(name => name.endsWith('recovery-point')), [], 'and the log is closed')
})

tape('records that the owner stored and did not acknowledge before it was killed keep their seqs', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  await owner.call('append', { from: 1 })
  const client = shared(file)
  await client.onReady()
  await owner.call('mute')
  const appends = client.number(2, 50)
  const reader = require('../..')(file, { readOnly: true })
  await following(reader).until(51)
  t.equal(client.log.stats().inFlight.records, 50, 'they are in the file, and the client has not heard')
  await owner.kill()
  const seqs = await inTime(Promise.all(appends), 'an append')
  t.deepEqual(seqs, upTo(51, 2).map(number => (number - 1) * 24), 'each is where it was')
  t.equal(client.log.role, 'owner', 'for the next owner')
  await client.append(numbered(52, 20))
  await client.close()
  await event(resolve => reader.close(resolve))
  t.deepEqual(await numbersIn(file), upTo(52), 'once')
})

tape('records that a killed owner has never read are stored by the next', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const clients = [shared(file), shared(file)]
  await Promise.all(clients.map(client => client.onReady()))
  owner.signal('SIGSTOP')
  const appends = clients.flatMap((client, i) => client.number(1 + i * 100, 100))
  await event(setImmediate)
  await owner.kill()
  await inTime(Promise.all(appends), 'an append')
  t.deepEqual(clients.map(({ log }) => log.role).sort(), ['client', 'owner'], 'one of them is the owner')
  for (const client of clients) await inTime(client.close(), 'close')
  t.deepEqual((await numbersIn(file)).sort((a, b) => a - b), upTo(200), 'once')
})

tape('calls get an error while the owner is stopped, and go on when it continues', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file, { timeout: 100 })
  const seq = await client.append(numbered(1, 20))
  owner.signal('SIGSTOP')
  const calls = [...client.number(2, 3), client.sync(), client.del(seq), client.append([numbered(5, 20)], { sync: true })]
  for (const call of calls) t.equal(await inTime(codeOf(call), 'a call'), 'flumelog:unreachable', 'its outcome is unknown')
  t.equal(await inTime(codeOf(client.append(numbered(6, 20))), 'an append'), 'flumelog:unreachable', 'so it is for a later one')
  const late = client.append(numbered(7, 20))
  owner.signal('SIGCONT')
  t.equal(typeof await inTime(late, 'an append'), 'number', 'one that waits when the owner continues is stored')
  await client.append(numbered(8, 20))
  await inTime(client.close(), 'close')
  await owner.call('close')
  const numbers = await numbersIn(file)
  t.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b), 'none is there twice')
  t.deepEqual(numbers.slice(-2), [7, 8], 'those with an answer are')
})

tape('calls get an error while the owner does something else, and go on after it', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file, { timeout: 100 })
  await client.append(numbered(1, 20))
  const blocked = owner.call('block', { milliseconds: 1000 })
  await owner.message(({ what }) => what === 'blocking')
  t.equal(await inTime(codeOf(client.append(numbered(2, 20))), 'an append'), 'flumelog:unreachable', 'the outcome is unknown')
  await blocked
  await client.append(numbered(3, 20))
  await inTime(client.close(), 'close')
  await owner.call('close')
  t.deepEqual((await numbersIn(file)).filter(number => number !== 2), [1, 3], 'what was acknowledged is there')
})

tape('what a given-up record was is not sent again to the next owner', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file, { timeout: 100 })
  await client.append(numbered(1, 20))
  owner.signal('SIGSTOP')
  t.equal(await inTime(codeOf(client.append(numbered(2, 20))), 'an append'), 'flumelog:unreachable', 'it is given up')
  const next = client.append(numbered(3, 20))
  await owner.kill()
  await inTime(next, 'an append')
  await client.close()
  t.deepEqual(await numbersIn(file), [1, 3], 'it does not come later')
})

tape('records of a process that is stopped while the owner dies are stored once, when it continues', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const sleeper = sharer(t, file)
  await sleeper.opened()
  const other = shared(file)
  await other.onReady()
  await owner.call('mute')
  const appended = sleeper.call('append', { from: 1, count: 20 })
  const reader = require('../..')(file, { readOnly: true })
  await following(reader).until(20)
  sleeper.signal('SIGSTOP')
  await owner.kill()
  await inTime(other.append(numbered(21, 20)), 'an append')
  t.equal(other.log.role, 'owner', 'another process takes over')
  sleeper.signal('SIGCONT')
  const { results } = await appended
  t.deepEqual(results.map(({ seq }) => seq), upTo(20).map(number => (number - 1) * 24), 'they are found')
  await sleeper.call('append', { from: 22 })
  await event(resolve => reader.close(resolve))
  await sleeper.call('close')
  await other.close()
  t.deepEqual(await numbersIn(file), upTo(22), 'once')
})

tape('a process that becomes the owner while it closes the log closes it', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file)
  await client.append(numbered(1, 20))
  owner.signal('SIGSTOP')
  const append = client.append(numbered(2, 20))
  const closed = client.close()
  await event(setImmediate)
  await owner.kill()
  t.equal(await inTime(append, 'an append'), 24, 'what was appended before is stored')
  await inTime(closed, 'close')
  t.deepEqual(await numbersIn(file), [1, 2], 'and the log is closed')
  t.notOk(fs.existsSync(file + '.recovery-point'), 'properly')
})

tape('a record is not taken for stored because another program wrote where it was to be', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file, {}, { dieBeforeWriting: 2 })
  await owner.opened()
  const client = shared(file)
  await client.append(numbered(1, 20))
  // the owner dies when it has announced the record and not written it
  const append = codeOf(client.append(numbered(2, 20)))
  await event(setImmediate)
  // meanwhile, this process does nothing
  execFileSync(process.execPath, [path.join(__dirname, '../helpers/programs/append-unshared.js'), JSON.stringify({ file, number: 3 })])
  t.equal(await inTime(append, 'an append'), 'flumelog:unreachable', 'it gets an error, not the seq of another')
  await client.append(numbered(4, 20))
  await client.close()
  t.deepEqual(await numbersIn(file), [1, 3, 4], 'what was acknowledged is there')
})

tape('a live stream of a client sees the last record, though its reads take a while', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file, { blocking: false })
  const follower = following(client.log)
  for (let number = 1; number <= 3; number++) {
    await owner.call('append', { from: number })
    await follower.until(number)
  }
  t.deepEqual(follower.seen, [1, 2, 3], 'nothing more has to be appended for that')
  await client.close()
})

tape('atomic batches of a client get their seqs, from the owner and as the owner', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file)
  const batch = (from) => client.append([numbered(from, 20), numbered(from + 1, 30)], { atomic: true })
  t.deepEqual(await inTime(batch(1), 'a batch'), [0, 24], 'one by itself')
  t.deepEqual(await inTime(Promise.all([client.append(numbered(3, 20)), batch(4), batch(6), ...client.number(8, 2)]), 'a batch'),
    [65536, [131072, 131096], [196608, 196632], 262144, 262168], 'several in one turn, with others around them')
  owner.signal('SIGSTOP')
  const calls = [batch(10), client.append(numbered(12, 20)), client.append([numbered(13, 20), numbered(14, 40)]), batch(15), client.append(numbered(17, 20))]
  await event(setImmediate)
  await owner.kill()
  t.deepEqual(await inTime(Promise.all(calls), 'a batch'), [[327680, 327704], 393216, 393264, [458752, 458776], 524288], 'those that the next owner stores')
  await client.close()
  t.deepEqual(await numbersIn(file), upTo(17), 'all are there')
})

tape('a client that becomes the owner goes on with everything that it has begun', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file)
  const follower = following(client.log)
  const [first, second] = await Promise.all(client.number(1, 2))
  await follower.until(2)
  const { source, sinkDone } = pushed(client.log)
  source.push(numbered(3, 20))
  await follower.until(3)
  owner.signal('SIGSTOP')
  const appends = client.number(4, 3)
  for (let number = 7; number <= 9; number++) source.push(numbered(number, 20))
  const calls = [...appends, client.del(first), client.sync(), client.append(numbered(10, 20), { sync: true }), client.onDrain(), client.append([])]
  const get = client.get(second)
  await event(setImmediate)
  await owner.kill()
  const [fourth] = await inTime(Promise.all(calls), 'a call')
  t.equal(client.log.role, 'owner', 'it is the owner')
  t.equal(fourth, 72, 'appends have their seqs')
  t.ok((await inTime(get, 'get')).equals(numbered(2, 20)), 'reads are answered')
  source.push(numbered(11, 20))
  source.end()
  t.equal(await inTime(sinkDone, 'a sink'), null, 'a sink goes on')
  await client.append(numbered(12, 20))
  await follower.until(12)
  t.deepEqual([...follower.seen].sort((a, b) => a - b), upTo(12), 'a live stream shows each record once')
  t.deepEqual(await codeOf(client.get(first)), 'flumelog:deleted', 'a deletion is done')
  const stats = client.log.stats()
  t.deepEqual([stats.appended.records, stats.written.records, stats.inFlight.records], [12, 12, 0], 'the statistics go on')
  await client.close()
  t.deepEqual((await numbersIn(file)).sort((a, b) => a - b), upTo(12, 2), 'all are there once')
})

tape('a worker thread that owns a log can be terminated', async (t) => {
  const file = testFolder(t)('log')
  const worker = new Worker(path.join(__dirname, '../helpers/programs/share.js'), { workerData: { file } })
  const opened = await event(resolve => worker.once('message', resolve))
  t.equal(opened.role, 'owner', 'a worker thread is an owner')
  const client = shared(file)
  t.equal(await client.append(numbered(1, 20)), 0, 'its main thread is a client')
  const appends = client.number(2, 1000)
  await worker.terminate()
  appends.push(...client.number(1002, 10))
  await inTime(Promise.all(appends), 'an append')
  t.equal(client.log.role, 'owner', 'and the next owner')
  await client.close()
  t.deepEqual(await numbersIn(file), upTo(1011), 'each record is there once')
})

tape('cluster workers share a log with each other and the primary', async (t) => {
  const file = testFolder(t)('log')
  cluster.setupPrimary({ exec: path.join(__dirname, '../helpers/programs/share.js'), args: [JSON.stringify({ file })], silent: true })
  const workers = [await forked(t), await forked(t)]
  t.deepEqual(workers.map(({ opened }) => opened.isWorker), [true, true], 'both are workers')
  t.deepEqual(workers.map(({ opened }) => opened.role), ['owner', 'client'], 'the first one is the owner')
  const primary = shared(file)
  await primary.append(numbered(1, 20))
  const appends = primary.number(2, 200)
  workers[0].worker.process.kill('SIGKILL')
  await inTime(Promise.all(appends), 'an append')
  await inTime(Promise.all(primary.number(202, 9)), 'an append')
  workers[1].worker.process.kill('SIGKILL')
  await inTime(primary.append(numbered(211, 20)), 'an append')
  await primary.close()
  t.deepEqual(await numbersIn(file), upTo(211), 'each record is there once')
})

tape('without the journal of a dead owner, what was sent is given up, and nothing is stored twice', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const [client, idle] = [shared(file), shared(file)]
  await client.append(numbered(1, 20))
  await idle.onReady()
  await owner.call('mute')
  const appends = client.number(2, 3).map(codeOf)
  const reader = require('../..')(file, { readOnly: true })
  await following(reader).until(4)
  owner.signal('SIGSTOP')
  const unread = codeOf(client.append(numbered(5, 20)))
  await event(setImmediate)
  fs.rmSync(file + '.clients')
  await owner.kill()
  t.deepEqual(await inTime(Promise.all([...appends, unread]), 'an append'), Array(4).fill('flumelog:unreachable'), 'nobody knows what became of it')
  await inTime(client.append(numbered(6, 20)), 'an append')
  t.equal(typeof await inTime(idle.append(numbered(7, 20)), 'an append'), 'number', 'a client that had sent nothing has no error')
  for (const log of [client, idle]) await log.close()
  await event(resolve => reader.close(resolve))
  t.deepEqual((await numbersIn(file)).filter(number => number !== 5), [1, 2, 3, 4, 6, 7], 'no record is there twice')
})

tape('a socket that was deleted is put back, and until then nobody is disturbed', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file)
  await client.append(numbered(1, 20))
  fs.rmSync(file + '.socket')
  await client.append(numbered(2, 20))
  t.pass('one that is connected goes on')
  const late = shared(file)
  t.equal(await inTime(late.append(numbered(3, 20)), 'an append'), 48, 'another one waits')
  fs.rmSync(file + '.socket')
  await owner.kill()
  await inTime(Promise.all([client.append(numbered(4, 20)), late.append(numbered(5, 20))]), 'an append')
  t.pass('the next owner makes another')
  for (const log of [client, late]) await inTime(log.close(), 'close')
  t.deepEqual((await numbersIn(file)).sort(), upTo(5), 'each record is there once')
})

tape('while the folder is renamed, calls work or fail, and those that come after it work', async (t) => {
  const inFolder = testFolder(t)
  fs.mkdirSync(inFolder('here'))
  const file = inFolder('here/log')
  const owner = sharer(t, file)
  await owner.opened()
  const clients = [shared(file), shared(file)]
  await Promise.all(clients.map((client, i) => client.append(numbered(i + 1, 20))))
  fs.renameSync(inFolder('here'), inFolder('away'))
  await clients[0].append(numbered(3, 20))
  t.pass('an append needs the file only')
  t.equal(await inTime(codeOf(clients[0].sync()), 'a sync'), 'flumelog:replaced', 'a sync says that the file is not there')
  await owner.kill()
  const codes = await inTime(Promise.all(clients.map((client, i) => codeOf(client.append(numbered(4 + i, 20))))), 'an append')
  t.deepEqual(codes, ['flumelog:replaced', 'flumelog:replaced'], 'without an owner, nobody can become it')
  for (const client of clients) t.equal(await inTime(codeOf(client.close()), 'close'), 'flumelog:replaced', 'and closing says that not everything may be durable')
  fs.renameSync(inFolder('away'), inFolder('here'))
  const next = shared(file)
  await inTime(next.append(numbered(6, 20)), 'an append')
  t.equal(next.log.role, 'owner', 'one that opens the log again is the owner')
  await next.close()
  t.deepEqual((await numbersIn(file)).sort(), [1, 2, 3, 6], 'what was acknowledged is there')
})

tape('on a full disk appends of clients fail, a takeover waits, and all goes on when there is room', { skip: noSmallDisk === null ? false : `no small disk: ${noSmallDisk}` }, async (t) => {
  const disk = smallDisk(t)
  const file = disk.file('log')
  const owner = sharer(t, file)
  await owner.opened()
  const clients = [shared(file, { timeout: 200 }), shared(file, { timeout: 200 })]
  await Promise.all(clients.map((client, i) => client.append(numbered(i + 1, 5000))))
  disk.leave(0)
  for (const client of clients) t.equal(await inTime(codeOf(client.append(numbered(3, 20000))), 'an append'), 'ENOSPC', 'what does not fit gets ENOSPC')
  await owner.kill()
  const codes = await inTime(Promise.all(clients.map(client => codeOf(client.append(numbered(3, 20000))))), 'an append')
  t.ok(codes.every(code => ['ENOSPC', 'flumelog:unreachable'].includes(code)), `so it does without an owner: ${codes}`)
  disk.makeRoom()
  await inTime(Promise.all(clients.map((client, i) => client.append(numbered(4 + i, 20000)))), 'an append')
  t.deepEqual(clients.map(({ log }) => log.role).sort(), ['client', 'owner'], 'with room, one of them is the owner')
  for (const client of clients) await inTime(client.close(), 'close')
  t.deepEqual((await numbersIn(file)).sort(), [1, 2, 4, 5], 'what was acknowledged is there, and nothing else')
})

/** A sink, and what it is given. */
function pushed (log) {
  const source = pushable()
  const sinkDone = event(resolve => pull(source.source, log.sink(resolve)))
  return { source, sinkDone }
}

/** A pull-stream source that gives what is pushed. */
function pushable () {
  const values = []
  let waiting = null
  let isOver = false
  const answer = () => {
    if (waiting === null || (values.length === 0 && !isOver)) return
    const cb = waiting
    waiting = null
    values.length > 0 ? cb(null, values.shift()) : cb(isOver)
  }
  return {
    source: (abort, cb) => {
      if (abort) return cb(abort)
      waiting = cb
      answer()
    },
    push (value) {
      values.push(value)
      answer()
    },
    end () {
      isOver = true
      answer()
    }
  }
}

/** A cluster worker that has the log open. */
function forked (t) {
  return event(resolve => {
    const worker = cluster.fork()
    t.teardown(() => worker.process.kill('SIGKILL'))
    worker.process.stdout.on('data', (data) => {
      const opened = String(data).split('\n').find(line => line.includes('"opened"'))
      if (opened !== undefined) resolve({ worker, opened: JSON.parse(opened) })
    })
  })
}
