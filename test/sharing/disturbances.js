'use strict'

// The socket, FILE.meta or the folder of a shared log is gone, or another program writes.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const { execFileSync } = require('child_process')
const FlumeLog = require('../..')
const { logBehind } = require('../../lib/log')
const frames = require('../../lib/sharing/frames')
const { testFolder } = require('../helpers/folder')
const { sharer, shared, following, inTime, numbersIn, upTo } = require('../helpers/sharing')
const { codeOf, event } = require('../helpers/reading')
const { numbered } = require('../helpers/numbered')

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

tape('without FILE.meta of a dead owner, what was sent is given up, and nothing is stored twice', async (t) => {
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
  fs.rmSync(file + '.meta')
  await owner.kill()
  t.deepEqual(await inTime(Promise.all([...appends, unread]), 'an append'), Array(4).fill('flumelog:unreachable'), 'nobody knows what became of it')
  await inTime(client.append(numbered(6, 20)), 'an append')
  t.equal(typeof await inTime(idle.append(numbered(7, 20)), 'an append'), 'number', 'a client that had sent nothing has no error')
  for (const log of [client, idle]) await log.close()
  await event(resolve => reader.close(resolve))
  t.deepEqual((await numbersIn(file)).filter(number => number !== 5), [1, 2, 3, 4, 6, 7], 'no record is there twice')
})

tape('if the socket is deleted, connected clients go on, and the next owner creates another', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file)
  await client.append(numbered(1, 20))
  fs.rmSync(file + '.socket')
  await client.append(numbered(2, 20))
  const late = shared(file)
  const waiting = late.append(numbered(3, 20))
  await owner.kill()
  await inTime(Promise.all([client.append(numbered(4, 20)), waiting]), 'an append')
  for (const log of [client, late]) await inTime(log.close(), 'close')
  t.deepEqual((await numbersIn(file)).sort(), upTo(4), 'each record is there once')
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
  // the owner needs only the open file; the client may notice meanwhile that the log has lost its name
  const isStored = await inTime(codeOf(clients[0].append(numbered(3, 20))), 'an append') !== 'flumelog:replaced'
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
  const found = (await numbersIn(file)).sort()
  t.deepEqual(found.filter(number => isStored || number !== 3), isStored ? [1, 2, 3, 6] : [1, 2, 6], 'what was acknowledged is there')
})

tape('an append that has failed gets its error before anything is sent that the caller appends later', async (t) => {
  const file = testFolder(t)('log')
  const owner = FlumeLog(file, { shared: true })
  await new Promise(resolve => owner.onReady(resolve))
  const client = FlumeLog(file, { shared: true })
  await new Promise(resolve => client.append('stored', resolve))
  const { server } = logBehind(owner).state.opened.sharing.owner
  const { sharing } = logBehind(client).state.opened
  const [session] = server.sessions
  const { address, address: { connect } } = sharing
  let connects = 0
  address.connect = () => {
    connects++
    return connect.call(address)
  }
  // nothing is taken from it any more
  server.isClosing = true
  const told = new Promise(resolve => client.append('fails', (err) => resolve([err?.code, connects])))
  while (sharing.remote.inFlight.length === 0) await event(setImmediate)
  session.answer(frames.NACK, { error: Object.assign(new Error('EIO: simulated'), { code: 'EIO' }) })
  t.deepEqual(await told, ['EIO', 0])
  server.isClosing = false
  await new Promise(resolve => client.close(resolve))
  await new Promise(resolve => owner.close(resolve))
})
