'use strict'

// A record whose deletion was acknowledged is not returned any more, by whichever of three servers answers; and one that is there is.

const test = require('tape')
const { Connection } = require('../lib/connection/connection')
const { deleteAll } = require('../lib/write/deletion')
const { Reader } = require('../lib/read/reader')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, startCluster, streamName } = require('./helpers/nats')
const { codeOf, collect } = require('../../../test/helpers/reading')

const RECORDS = 60

test('a record is not taken for deleted because a server that has hung answers in the place of the new leader', async (t) => {
  const connection = new Connection(/** @type {any} */ ({ stream: 'S', timeout: 60_000 }), 'stream S')
  connection.isConnected = true
  connection.identity.isReplicated = true
  let deleted = [1, 3]
  connection.streamInfo = async () => /** @type {any} */ ({ state: { first_seq: 1, last_seq: 3, deleted } })
  const message = { seq: 2, subject: 'S.own', data: Buffer.from('b'), time: new Date(), header: undefined }
  let answers = [null, null, message]
  const getMessage = async () => answers.shift()
  connection.manager = /** @type {any} */ ({ direct: { getMessage: async () => null }, streams: { getMessage } })
  const reader = new Reader(connection)
  t.equal((await reader.get(2, 3)).data.toString(), 'b')
  answers = [null]
  deleted = [1, 2, 3]
  t.equal(await reader.get(2, 3), null)
  answers = [null]
  t.equal(await reader.get(3, 3), null)
  answers = [null, message]
  deleted = [1, 3]
  t.equal((await reader.nextByLeader(1, () => 3))?.seq, 2, 'nor is one behind a record that is deleted')
})

test('deleting a record again is no error, though a server that lags behind has it still', async (t) => {
  const message = { seq: 2, subject: 'S.own', data: Buffer.from('b'), time: new Date(), header: undefined }
  const connection = new Connection(/** @type {any} */ ({ stream: 'S', timeout: 60_000 }), 'stream S')
  connection.isConnected = true
  let ofLeader = null
  connection.manager = /** @type {any} */ ({
    direct: { getMessage: async () => message },
    streams: {
      deleteMessage: async () => { throw Object.assign(new Error('message not found'), { name: 'JetStreamApiError', code: 10057 }) },
      getMessage: async () => ofLeader
    }
  })
  const outcome = () => codeOf(deleteAll(new Reader(connection), [2]))
  t.equal(await outcome(), 'no error, but undefined')
  ofLeader = message
  t.equal(await outcome(), 'flumelog:server', 'one that the leader has was not deleted')
})

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
