'use strict'

// Two writers, a live reader, a mirror and a pull, while servers are killed, hang, are cut off from each other, and have no space left: what was
// acknowledged is stored once and in order, what got an error is not, and whoever reads gets each record once.
// `CHAOS_SECONDS=1200 node packages/jetstream/test/chaos.js` goes on for twenty minutes; `SEED` repeats the disturbances, not their timing.

const test = require('tape')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const FlumeLog = require('flumelog-random-access-file')
const { mirror } = require('..')
const { following, pause } = require('./helpers/disturbed-streams')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { compare } = require('./helpers/mirrors')
const { withNats, startServer, streamName } = require('./helpers/nats')
const { PartitionedCluster } = require('./helpers/partition')
const { Pulling, pullOnce, isCopy } = require('./helpers/pulling')
const { testFolder } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')
const { randomFrom } = require('../../../test/helpers/random')
const { collect } = require('../../../test/helpers/reading')

const SECONDS = Number(process.env.CHAOS_SECONDS ?? 2)
const TIMEOUT = 120_000
const WRITERS = 2
const IN_FLIGHT = 20

/** Appends `WRITER NUMBER`, some at a time, one by one or as arrays, until it is stopped. */
class Writer {
  /** @param {any} log @param {number} name @param {{ below: (n: number) => number }} random */
  constructor (log, name, random) {
    this.log = log
    this.name = name
    this.random = random
    this.appended = 0
    /** By record: its seq, if that is known, or the code of the error. @type {Map<string, number | string>} */
    this.outcomes = new Map()
    this.acknowledged = 0
    this.longest = 0
    this.isStopped = false
    this.done = Promise.all(Array.from({ length: IN_FLIGHT }, () => this.run()))
  }

  async run () {
    while (!this.isStopped) {
      const texts = Array.from({ length: this.random.below(4) === 0 ? 1 + this.random.below(5) : 1 }, () => `${this.name} ${this.appended++}`)
      const start = performance.now()
      try {
        const seq = await this.log.append(texts)
        texts.forEach((text, i) => this.outcomes.set(text, seq - texts.length + 1 + i))
        this.acknowledged++
      } catch (err) {
        for (const text of texts) this.outcomes.set(text, err.code)
        await pause(20)
      }
      this.longest = Math.max(this.longest, performance.now() - start)
    }
  }

  /** @param {number} count of calls that are to be acknowledged */
  async more (count) {
    const until = this.acknowledged + count
    while (this.acknowledged < until) await pause(5)
  }

  async stop () {
    this.isStopped = true
    await this.done
  }

  /** @param {{ seq: number, value: string }[]} stored @returns {string[]} what is wrong */
  problems (stored) {
    const own = stored.filter(({ value }) => value.startsWith(`${this.name} `))
    const numbers = own.map(({ value }) => Number(value.split(' ')[1]))
    const problems = numbers.flatMap((number, i) => i > 0 && number <= numbers[i - 1] ? [`${number} follows ${numbers[i - 1]}`] : [])
    const seqs = new Map(own.map(({ seq, value }) => [value, seq]))
    for (const [text, outcome] of this.outcomes) {
      const seq = seqs.get(text)
      if (typeof outcome === 'number' ? seq !== outcome : seq !== undefined && outcome !== 'flumelog:unreachable') problems.push(`${text} got ${outcome}, and is at ${seq}`)
    }
    return problems
  }
}

/**
 * @param {import('tape').Test} t
 * @param {{ url: string | string[] }} all servers
 * @param {number} replicas
 * @param {{ [name: string]: (random: any) => Promise<() => any> }} disturbances each returns what ends it
 */
async function chaos (t, all, replicas, disturbances) {
  const seed = Number(process.env.SEED ?? Date.now() % 1e6)
  t.comment(`SEED=${seed}`)
  const random = randomFrom(seed)
  const folder = testFolder(t)
  const [stream, mirrored] = [streamName(), streamName()]
  const open = () => openLog(all, { stream, replicas, codec: 'json', timeout: TIMEOUT })
  const logs = Array.from({ length: WRITERS + 1 }, open)
  const reader = logs[WRITERS]
  await reader.append('first')
  const live = following(reader.log)
  await live.until(1)
  const pulling = new Pulling(all, stream, folder('copy'))
  const source = promises(FlumeLog(folder('log')))
  await source.append('first')
  const stop = new AbortController()
  const mirroring = mirror(source.log, { servers: all.url, stream: mirrored, replicas, timeout: TIMEOUT }, { signal: stop.signal }).catch(err => err)
  const writers = logs.slice(0, WRITERS).map((log, i) => new Writer(log, i, random))
  const work = { isStopped: false, appended: 0 }
  const growing = (async () => {
    for (; !work.isStopped; work.appended++) {
      const seq = await source.append(`record ${work.appended}`)
      if (work.appended % 50 === 0) await source.del(seq)
      await pause(5)
    }
  })()

  // storage is full: by a limit of the stream
  const nats = await connect({ servers: all.url, maxReconnectAttempts: -1 })
  const manager = await jetstreamManager(nats, { checkAPI: false })
  /** @param {() => Promise<any>} request until a server answers */
  const ask = async (request) => {
    for (;;) {
      const answer = await request().catch(() => null)
      if (answer !== null) return answer
      await pause(100)
    }
  }
  const limit = (/** @type {number} */ bytes) => ask(() => manager.streams.update(stream, { max_bytes: bytes }))
  const kinds = {
    ...disturbances,
    full: async () => {
      const { state: { bytes } } = await ask(() => manager.streams.info(stream))
      await limit(bytes + 1000)
      return () => limit(-1)
    }
  }
  const counts = Object.fromEntries(Object.keys(kinds).map(name => [name, 0]))
  const names = Object.keys(kinds)
  const end = performance.now() + SECONDS * 1000
  for (let round = 0; round < names.length || performance.now() < end; round++) {
    const name = round < names.length ? names[round] : random.pick(names)
    const finish = await kinds[name](random)
    // others go on without the server, unless there is none, or no space
    if (replicas > 1 && (name === 'cut' || name === 'hang')) await Promise.race([writers[0].more(30), pause(20_000)])
    else await pause(random.below(500))
    await finish()
    await Promise.all(writers.map(writer => writer.more(30)))
    counts[name]++
  }
  await Promise.all(writers.map(writer => writer.stop()))
  work.isStopped = true
  await growing
  const stored = await collect(reader.log)
  for (const writer of writers) t.deepEqual(writer.problems(stored).slice(0, 5), [], `writer ${writer.name}: ${writer.acknowledged} calls acknowledged, the longest took ${Math.round(writer.longest)} ms`)
  await live.until(stored.length)
  t.equal(live.got.findIndex(({ seq, value }, i) => seq !== stored[i].seq || value !== stored[i].value), -1, `the live stream gave all ${stored.length} records, in order`)
  await pulling.until(({ seq }) => seq >= stored[stored.length - 1].seq)
  t.equal(await pulling.stop(), 'stopped')
  await pullOnce(all, stream, folder('copy'), { timeout: TIMEOUT })
  await isCopy(t, all, stream, folder('copy'), 'the copy')
  stop.abort(new Error('done'))
  t.equal((await mirroring).message, 'done', 'the mirror went on')
  await mirror(source.log, { servers: all.url, stream: mirrored, timeout: TIMEOUT }, { live: false })
  await compare(t, all.url, mirrored, source, `${work.appended} records mirrored`)
  t.comment(JSON.stringify(counts))
  await nats.close()
  await source.close()
  await Promise.all(logs.map(log => log.close()))
}

const hang = async (/** @type {any} */ server, /** @type {any} */ random) => {
  server.send('SIGSTOP')
  await pause(random.below(1000))
  return () => server.send('SIGCONT')
}

withNats('chaos', (file) => {
  test('two writers, a live reader, a mirror and a pull with one server that is killed, hangs, and is full', async (t) => {
    const server = await startServer(file)
    await chaos(t, server, 1, {
      kill: async () => { await server.stop(); return () => server.start() },
      hang: (random) => hang(server, random)
    })
    await server.stop()
  })

  test('the same with three servers, one of which is killed, hangs, or is cut off at a time, and without space', async (t) => {
    const cluster = await PartitionedCluster.start(file)
    const { servers } = cluster
    await chaos(t, { url: cluster.urls }, 3, {
      kill: async (random) => { const server = random.pick(servers); await server.stop(); return () => server.start() },
      hang: (random) => hang(random.pick(servers), random),
      cut: async (random) => { const server = random.pick(servers); cluster.cut(server); return () => cluster.heal(server) }
    })
    await cluster.stop()
  })

  test.onFinish(closeLogs)
})
