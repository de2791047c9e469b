'use strict'

// The stream is deleted, created anew, or set back to an earlier state under an open log: it ends with flumelog:replaced, and neither stores
// nor returns anything wrong.

const test = require('tape')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, startServer, streamName } = require('./helpers/nats')
const { Saved } = require('./helpers/saved')
const { codeOf, collect } = require('../../../test/helpers/reading')

const codec = require('flumecodec').json

/** @param {any} log @returns {Promise<string | undefined>} how a live stream ends */
function liveEnd (log) {
  return new Promise((resolve) => {
    const read = log.log.stream({ live: true })
    const next = () => read(null, (/** @type {any} */ end) => end ? resolve(end.code) : next())
    next()
  })
}

withNats('a log in a stream that is replaced', (file) => {
  test('a server that has lost its tail: no record is stored twice, and every call ends', async (t) => {
    const server = await startServer(file)
    const stream = streamName()
    const log = openLog(server, { stream, codec })
    for (let i = 0; i < 20; i++) await log.append(i)
    const saved = new Saved(server)
    await saved.save()
    for (let i = 20; i < 40; i++) await log.append(i)
    await saved.restore()
    t.equal(await codeOf(log.append([40, 41])), 'flumelog:replaced')
    t.equal(await codeOf(log.get(40)), 'flumelog:replaced')
    t.equal(await codeOf(log.sync()), 'flumelog:replaced')
    await log.close()
    const again = openLog(server, { stream, codec })
    t.deepEqual(await collect(again.log, { seqs: false }), Array.from({ length: 20 }, (_, i) => i))
    await again.close()
    await server.stop()
  })

  test('a server that was set back, and has other records under the same seqs since', async (t) => {
    const server = await startServer(file)
    const stream = streamName()
    const first = openLog(server, { stream, codec })
    for (let i = 0; i < 10; i++) await first.append(i)
    const saved = new Saved(server)
    await saved.save()
    const reader = openLog(server, { stream, codec })
    const end = liveEnd(reader)
    for (let i = 10; i < 20; i++) await first.append(i)
    t.equal(await reader.get(20), 19)
    server.send('SIGSTOP')
    const blocked = codeOf(reader.get(15))
    await saved.restore()
    const other = openLog(server, { stream, codec })
    await other.append(Array.from({ length: 30 }, (_, i) => `other ${i}`))
    t.equal(await blocked, 'flumelog:replaced')
    t.equal(await end, 'flumelog:replaced')
    t.equal(await codeOf(first.append('x')), 'flumelog:replaced')
    t.equal((await collect(other.log)).length, 40, 'nothing else was stored')
    await Promise.all([first, reader, other].map(log => log.close()))
    await server.stop()
  })

  test('a stream that is deleted, or deleted and created anew, while the connection stays', async (t) => {
    const server = await startServer(file)
    for (const isCreated of [false, true]) {
      const stream = streamName()
      const log = openLog(server, { stream, codec })
      await log.append(['a', 'b', 'c'])
      const reader = openLog(server, { stream, codec })
      const end = liveEnd(reader)
      await reader.get(3)
      const { manager } = await administer(server)
      await manager.streams.delete(stream)
      if (isCreated) {
        const other = openLog(server, { stream, codec })
        await other.append(['x', 'y', 'z', 'w'])
        t.equal((await collect(other.log)).length, 4)
        await other.close()
      }
      t.equal(await end, 'flumelog:replaced')
      t.equal(await codeOf(log.append('d')), 'flumelog:replaced')
      t.equal(await codeOf(log.get(1)), 'flumelog:replaced')
      await Promise.all([log.close(), reader.close()])
    }
    await server.stop()
  })

  test.onFinish(async () => {
    await closeLogs()
    await Promise.all(connections.map(nats => nats.close()))
  })
})

/** @type {any[]} */
const connections = []

/** @param {{ url: string }} server */
async function administer (server) {
  const nats = await require('@nats-io/transport-node').connect({ servers: server.url })
  connections.push(nats)
  return { nats, manager: await require('@nats-io/jetstream').jetstreamManager(nats) }
}
