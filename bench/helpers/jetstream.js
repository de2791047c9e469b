'use strict'

// What the benchmark of streams compares. Each has
//
//     append (data, cb)    of one record
//     fill (records)       resolves when all are stored
//     read (onRecord)      resolves when all records were given, in order; `reverse` is the same from the end
//     keys ()              resolves to the keys of all records
//     get (key, cb)
//     close ()

const path = require('path')
const { promisify } = require('util')
const JetStreamLog = require('../../packages/jetstream')
const ours = require('../peers/ours')
const { drain } = require('./pull')

/** Milliseconds. */
const TIMEOUT = 60_000
/** Messages that the bare client reads at a time. */
const WINDOW = 1000

let made = 0
const newName = () => `bench-${process.pid}-${++made}`
const sequence = (count) => Array.from({ length: count }, (_, i) => i + 1)

/**
 * @param {string[]} servers
 * @param {number} replicas
 * @param {string} folder that it does not need
 * @param {string} [stream]
 */
async function streamLog (servers, replicas, folder, stream = newName()) {
  const log = JetStreamLog({ servers, stream, replicas, timeout: TIMEOUT })
  await promisify(log.onReady)()
  return {
    append: log.append,
    fill: promisify(log.append),
    read: (onRecord) => drain(log.stream({ seqs: false }), onRecord),
    reverse: (onRecord) => drain(log.stream({ seqs: false, reverse: true }), onRecord),
    keys: async () => sequence(log.since.value),
    get: log.get,
    close: promisify(log.close)
  }
}

/**
 * @param {string[]} servers
 * @param {number} replicas
 * @param {string} folder that it does not need
 * @param {string} [stream]
 */
async function bareClient (servers, replicas, folder, stream = newName()) {
  const { connect } = require('@nats-io/transport-node')
  const { jetstream, jetstreamManager } = require('@nats-io/jetstream')
  const nats = await connect({ servers })
  const manager = await jetstreamManager(nats, { checkAPI: false })
  const client = jetstream(nats)
  const config = { name: stream, subjects: [`${stream}.>`], storage: 'file', num_replicas: replicas, allow_direct: true }
  // servers that have just been started have no leader yet
  for (let left = 20; left > 0; left--) {
    try {
      await manager.streams.add(config)
      break
    } catch (err) {
      if (left === 1) throw err
    }
  }
  const subject = `${stream}.a`
  const publish = (data) => client.publish(subject, data, { timeout: TIMEOUT })
  const lastSeq = async () => (await manager.streams.info(stream)).state.last_seq
  return {
    append: (data, cb) => { publish(data).then(() => cb(null), cb) },
    async fill (records) {
      for (let i = 0; i < records.length; i += WINDOW) await Promise.all(records.slice(i, i + WINDOW).map(publish))
    },
    async read (onRecord) {
      let left = await lastSeq()
      const messages = await (await client.consumers.get(stream)).consume({ max_messages: WINDOW })
      for await (const { data } of messages) {
        onRecord(data)
        if (--left === 0) break
      }
    },
    async reverse (onRecord) {
      for (let end = await lastSeq(); end > 0; end -= WINDOW) {
        const records = []
        for await (const { data } of await manager.direct.getBatch(stream, { seq: Math.max(end - WINDOW + 1, 1), batch: Math.min(WINDOW, end) })) records.push(data)
        for (const data of records.reverse()) onRecord(data)
      }
    },
    keys: async () => sequence(await lastSeq()),
    get: (seq, cb) => { manager.direct.getMessage(stream, { seq }).then(({ data }) => cb(null, data), cb) },
    close: () => nats.close()
  }
}

/**
 * @param {string[]} servers that it does not need
 * @param {number} replicas
 * @param {string} folder
 */
async function localCopy (servers, replicas, folder) {
  const store = await ours.open(path.join(folder, newName()))
  const { log } = store
  return { ...store, fill: promisify(log.append), reverse: (onRecord) => drain(log.stream({ seqs: false, reverse: true }), onRecord) }
}

module.exports = { streamLog, bareClient, localCopy, newName }
