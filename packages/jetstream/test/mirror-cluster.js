'use strict'

// Of a cluster of three, the leader is killed, restarted, stopped and continued in the middle of mirroring. `RUNS=20 node test/jetstream/mirror-cluster.js` does it twenty times.

const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { mirror } = require('..')
const { until } = require('../../../test/helpers/command-line')
const { testFolder } = require('../../../test/helpers/folder')
const { leaderOf } = require('./helpers/leader')
const { compare } = require('./helpers/mirrors')
const { withNats, startCluster, streamName } = require('./helpers/nats')
const { promises } = require('../../../test/helpers/promises')
const { collect } = require('../../../test/helpers/reading')
const { thorough } = require('../../../test/helpers/thorough')

/** Each takes an election: some 10 seconds. */
const DISTURBANCES = Number(process.env.RUNS ?? (thorough ? 6 : 2))

withNats('a mirror on three servers', (file) => {
  test('a leader that is killed, restarted, stopped and continued: the stream equals the log', async (t) => {
    const servers = await startCluster(file)
    const urls = servers.map(({ url }) => url)
    const stream = streamName()
    const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 1024 }))
    const stop = new AbortController()
    let latest = { records: 0, lag: 0 }
    let [at, longest] = [performance.now(), 0]
    await log.append('record 0')
    const running = mirror(log.log, { servers: urls, stream, replicas: 3, timeout: 60_000 }, {
      signal: stop.signal,
      onProgress: (progress) => {
        longest = Math.max(longest, performance.now() - at)
        at = performance.now()
        latest = progress
      }
    }).catch(err => err)
    let appended = 1
    /** Appends until some more are mirrored. */
    const more = async (count) => {
      const wanted = latest.records + count
      while (latest.records < wanted) {
        await log.append(Array.from({ length: 10 }, () => `record ${appended++}`))
        if (appended % 500 < 10) await log.del((await collect(log.log, { values: false })).at(-100))
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    }
    await more(200)
    at = performance.now()
    longest = 0
    for (let i = 0; i < DISTURBANCES; i++) {
      const leader = await leaderOf(servers, stream)
      if (i % 2 === 0) await leader.stop()
      else leader.send('SIGSTOP')
      await more(200)
      if (i % 2 === 0) await leader.start()
      else leader.send('SIGCONT')
    }
    latest.lag = 1
    await until(() => latest.lag === 0)
    stop.abort(new Error('done'))
    t.equal((await running).message, 'done')
    t.comment(`${appended} records; the longest time without progress: ${Math.round(longest)} ms`)
    await mirror(log.log, { servers: urls, stream, timeout: 60_000 }, { live: false })
    await compare(t, urls, stream, log, 'after all')
    await log.close()
    await Promise.all(servers.map(server => server.stop()))
  })
})
