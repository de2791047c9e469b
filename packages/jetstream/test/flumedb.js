'use strict'

// flumedb on a log in a stream, with a view in files and one in memory, and with the suites of test-flumeview-index.

const path = require('path')
const test = require('tape')
const Flume = require('flumedb')
const Level = require('flumeview-level')
const Reduce = require('flumeview-reduce')
const JetStreamLog = require('..')
const { processFolder } = require('../../../test/helpers/folder')
const { withServer, streamName } = require('./helpers/nats')

const codec = require('flumecodec').json
const call = (run) => new Promise((resolve, reject) => run((err, value) => err ? reject(err) : resolve(value)))

withServer('flumedb on a log in a stream', (shared) => {
  const folder = processFolder()
  /** Two of them are two machines: each has views of its own. */
  const open = (stream, machine) => Flume(JetStreamLog({ servers: shared.server.url, stream, codec, filename: path.join(folder, stream, machine, 'log') }))
    .use('index', Level(1, ({ key }) => [key]))
    .use('sum', Reduce(1, (sum, { amount }) => sum + amount, null, null, 0))

  test('views are built from what any machine appends, and go on where they were when they are opened again', async (t) => {
    const stream = streamName()
    const [a, b] = [open(stream, 'a'), open(stream, 'b')]
    await call(cb => a.append({ key: 'x', amount: 1 }, cb))
    await call(cb => b.append([{ key: 'y', amount: 2 }, { key: 'z', amount: 3 }], cb))
    // a view is read when it has all that the log of its machine knows
    await call(cb => a.append({ key: 'last', amount: 4 }, cb))
    await new Promise(resolve => b.sum.since((seq) => { if (seq === 4) resolve() }))
    for (const db of [a, b]) {
      t.equal(await call(cb => db.sum.get({}, cb)), 10)
      t.deepEqual(await call(cb => db.index.get('y', cb)), { key: 'y', amount: 2 })
    }
    await call(cb => a.close(cb))
    await call(cb => b.append({ key: 'x', amount: 10 }, cb))
    await call(cb => b.close(cb))
    const again = open(stream, 'a')
    t.equal(await call(cb => again.sum.get({}, cb)), 20)
    t.deepEqual(await call(cb => again.index.get('x', cb)), { key: 'x', amount: 10 })
    await call(cb => again.close(cb))
  })
})
