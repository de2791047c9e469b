'use strict'

// A record whose deletion was acknowledged is not returned any more, by whichever of three servers answers.

const test = require('tape')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, startCluster, streamName } = require('./helpers/nats')
const { codeOf, collect } = require('../../../test/helpers/reading')

const RECORDS = 60

withNats('deletions in a stream on three servers', (file) => {
  test('a record is not returned once its deletion was acknowledged, although replicas lag behind', async (t) => {
    const servers = await startCluster(file)
    const log = openLog({ url: servers.map(({ url }) => url) }, { stream: streamName(), replicas: 3, timeout: 60_000 })
    await log.append(Array.from({ length: RECORDS }, (_, i) => `record ${i + 1}`))
    let returned = 0
    for (let seq = 1; seq <= RECORDS; seq++) {
      // so that replicas have something to do
      const appended = log.append(Array.from({ length: 200 }, () => Buffer.alloc(1000, 1)))
      await log.del(seq)
      const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(log.get(seq))))
      const [first] = await collect(log.log, { gte: seq, limit: 1 })
      returned += codes.filter(code => code !== 'flumelog:deleted').length + (first.seq === seq ? 1 : 0)
      await appended
    }
    t.equal(returned, 0)
    await log.close()
    await Promise.all(servers.map(server => server.stop()))
  })

  test.onFinish(closeLogs)
})
