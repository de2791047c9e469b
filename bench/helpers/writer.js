'use strict'

// The program of a process that owns a store, or writes one together with others.

const shared = require('../shared')
const { drive } = require('./drive')
const { distinctRecords } = require('./records')
const { participate } = require('./participant')

const IN_FLIGHT = 1024
const BATCH = 100

/** How records are written: the limit on calls in flight, the number of records per call, and the call. */
const ways = {
  /** The next append is made in the callback of the one before. */
  'lock-step': { inFlight: 1, perCall: 1, call: appendOne },
  /**
   * As a busy program appends: without waiting, up to a limit. Each callback makes another append, so records that are
   * acknowledged together are followed by as many appends in one turn.
   */
  gathered: { inFlight: IN_FLIGHT, perCall: 1, call: appendOne },
  /**
   * Each append is made in a turn of its own, so each goes into a message of its own. A client cannot ask for an acknowledgement
   * of its own for each, too: the owner of a log acknowledges what one write has stored. The bare loop can be told not to.
   */
  'one per message': { inFlight: IN_FLIGHT, perCall: 1, call: appendInTurns },
  /** The next transaction is made when the one before is acknowledged. */
  batches: { inFlight: 1, perCall: BATCH, call: appendBatches }
}

participate(async ({ role, store: name, folder, number, options, way, seconds }) => {
  const store = role === 'owner' ? await shared[name].own(folder, options) : await shared[name].open(folder, number)
  const records = distinctRecords()
  // excludes the cost of connecting, and of the first append
  if (role === 'writer') await new Promise((resolve, reject) => store.append(records[0], (err) => err ? reject(err) : resolve(undefined)))
  return async ({ close }) => {
    if (close) return store.close()
    const { inFlight, perCall, call } = ways[way]
    const begin = now()
    const { count } = await drive({ count: Infinity, inFlight, seconds, timeEach: inFlight === 1 }, call(store, records))
    return { begin, end: now(), records: count * perCall }
  }
})

/** @returns {number} seconds on a clock that all processes of the machine share */
function now () {
  return Number(process.hrtime.bigint()) / 1e9
}

function appendOne (store, records) {
  return (n, cb) => store.append(records[n % records.length], cb)
}

function appendInTurns (store, records) {
  const calls = []
  const next = () => {
    const { n, cb } = calls.shift()
    if (calls.length > 0) setImmediate(next)
    store.append(records[n % records.length], cb)
  }
  return (n, cb) => { if (calls.push({ n, cb }) === 1) setImmediate(next) }
}

function appendBatches (store, records) {
  const batches = Array.from({ length: records.length / BATCH }, (_, i) => records.slice(i * BATCH, (i + 1) * BATCH))
  return (n, cb) => store.appendBatch(batches[n % batches.length], cb)
}
