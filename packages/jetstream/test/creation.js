'use strict'

// Programs that open a log in a stream that does not exist yet, at once.

const test = require('tape')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
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

  test('while servers of the cluster have not started yet, the stream is created when they have', async (t) => {
    const cluster = await PartitionedCluster.start(file)
    const [first, second, third] = cluster.servers
    await Promise.all(cluster.servers.map(server => server.stop()))
    await Promise.all([first, second].map(server => server.start()))
    await untilRefused(first.url)
    const options = { stream: streamName(), replicas: 3 }
    const impatient = openLog({ url: first.url }, { ...options, timeout: 500 })
    const { code, message } = await impatient.append('a').catch(err => err)
    t.equal(code, 'flumelog:unreachable')
    t.match(message, /within 500 ms: no suitable peers for placement, /)
    const log = openLog({ url: first.url }, { ...options, timeout: 30_000 })
    const appended = log.append('a')
    await third.start()
    t.equal(await appended, 1)
    await log.close()
    await cluster.stop()
  })

  test.onFinish(closeLogs)
})

/**
 * Two servers of three have elected a leader that has not heard of the third one.
 * @param {string} url of one of them
 */
async function untilRefused (url) {
  const nats = await connect({ servers: url, maxReconnectAttempts: -1 })
  const manager = await jetstreamManager(nats, { checkAPI: false })
  let message = ''
  while (!message.startsWith('no suitable peers')) {
    const name = streamName()
    message = await manager.streams.add({ name, subjects: [name], num_replicas: 3 }).then(() => '', err => err.message)
  }
  await nats.close()
}
