'use strict'

// What becomes of calls while the owner of a shared log does not answer, and is not dead.

const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { sharer, shared, inTime, numbersIn } = require('../helpers/sharing')
const { codeOf } = require('../helpers/reading')
const { numbered } = require('../helpers/numbered')

tape('calls get an error while the owner is stopped, and go on when it continues', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  // on a busy machine, an owner that is not stopped may be silent for some 200 ms
  const client = shared(file, { timeout: 500 })
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
  const answered = []
  // on a busy machine, an owner that does nothing else may be silent for as long
  const append = async (number) => {
    for (; await inTime(codeOf(client.append(numbered(number, 20))), 'an append') === 'flumelog:unreachable'; number += 10);
    answered.push(number)
  }
  await append(1)
  const blocked = owner.call('block', { milliseconds: 1000 })
  await owner.message(({ what }) => what === 'blocking')
  t.equal(await inTime(codeOf(client.append(numbered(2, 20))), 'an append'), 'flumelog:unreachable', 'the outcome is unknown')
  await blocked
  await append(3)
  // it asks the owner for a last time
  const closed = await inTime(codeOf(client.close()), 'close')
  t.match(closed, /^(no error|flumelog:unreachable)/)
  await owner.call('close')
  t.deepEqual((await numbersIn(file)).filter(number => answered.includes(number)), answered, 'what was acknowledged is there')
})

tape('what a given-up record was is not sent again to the next owner', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file)
  await owner.opened()
  const client = shared(file, { timeout: 1000 })
  await client.append(numbered(1, 20))
  owner.signal('SIGSTOP')
  t.equal(await inTime(codeOf(client.append(numbered(2, 20))), 'an append'), 'flumelog:unreachable', 'it is given up')
  const next = client.append(numbered(3, 20))
  await owner.kill()
  await inTime(next, 'an append')
  await client.close()
  t.deepEqual(await numbersIn(file), [1, 3], 'it does not come later')
})

tape('an owner that holds answers back for longer than timeout is not unreachable', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file, { ackInterval: 1600 })
  await owner.opened()
  const client = shared(file, { timeout: 800 })
  await inTime(client.onReady(), 'opening')
  t.equal(await inTime(client.append(numbered(1, 20)), 'an append'), 0, 'the client waits for the answer')
  await inTime(client.close(), 'close')
})
