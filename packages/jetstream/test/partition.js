'use strict'

// Of a cluster of three, the server to which a client is connected is cut off from the two others, and still answers whatever needs none of them.

const test = require('tape')
const { connect } = require('@nats-io/transport-node')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { leaderOf } = require('./helpers/leader')
const { withNats, streamName } = require('./helpers/nats')
const { following } = require('./helpers/disturbed-streams')
const { PartitionedCluster } = require('./helpers/partition')
const { collect } = require('../../../test/helpers/reading')

const codec = require('flumecodec').json

withNats('a log in a stream whose server is cut off', (file) => {
  test('it goes on with another server, and so do live streams', { timeout: 120_000 }, async (t) => {
    const cluster = await PartitionedCluster.start(file)
    const stream = streamName()
    const first = openLog({ url: cluster.urls }, { stream, codec, replicas: 3, timeout: 60_000 })
    await first.append([1, 2])
    const leader = await leaderOf(cluster.servers, stream)
    const others = cluster.servers.filter(server => server !== leader)
    // the first one of the list is the one it is connected to
    const connections = await Promise.all([1, 2].map(() => connect({ servers: [leader, ...others].map(({ url }) => url), noRandomize: true, maxReconnectAttempts: -1 })))
    const [writer, reader] = connections.map(connection => openLog({ url: undefined }, { connection, stream, codec, timeout: 60_000 }))
    const elsewhere = openLog({ url: others.map(({ url }) => url) }, { stream, codec, timeout: 60_000 })
    const live = following(reader.log)
    await live.until(2)
    t.equal(await writer.append(3), 3)
    await live.until(3)
    cluster.cut(leader)
    t.equal(await writer.append(4), 4)
    t.equal(await elsewhere.append(5), 5)
    await live.until(5)
    t.deepEqual(live.got.map(({ value }) => value), [1, 2, 3, 4, 5])
    t.deepEqual(await collect(elsewhere.log, { seqs: false }), [1, 2, 3, 4, 5])
    cluster.heal(leader)
    t.equal(await writer.append(6), 6)
    await Promise.all([first, writer, reader, elsewhere].map(log => log.close()))
    await Promise.all(connections.map(connection => connection.close()))
    await cluster.stop()
  })

  test.onFinish(closeLogs)
})
