'use strict'

// Programs that open a log in a stream that does not exist yet, at once.

const test = require('tape')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, streamName } = require('./helpers/nats')
const { PartitionedCluster } = require('./helpers/partition')

const ROUNDS = 10

withNats('a stream that several programs create', (file) => {
  test('with different numbers of replicas, all use the stream that is there', async (t) => {
    const cluster = await PartitionedCluster.start(file)
    const problems = []
    for (let round = 0; round < ROUNDS; round++) {
      const stream = streamName()
      const logs = [1, 3, 1, 3].map((replicas, i) => openLog({ url: cluster.urls[i % 3] }, { stream, replicas, timeout: 30_000 }))
      const seqs = await Promise.all(logs.map(log => log.append('a').catch(err => problems.push(err.message))))
      if (problems.length === 0) t.deepEqual(seqs.sort(), [1, 2, 3, 4])
      await Promise.all(logs.map(log => log.close().catch(() => {})))
    }
    t.deepEqual(problems, [])
    await cluster.stop()
  })

  test.onFinish(closeLogs)
})
