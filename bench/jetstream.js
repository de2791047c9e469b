'use strict'

// How fast is a log in a stream of NATS JetStream, relative to bare loops over the client package? And the same reads of a log in a file
// with the same records, which is what a pulled copy is.

const { findServer, NO_SERVER } = require('../packages/jetstream/test/helpers/nats')
const { bareClient, localCopy, newName, streamLog } = require('./helpers/jetstream')
const { drive } = require('./helpers/drive')
const { RECORD_SIZE, distinctRecords, randomNumbers } = require('./helpers/records')
const { startServers } = require('./helpers/nats-servers')

const sizes = {
  quick: { seconds: 0.2, count: 10_000 },
  full: { seconds: 1, count: 100_000 }
}
/** That append to one stream, beside the one of the other measures. */
const WRITERS = [2, 4, 10]
const STORES = [
  { name: 'log in a stream', open: streamLog },
  { name: 'bare client', open: bareClient, note: 'publishes without expectations, so neither the order nor once is ensured; reads by an ordered consumer, by direct gets, and backward by batches of them' },
  { name: 'log in a file', open: localCopy, note: 'on this machine, as `flumelog pull` makes it', isLocal: true }
]

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  return [false, true].flatMap(isSynced => [1, 3].map(nodes => ({
    name: `${nodes === 1 ? 'one server' : 'three servers'}, ${isSynced ? 'sync_interval: always' : 'default sync_interval'}`,
    rows: STORES.filter(({ isLocal }) => !isLocal || nodes === 1).map(({ name, note, open }) => ({
      name,
      note,
      run: ({ scratch }) => measure(open, { nodes, isSynced, ...sizes[size] }, scratch)
    }))
  })))
}

/**
 * All of it with the same servers, which take long to start.
 * @param {(servers: string[], nodes: number, folder: string) => Promise<any>} open
 * @param {{ nodes: number, isSynced: boolean, seconds: number, count: number }} load
 * @param {string} folder
 */
async function measure (open, { nodes, isSynced, seconds, count }, folder) {
  const found = findServer()
  if (found === null) throw new Error(NO_SERVER)
  const servers = await startServers(found.file, nodes, isSynced, folder)
  const records = distinctRecords()
  const measures = []
  const note = (part, { count, seconds, latency }) => measures.push({ phase: 'cold', part, records: count, bytes: count * RECORD_SIZE, seconds, latency })

  for (const inFlight of [1, 16, 1024]) {
    const store = await open(servers.urls, nodes, folder)
    // the first append costs more than the others
    await new Promise((resolve, reject) => store.append(records[0], (err) => err ? reject(err) : resolve()))
    note(`append, ${inFlight} in flight`, await drive({ count: Infinity, inFlight, seconds, timeEach: true }, (n, cb) => store.append(records[n % records.length], cb)))
    await store.close()
  }
  for (const writers of WRITERS) {
    for (const inFlight of [16, 1024]) note(`append, ${writers} writers, ${inFlight} in flight each`, await appendTogether(stream => open(servers.urls, nodes, folder, stream), { writers, inFlight, seconds, records }))
  }
  const store = await open(servers.urls, nodes, folder)
  await store.fill(Array.from({ length: count }, (_, i) => records[i % records.length]))
  for (const part of ['ordered reading', 'reverse']) {
    const begin = performance.now()
    let runs = 0
    do {
      let read = 0
      await (part === 'reverse' ? store.reverse : store.read)(() => { read++ })
      if (read !== count) throw new Error(`read ${read} of ${count} records`)
      runs++
    } while (performance.now() - begin < seconds * 1000)
    note(part, { count: count * runs, seconds: (performance.now() - begin) / 1000 })
  }
  const random = randomNumbers(3)
  const keys = await store.keys()
  for (const inFlight of [1, 16]) {
    note(`get, ${inFlight} in flight`, await drive({ count: Infinity, inFlight, seconds, timeEach: true }, (n, cb) => store.get(keys[Math.floor(random() * count)], cb)))
  }
  await store.close()
  await servers.stop()
  return measures
}

/**
 * Several writers append to one stream, each over a connection of its own.
 * @param {(stream: string) => Promise<any>} open
 * @param {{ writers: number, inFlight: number, seconds: number, records: Buffer[] }} load
 * @returns {Promise<{ count: number, seconds: number }>}
 */
async function appendTogether (open, { writers, inFlight, seconds, records }) {
  const stream = newName()
  const stores = []
  for (let i = 0; i < writers; i++) stores.push(await open(stream))
  // the first append costs more than the others
  for (const store of stores) await new Promise((resolve, reject) => store.append(records[0], (err) => err ? reject(err) : resolve()))
  const begin = performance.now()
  const results = await Promise.all(stores.map(store => drive({ count: Infinity, inFlight, seconds }, (n, cb) => store.append(records[n % records.length], cb))))
  const took = (performance.now() - begin) / 1000
  for (const store of stores) await store.close()
  return { count: results.reduce((sum, { count }) => sum + count, 0), seconds: took }
}

module.exports = { name: 'jetstream', question: 'How fast is a log in a stream of NATS JetStream, relative to bare loops over the client package?', groups }
