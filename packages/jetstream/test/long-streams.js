'use strict'

// Streams of logs that are so long that they are read by consumers: whatever becomes of these, each record is given once, in order.

const test = require('tape')
const { connect } = require('@nats-io/transport-node')
const { jetstreamManager } = require('@nats-io/jetstream')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withServer, streamName } = require('./helpers/nats')
const { collect } = require('../../../test/helpers/reading')

const COUNT = 12_000
const DELETED = [1, 2, 700, 4097, 6001, COUNT - 1]
const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const kept = numbers(1, COUNT).filter(n => !DELETED.includes(n) && (n < 5000 || n > 5999))

withServer('long streams', (shared) => {
  const name = streamName()
  const open = (options) => openLog(shared.server, { stream: name, codec: require('flumecodec').json, ...options })
  /** @type {any} */
  let nats

  const consumersOf = async () => {
    const manager = await jetstreamManager(nats)
    return { manager, consumers: await manager.consumers.list(name).next() }
  }

  /** Deletes all consumers again and again. @returns {Promise<() => Promise<void>>} ends it */
  const deleteConsumers = async () => {
    const state = { isOver: false }
    const deleting = (async () => {
      while (!state.isOver) {
        const { manager, consumers } = await consumersOf()
        for (const { name: consumer } of consumers) await manager.consumers.delete(name, consumer).catch(() => {})
      }
    })()
    return () => {
      state.isOver = true
      return deleting
    }
  }

  test('a log with gaps is filled', async () => {
    nats = await connect({ servers: shared.server.url })
    const log = open()
    await log.append(numbers(1, COUNT))
    await log.del(DELETED)
    await log.del({ gte: 5000, lt: 6000 })
    await log.close()
  })

  test('all records, ranges and limits, also from another position', async (t) => {
    const log = open()
    t.deepEqual(await collect(log.log, { seqs: false }), kept)
    t.deepEqual(await collect(log.log, { values: false, gt: 100, lte: 11_000 }), kept.filter(n => n > 100 && n <= 11_000))
    t.deepEqual(await collect(log.log, { values: false, gte: 4990, limit: 6000 }), kept.filter(n => n >= 4990).slice(0, 6000))
    t.deepEqual(await collect(log.log, { values: false, lt: 4998 }), kept.filter(n => n < 4998))
    while ((await consumersOf()).consumers.length > 0) await new Promise(resolve => setTimeout(resolve, 20))
    t.pass('no consumer is left on the server')
    await log.close()
  })

  test('consumers that are deleted while they are used', async (t) => {
    const log = open()
    const stop = await deleteConsumers()
    for (let i = 0; i < 3; i++) t.deepEqual(await collect(log.log, { seqs: false }), kept)
    await stop()
    await log.close()
  })

  test('large records, of which a window has few', async (t) => {
    const log = open({ stream: streamName(), codec: undefined })
    const records = numbers(1, 4600).map(n => Buffer.alloc(n % 400 === 0 ? 700_000 : 10, String(n)))
    for (let i = 0; i < records.length; i += 100) await log.append(records.slice(i, i + 100))
    const read = await collect(log.log, { seqs: false })
    t.equal(read.length, records.length)
    t.ok(read.every((data, i) => data.equals(records[i])))
    await log.close()
  })

  test('the server is killed and restarted while a stream is read', async (t) => {
    const log = open()
    const read = []
    await new Promise((resolve, reject) => {
      const source = log.log.stream({ live: true, seqs: false })
      source(null, function next (end, n) {
        if (end) return reject(end)
        read.push(n)
        if (read.length === kept.length) return source(true, resolve)
        if (read.length % 4000 !== 0) return source(null, next)
        shared.server.restart().then(() => source(null, next), reject)
      })
    })
    t.deepEqual(read, kept)
    await log.close()
  })

  test('all are closed', async () => {
    await nats.close()
    await closeLogs()
  })
})
