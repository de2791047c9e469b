'use strict'

// What becomes of calls when the owner of a shared log is closed, or dies.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const { testFolder } = require('../helpers/folder')
const { isClosed } = require('../helpers/left-metadata')
const { sharer, shared, following, inTime, numbersIn, upTo } = require('../helpers/sharing')
const { event } = require('../helpers/reading')
const { until } = require('../helpers/followers')
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
  t.deepEqual(fs.readdirSync(path.dirname(file)).filter(name => name.endsWith('.new')), [], 'and the log is closed')
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
  t.ok(isClosed(file), 'properly')
})
