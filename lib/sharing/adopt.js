'use strict'

// A client becomes the owner: its own writer gets what it has sent and is not answered, unless the owner before has stored it, as it gets what
// other clients send. Its callers notice nothing.

const layout = require('../format/layout')
const { ATOMIC, FORCED } = require('./frames')

/**
 * @typedef {import('./frame-packer').Frame} Frame
 * @typedef {import('./requests').Request} Request
 * @typedef {import('./remote-writer').RemoteWriter} RemoteWriter
 */

/** Both sides of the connection of this process to itself: the channel of its client, and the sender of its owner. */
class Loopback {
  /**
   * @param {RemoteWriter} remote
   * @param {import('./known-clients').KnownClients} clients
   * @param {import('./known-clients').KnownClient} client
   * @param {import('./intake').Intake} intake
   */
  constructor (remote, clients, client, intake) {
    this.remote = remote
    this.clients = clients
    this.client = client
    this.intake = intake
  }

  /** @param {Array<Frame | Request>} items */
  send (items) {
    for (const item of items) {
      if ('ask' in item) this.intake.execute(this, { request: item.id, ask: item.ask, cost: 0 })
      else this.intake.append(this, batchOf(item))
    }
  }

  /**
   * @param {import('./intake').Batch} batch
   * @param {import('./known-clients').StoredRun} run
   */
  stored (batch, run) {
    this.remote.onack(run)
    this.forgetIfDone()
    this.remote.settle()
  }

  /**
   * @param {import('./intake').Batch} batch
   * @param {import('./frames').Conflict} conflict
   */
  refused (batch, conflict) {
    this.remote.onconflict(conflict)
    this.forgetIfDone()
    this.remote.settle()
  }

  /** @param {Error} err */
  failed (err) {
    this.remote.onnack(err)
    this.forgetIfDone()
    this.remote.settle()
  }

  /**
   * @param {import('./intake').Asked} asked
   * @param {Error | null} err
   * @param {import('./requests').Result} [result]
   */
  reply ({ request }, err, result) {
    this.remote.onreply(request, err, result)
    this.remote.settle()
  }

  /** When this process dies, nobody is left to ask what has become of the records. */
  forgetIfDone () {
    if (this.client.packed.length === 0) this.clients.drop(this.client)
  }
}

/**
 * Callers are answered by `settle`.
 * @param {RemoteWriter} remote
 * @param {string} id of this process as a client
 * @param {import('./intake').Intake} intake
 */
function adopt (remote, id, intake) {
  const { writer, clients } = intake
  const { blockSize, checksum } = writer.blocks
  const { client, isUnknown } = clients.adopt(id)
  const loopback = new Loopback(remote, clients, client, intake)
  remote.disconnected()
  remote.connected({ blockSize, checksum, window: Infinity, isUnknown, runs: [...client.runs] }, loopback)
  addCounts(writer.counts, remote.counts)
  loopback.forgetIfDone()
}

/**
 * @param {Frame} frame
 * @returns {import('./intake').Batch}
 */
function batchOf ({ records, first, count, flags, after }) {
  const bytes = records.length - count * layout.FRAME_SIZE
  return { records, first, count, bytes, isForced: (flags & FORCED) !== 0, isAtomic: (flags & ATOMIC) !== 0, after, cost: 0 }
}

/**
 * @param {RemoteWriter['counts']} counts of the owner, which has what is in flight
 * @param {RemoteWriter['counts']} before those of the client
 */
function addCounts (counts, before) {
  for (const name of /** @type {const} */ (['appended', 'written', 'synced', 'rejected'])) {
    counts[name].records += before[name].records
    counts[name].bytes += before[name].bytes
  }
  counts.appended.records -= before.inFlight.records
  counts.appended.bytes -= before.inFlight.bytes
  counts.writes += before.writes
  counts.syncs += before.syncs
}

module.exports = { adopt }
