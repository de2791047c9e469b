'use strict'

// Worker threads and cluster workers count as processes that share a log.

const tape = require('tape')
const cluster = require('cluster')
const path = require('path')
const { Worker } = require('worker_threads')
const { testFolder } = require('../helpers/folder')
const { shared, inTime, numbersIn, upTo } = require('../helpers/sharing')
const { event } = require('../helpers/reading')
const { runtime } = require('../helpers/runtime')
const { numbered } = require('../helpers/numbered')

// Bun keeps the files and sockets of a terminated worker open, and so its lock
tape('a worker thread that owns a log can be terminated', { skip: runtime === 'bun' }, async (t) => {
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
