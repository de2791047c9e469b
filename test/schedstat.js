'use strict'

// The scheduler's account of this thread.

const test = require('tape')
const { Worker } = require('worker_threads')
const fs = require('fs')
const { bytesFetched, schedstat } = require('../lib/schedstat')

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

test('what a thread has fetched is what the system says of it', { skip: bytesFetched() === null }, (t) => {
  const told = () => Number(/^read_bytes: (\d+)$/m.exec(fs.readFileSync('/proc/thread-self/io', 'utf8'))[1])
  // it may fetch some of the program between two calls
  const [before, fetched, after] = [told(), bytesFetched(), told()]
  t.ok(fetched >= before && fetched <= after, `${fetched}`)
  t.end()
})
