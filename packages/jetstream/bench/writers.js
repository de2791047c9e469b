'use strict'

// How many records per second one or several writers append to a log in a stream, relative to publishes of the client package. Both run with the same
// servers, in turns, and the median turn counts: so whatever else the machine does concerns both. Prints tables of Markdown.
//
//     node packages/jetstream/bench/writers.js [--rounds 7] [--seconds 0.5] [--writers 1,2,4,10] [--inflight 1,16,1024] [--nodes 1,3] [--synced] [--partitions]

const os = require('os')
const { parseArgs, promisify } = require('util')
const JetStreamLog = require('..')
const { findServer, NO_SERVER } = require('../test/helpers/nats')
const { drive, median } = require('../../../bench/helpers/drive')
const { bareClient, newName, streamLog } = require('../../../bench/helpers/jetstream')
const { startServers } = require('../../../bench/helpers/nats-servers')
const { distinctRecords } = require('../../../bench/helpers/records')
const { processFolder } = require('../../../test/helpers/folder')

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '0.5' },
    writers: { type: 'string', default: '1,2,4,10' },
    inflight: { type: 'string', default: '1,16,1024' },
    nodes: { type: 'string', default: '1,3' },
    synced: { type: 'boolean', default: false },
    partitions: { type: 'boolean', default: false }
  }
})
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
const numbers = (/** @type {string} */ list) => list.split(',').map(Number)
const records = distinctRecords()
const rate = (/** @type {number} */ value) => Number(value.toPrecision(3)).toLocaleString('en-US')

/** @typedef {{ append: (data: Buffer, cb: (err?: Error | null) => void) => void, close: () => Promise<unknown> }} Store */

/**
 * @param {Array<() => Promise<Store>>} opens one for each kind of store
 * @param {{ writers: number, inFlight: number }} load
 * @returns {Promise<number[]>} appends per second of each kind
 */
async function compare (opens, { writers, inFlight }) {
  const kinds = []
  for (const open of opens) {
    const stores = []
    for (let i = 0; i < writers; i++) stores.push(await open())
    kinds.push({ stores, rates: /** @type {number[]} */ ([]) })
  }
  // the first turn warms up
  for (let round = 0; round <= rounds; round++) {
    for (const kind of round % 2 === 0 ? kinds : [...kinds].reverse()) {
      const begin = performance.now()
      const done = await Promise.all(kind.stores.map(store => drive({ count: Infinity, inFlight, seconds, timeEach: inFlight === 1 }, (n, cb) => store.append(records[n % records.length], cb))))
      const took = (performance.now() - begin) / 1000
      if (round > 0) kind.rates.push(done.reduce((sum, { count }) => sum + count, 0) / took)
    }
  }
  for (const { stores } of kinds) for (const store of stores) await store.close()
  return kinds.map(({ rates }) => median(rates))
}

/** @param {{ urls: string[] }} servers @param {number} nodes */
async function compareWriters ({ urls }, nodes) {
  console.log('\n| writers | appends in flight | log | plain | ratio |\n| --- | --- | ---: | ---: | ---: |')
  for (const writers of numbers(values.writers)) {
    for (const inFlight of numbers(values.inflight)) {
      const names = [newName(), newName()]
      const [log, plain] = await compare([() => streamLog(urls, nodes, '', names[0]), () => bareClient(urls, nodes, '', names[1])], { writers, inFlight })
      console.log(`| ${writers} | ${inFlight} each | ${rate(log)} | ${rate(plain)} | ${(log / plain).toFixed(2)} |`)
    }
  }
}

/** @param {{ urls: string[] }} servers @param {number} nodes */
async function comparePartitions ({ urls: servers }, nodes) {
  const counts = [1, 2, 4]
  console.log(`\n| writers | appends in flight | ${counts.map(count => `${count} partition${count > 1 ? 's' : ''}`).join(' | ')} |\n| --- | --- | ---: | ---: | ---: |`)
  for (const writers of [1, 4]) {
    for (const inFlight of [16, 1024]) {
      const opens = counts.map((partitions) => {
        const stream = newName()
        let next = 0
        return async () => {
          const log = /** @type {any} */ (JetStreamLog({ servers, stream, replicas: nodes, partitions, key: () => String(next++), timeout: 60_000 }))
          await promisify(log.onReady)()
          return { append: log.append, close: promisify(log.close) }
        }
      })
      console.log(`| ${writers} | ${inFlight} each | ${(await compare(opens, { writers, inFlight })).map(rate).join(' | ')} |`)
    }
  }
}

async function main () {
  const found = findServer()
  if (found === null) throw new Error(NO_SERVER)
  console.log(`Node.js ${process.versions.node}, nats-server ${found.version}, ${os.cpus().length} cores of ${os.cpus()[0].model}, ${new Date().toISOString().slice(0, 10)}; load average ${os.loadavg()[0].toFixed(1)}; records of ${records[0].length} bytes; medians of ${rounds} turns of ${seconds} s`)
  for (const nodes of values.partitions ? [3] : numbers(values.nodes)) {
    const servers = await startServers(found.file, nodes, values.synced, processFolder())
    console.log(`\n${nodes === 1 ? 'One server' : 'Three servers'}, ${values.synced ? '`sync_interval: always`' : 'default `sync_interval`'}`)
    await (values.partitions ? comparePartitions : compareWriters)(servers, nodes)
    await servers.stop()
  }
  console.log(`\nload average ${os.loadavg()[0].toFixed(1)}`)
}

main()
