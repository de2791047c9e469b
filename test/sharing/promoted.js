'use strict'

// Calls of a client that are pending when something else happens: it becomes the owner, or is closed.

const tape = require('tape')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { sharer, shared, following, inTime, numbersIn, upTo } = require('../helpers/sharing')
const { codeOf, event } = require('../helpers/reading')
const { numbered } = require('../helpers/numbered')

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
    [58, [82, 106], [140, 164], 198, 222], 'several in one turn, with others around them')
  owner.signal('SIGSTOP')
  const calls = [batch(10), client.append(numbered(12, 20)), client.append([numbered(13, 20), numbered(14, 40)]), batch(15), client.append(numbered(17, 20))]
  await event(setImmediate)
  await owner.kill()
  t.deepEqual(await inTime(Promise.all(calls), 'a batch'), [[246, 270], 304, 352, [396, 420], 454], 'those that the next owner stores')
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

tape('what is appended in the callback of a record that the dead owner had stored is stored, too', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file, { sync: 'never' })
  await client.onReady()
  await owner.call('mute')
  const reader = FlumeLog(file, { readOnly: true })
  const follower = following(reader)
  const second = new Promise((resolve, reject) => client.log.append(numbered(1, 20), (err) => {
    if (err) return reject(err)
    client.log.append(numbered(2, 20), (err, seq) => err ? reject(err) : resolve(seq))
  }))
  await follower.until(1)
  await owner.kill()
  t.equal(await inTime(second, 'the second append'), 24)
  await client.close()
  await event(resolve => reader.close(resolve))
  t.deepEqual(await numbersIn(file), [1, 2])
})

tape('closing a client comes after calls that wait until it has read the end of the log', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file, { blocking: false })
  const seq = await client.append(numbered(1, 20))
  const calls = [client.del(seq), client.get(seq), client.append(numbered(2, 20)), client.close()]
  const codes = await inTime(Promise.all(calls.map(codeOf)), 'a call')
  t.notOk(codes.includes('flumelog:closed'), codes.join())
  await owner.call('close')
  t.deepEqual(await numbersIn(file), [2], 'a deletion is done')
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
