'use strict'

// Of a cluster of three, the leader is killed, restarted, stopped and continued in the middle of appends and live streams.

const test = require('tape')
const { withDisturbances, pause } = require('./helpers/disturbed-streams')
const { closeLogs } = require('./helpers/jetstream')
const { leaderOf } = require('./helpers/leader')
const { withNats, startCluster } = require('./helpers/nats')
const { thorough } = require('../../../test/helpers/thorough')

withNats('a log in a stream on three servers', (file) => {
  test('a leader that is killed, restarted, stopped and continued', async (t) => {
    const servers = await startCluster(file)
    await withDisturbances(t, servers.map(({ url }) => url), { replicas: 3, timeout: 60_000 }, async (round, stream) => {
      for (let i = 0; i < (thorough ? 6 : 2); i++) {
        const leader = await leaderOf(servers, stream)
        if (i % 2 === 0) {
          await round(() => leader.stop())
          await round(() => leader.start())
        } else {
          leader.send('SIGSTOP')
          await round(() => pause(500))
          leader.send('SIGCONT')
          await round(async () => {})
        }
      }
    })
    await Promise.all(servers.map(server => server.stop()))
  })

  test.onFinish(closeLogs)
})
