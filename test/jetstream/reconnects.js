'use strict'

// The server, or the leader of a cluster, is killed, stopped and continued in the middle of appends and live streams: what is appended is
// stored once and in order, and nobody who reads skips or repeats a record.

const test = require('tape')
const pull = require('pull-stream')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const { openLog, closeLogs } = require('../helpers/jetstream')
const { withNats, startServer, startCluster, streamName } = require('../helpers/nats')
const { collect, codeOf, isSame } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const codec = require('flumecodec').json
const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const pause = (milliseconds) => new Promise(resolve => setTimeout(resolve, milliseconds))

/** Appends numbers, some at a time, until it is stopped. */
class Appending {
  /** @param {any} log @param {number} inFlight */
  constructor (log, inFlight) {
    this.log = log
    this.last = 0
    /** By number. @type {number[]} */
    this.seqs = [0]
    this.longest = 0
    this.acknowledgedAt = performance.now()
    this.isStopped = false
    this.done = Promise.all(Array.from({ length: inFlight }, () => this.run()))
  }

  async run () {
    while (!this.isStopped) {
      const number = ++this.last
      this.seqs[number] = await this.log.append(number)
      const now = performance.now()
      this.longest = Math.max(this.longest, now - this.acknowledgedAt)
      this.acknowledgedAt = now
    }
  }

  /** Until some more are acknowledged. */
  async more (count) {
    const until = this.seqs.length + count
    while (this.seqs.length < until) await pause(5)
  }

  async stop () {
    this.isStopped = true
    await this.done
  }
}

/** What a live stream gives. */
function following (log, options) {
  const got = []
  const ended = new Promise(resolve => pull(log.stream({ live: true, ...options }), pull.drain(item => { got.push(item) }, resolve)))
  return { got, ended, until: async (count) => { while (got.length < count) await pause(5) } }
}

/**
 * Appends and follows while something happens to the servers.
 * @param {import('tape').Test} t
 * @param {string[]} urls of all servers
 * @param {object} options of the logs
 * @param {(round: (disturb: () => Promise<any>) => Promise<void>, stream: string) => Promise<void>} disturb
 */
async function withDisturbances (t, urls, options, disturb) {
  const stream = streamName()
  const open = (more = {}) => openLog({ url: urls }, { stream, codec, ...options, ...more })
  const [log, reader] = [open(), open()]
  await log.onReady()
  const streams = [following(log.log), following(reader.log), following(reader.log, { gt: 100, values: false })]
  const appending = new Appending(log, 50)
  await appending.more(200)
  await disturb(async (action) => {
    await action()
    await appending.more(300)
  }, stream)
  await appending.stop()
  const { last } = appending
  const stored = await collect(reader.log)
  t.ok(isSame(stored.map(({ value }) => value), numbers(1, last)), `all ${last} are stored once, in order`)
  t.ok(isSame(stored.map(({ seq }) => seq), numbers(1, last).map(number => appending.seqs[number])), 'under the seqs that were acknowledged')
  t.ok(isSame(await collect(reader.log, { reverse: true, seqs: false }), numbers(1, last).reverse()), 'backward, too')
  await streams[0].until(last)
  await streams[1].until(last)
  await streams[2].until(stored.filter(({ seq }) => seq > 100).length)
  t.ok(isSame(streams[0].got, stored), 'the live stream of the writer gave each once, in order')
  t.ok(isSame(streams[1].got, stored), 'and so did that of another log object')
  t.ok(isSame(streams[2].got, stored.map(({ seq }) => seq).filter(seq => seq > 100)), 'and one that started later')
  const { written, appended, inFlight, rejected } = log.log.stats()
  t.deepEqual([written.records, appended.records, inFlight.records, rejected.records], [last, last, 0, 0])
  t.comment(`the longest time without an acknowledgement: ${Math.round(appending.longest)} ms`)
  await log.close()
  await reader.close()
}

withNats('a log in a stream whose servers are killed', (file) => {
  test('a server that is killed and restarted', async (t) => {
    const server = await startServer(file)
    await withDisturbances(t, [server.url], {}, async (round) => {
      for (let i = 0; i < (thorough ? 20 : 3); i++) await round(() => server.restart(i % 3 === 2 ? 'SIGTERM' : 'SIGKILL'))
      await round(async () => {
        server.send('SIGSTOP')
        await pause(500)
        server.send('SIGCONT')
      })
    })
    await server.stop()
  })

  test('without a server, reads fail in time, appends wait, and close says what became of them', async (t) => {
    const server = await startServer(file)
    const log = openLog(server, { codec, timeout: 300 })
    await log.append(1)
    await server.stop()
    const waiting = log.append(2)
    t.equal(await codeOf(log.get(1)), 'flumelog:unreachable')
    t.equal(await codeOf(collect(log.log)), 'flumelog:unreachable')
    await server.start()
    t.equal(await waiting, 2, 'the append is made when the server is back')
    t.equal(await log.get(1), 1)
    await server.stop()
    const lost = codeOf(log.append(3))
    t.equal(await codeOf(log.close()), 'flumelog:unreachable')
    // the client may have noticed before it sent it: then it is not stored
    t.match(await lost, /^flumelog:(unreachable|closed)$/)
  })

  test('a leader that is killed, restarted, stopped and continued', async (t) => {
    const servers = await startCluster(file)
    await withDisturbances(t, servers.map(({ url }) => url), { replicas: 3, timeout: 60_000 }, async (round, stream) => {
      for (let i = 0; i < (thorough ? 20 : 2); i++) {
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

/** The server that leads a stream, once one does. */
async function leaderOf (servers, stream) {
  const nats = await connect({ servers: servers.map(({ url }) => url), maxReconnectAttempts: -1 })
  const manager = await jetstreamManager(nats, { checkAPI: false })
  try {
    for (;;) {
      const info = await manager.streams.info(stream).catch(() => null)
      const leader = servers.find(({ port }) => info?.cluster?.leader === `n${port}`)
      if (leader !== undefined) return leader
      await pause(50)
    }
  } finally {
    await nats.close()
  }
}
