'use strict'

// What follows the end of a stream, with a simulated consumer: what it keeps, and that it ends.

const test = require('tape')
const { Connection } = require('../lib/connection/connection')
const { Follower } = require('../lib/read/follower')

const BYTES = 64 * 1024
const turn = () => new Promise(resolve => setImmediate(resolve))

/** @param {object} settings */
function connectionWith (settings) {
  const connection = new Connection(/** @type {any} */ ({ stream: 'S', timeout: 60_000, ...settings }), 'stream S')
  connection.isConnected = true
  return connection
}

test('it keeps a few MiB, also of records in envelopes', (t) => {
  const follower = new Follower(connectionWith({ envelope: true }), /** @type {any} */ (null), { lastSeq: 0, advance () {} })
  follower.from = 1
  const receive = (/** @type {number} */ seq, /** @type {number} */ size) =>
    follower.receive(/** @type {any} */ ({ seq, subject: `S.${'long'.repeat(50)}`, data: new Uint8Array(size), reply: `$JS.ACK.S.C.1.${seq}.${seq}.1000000000000000.0` }))
  let seq = 0
  while (seq < 50_000) receive(++seq, 1)
  for (let i = 0; i < 200; i++) receive(++seq, BYTES)
  const kept = follower.recent.reduce((sum, { data }) => sum + data.length, 0)
  t.ok(kept <= 2.5 * 1024 * 1024, `${kept} bytes are kept`)
  t.end()
})

test('a consumer that is there when the log has been closed is stopped, also over a connection of the caller, which stays open', async (t) => {
  for (const late of ['consumer', 'messages']) {
    const connection = connectionWith({})
    let [consumers, stopped, refreshed] = [0, 0, 0]
    /** @type {() => void} */
    let release = () => {}
    const gate = new Promise(resolve => { release = () => resolve(undefined) })
    const messages = { stop () { stopped++ }, closed: () => new Promise(() => {}) }
    const consumer = {
      async consume () {
        if (late === 'messages') await gate
        consumers++
        return messages
      }
    }
    connection.jetstream = /** @type {any} */ ({
      jetstream: () => ({
        consumers: {
          async get () {
            if (late === 'consumer') await gate
            return consumer
          }
        }
      })
    })
    const reader = {
      async refresh () {
        refreshed++
        return { last_seq: 0 }
      }
    }
    const follower = new Follower(connection, /** @type {any} */ (reader), { lastSeq: 0, advance () {} })
    follower.start()
    await turn()
    connection.fail(new Error('closed'))
    follower.stop()
    release()
    await turn()
    t.deepEqual([consumers - stopped, refreshed, follower.messages], [0, 0, null], `the ${late} came late`)
  }
})
