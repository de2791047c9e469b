'use strict'

// The scheduler's account of this thread.

const test = require('tape')
const { Worker } = require('worker_threads')
const fs = require('fs')
const { bytesFetched, schedstat } = require('../lib/schedstat')
const { testFolder } = require('./helpers/folder')

test('a thread that waits has slept', { skip: schedstat() === null }, (t) => {
  const before = schedstat()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
  const after = schedstat()
  t.ok(after.sleeps > before.sleeps, `${before.sleeps} and ${after.sleeps} sleeps`)
  t.ok(after.delay >= before.delay && before.delay >= 0, `${before.delay} and ${after.delay} ms`)
  t.end()
})

test('each thread has an account of its own', { skip: schedstat() === null }, async (t) => {
  const worker = new Worker(`
    const { schedstat } = require(${JSON.stringify(require.resolve('../lib/schedstat'))})
    schedstat()
    require('worker_threads').parentPort.postMessage(schedstat())
  `, { eval: true })
  const other = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  for (let i = 0; i < 200; i++) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0.1)
  t.notEqual(other.sleeps, schedstat().sleeps)
  await worker.terminate()
})

test('a read of what is in memory fetches nothing', { skip: bytesFetched() === null }, (t) => {
  const file = testFolder(t)('file')
  fs.writeFileSync(file, Buffer.alloc(100000, 1))
  const before = bytesFetched()
  fs.readFileSync(file)
  t.equal(bytesFetched(), before)
  t.end()
})
