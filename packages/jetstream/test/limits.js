'use strict'

// Streams and servers with settings of their own.

const test = require('tape')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const FlumeLog = require('flumelog-random-access-file')
const JetStreamLog = require('..')
const { testFolder } = require('../../../test/helpers/folder')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, startServer, streamName } = require('./helpers/nats')
const { promises } = require('../../../test/helpers/promises')
const { codeOf, collect } = require('../../../test/helpers/reading')

const LIMIT = 16
const numbers = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => `record ${i}`)

withNats('streams and servers with settings of their own', (file) => {
  test('a server that takes fewer records at a time', async (t) => {
    const server = await startServer(file, '', { store: `limits { batch { max_msgs: ${LIMIT} } }` })
    const log = openLog(server)
    const all = await Promise.allSettled([...numbers(100), numbers(40), ...numbers(3)].map(value => log.append(value)))
    t.equal(all.filter(({ status }) => status === 'rejected').length, 0)
    t.deepEqual((await collect(log.log)).map(({ value }) => value.toString()), [...numbers(100), ...numbers(40), ...numbers(3)])
    t.equal(await codeOf(log.append(numbers(LIMIT + 1), { atomic: true })), 'flumelog:too-large')
    t.equal((await log.append(numbers(LIMIT), { atomic: true })).length, LIMIT)
    const source = promises(FlumeLog(testFolder(t)('log')))
    await source.append(numbers(100))
    const mirrored = await JetStreamLog.mirror(source.log, { servers: server.url, stream: streamName() }, { live: false })
    t.equal(mirrored.records, 100)
    await Promise.all([source.close(), log.close()])
    await server.stop()
  })

  test('of a stream whose first hundred million sequences are purged, the last records are found at once', async (t) => {
    const server = await startServer(file)
    const nats = await connect({ servers: server.url })
    const manager = await jetstreamManager(nats)
    const stream = streamName()
    const first = 100_000_000
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`], allow_direct: true, allow_atomic: true, first_seq: first })
    const log = openLog(server, { stream })
    await log.append(numbers(3))
    t.deepEqual(await collect(log.log, { reverse: true, values: false }), [first + 2, first + 1, first])
    t.equal(await codeOf(log.getPrevious(first)), 'flumelog:not-found')
    await log.close()
    const queue = streamName()
    await manager.streams.add({ name: queue, subjects: [`${queue}.>`], retention: 'workqueue', allow_direct: true, allow_atomic: true })
    const err = await openLog(server, { stream: queue }).onReady().catch(err => err)
    t.equal(err.code, 'flumelog:invalid')
    t.match(err.message, /retention is workqueue/)
    await nats.close()
    await server.stop()
  })

  test.onFinish(closeLogs)
})
