'use strict'

// Hands what clients have sent to the writer: some of each client in turn, by bytes, and
// no more than the writer can store soon. So a flood of one client delays neither the
// others nor what the owner itself appends.

const { execute } = require('./requests')

/** Bytes of a client per round. */
const QUANTUM = 64 * 1024
/** Bytes of all clients that may be with the writer: what one write takes, and the next one. */
const BUDGET = 2 * 1024 * 1024

/**
 * @typedef {import('./session').Session} Session
 *
 * @typedef {object} Batch records of one frame: all of them are stored, in a row, or none
 * @property {Buffer} records with their lengths
 * @property {number} first number of the first one
 * @property {number} count
 * @property {number} bytes of data
 * @property {boolean} isForced
 * @property {boolean} isAtomic
 * @property {number | null} after the seq that the log's last record must have; -1: there must be none; null: there is no condition
 * @property {number} cost bytes of the window that it takes
 *
 * @typedef {{ request: number, ask: import('./requests').Ask, cost: number }} Asked
 *
 * @typedef {object} Sender who has sent it, and is told what has become of it
 * @property {import('./known-clients').KnownClient | null} client
 * @property {(batch: Batch, run: import('./known-clients').StoredRun) => void} stored
 * @property {(batch: Batch, conflict: import('./frames').Conflict) => void} refused because of its condition
 * @property {(err: Error) => void} failed so have all batches of this sender that are not stored
 * @property {(asked: Asked, err: Error | null, result?: import('./requests').Result) => void} reply
 */

class Intake {
  /**
   * @param {import('../write/writer').Writer} writer
   * @param {import('./known-clients').KnownClients} clients
   * @param {import('../clock').Clock} clock
   * @param {(seq: unknown) => Error | null} problemOf why a record cannot be deleted
   * @param {import('./requests').Compact} compact
   */
  constructor (writer, clients, clock, problemOf, compact) {
    this.compact = compact
    this.writer = writer
    this.clients = clients
    this.clock = clock
    this.problemOf = problemOf
    /** Those that have something in their queues, the next one first. @type {Set<Session>} */
    this.sessions = new Set()
    this.bytes = 0
    this.isScheduled = false
    this.isStopped = false
    this.run = this.run.bind(this)
  }

  /** @param {Session} session whose queue is not empty any more */
  add (session) {
    this.sessions.add(session)
    this.schedule()
  }

  /** When everything that has arrived in this turn has been read, so that it shares a write. */
  schedule () {
    if (this.isScheduled || this.isStopped) return
    this.isScheduled = true
    this.clock.setImmediate(this.run)
  }

  run () {
    this.isScheduled = false
    // those that have something left are added again behind the others
    for (const session of this.sessions) {
      if (this.bytes >= BUDGET || this.isStopped) break
      this.sessions.delete(session)
      this.take(session)
      if (session.queue.length > 0) this.sessions.add(session)
    }
  }

  /** @param {Session} session */
  take (session) {
    for (let left = QUANTUM; left > 0 && session.queue.length > 0;) {
      const item = /** @type {Batch | Asked} */ (session.queue.shift())
      left -= item.cost
      if ('ask' in item) this.execute(session, item)
      else this.append(session, item)
    }
  }

  /**
   * @param {Sender} sender
   * @param {Batch} batch
   */
  append (sender, batch) {
    const { appender, packer } = this.writer
    const { first, count, cost, after } = batch
    if (appender.refusal !== null) return sender.failed(appender.refusal)
    if (after !== null && appender.lastAppended !== after) {
      appender.whenLastIsStored(err => err ? sender.failed(err) : sender.refused(batch, { first, count, seq: appender.lastSeq, end: this.writer.acknowledged }))
      return
    }
    const client = /** @type {import('./known-clients').KnownClient} */ (sender.client)
    const seq = appender.appendFramed(batch, (err) => {
      this.bytes -= cost
      if (this.sessions.size > 0) this.schedule()
      if (err) return sender.failed(err)
      client.addStored()
      sender.stored(batch, run)
    })
    const run = { first, count, seq, end: packer.end }
    this.bytes += cost
    this.clients.addRun(client, run)
  }

  /**
   * @param {Sender} sender
   * @param {Asked} asked
   */
  execute (sender, asked) {
    const { ask } = asked
    /** @type {import('./requests').Request['cb']} */
    const cb = (err, result) => {
      // the owner closes the log, not the client, which asks the next owner
      if (!(ask.op === 'compact' && /** @type {any} */ (err)?.code === 'flumelog:closed')) sender.reply(asked, err ?? null, result)
    }
    const problem = ask.op === 'delete' ? this.problemOf(ask.seq) : null
    if (problem !== null) cb(problem)
    else execute(this.writer, ask, cb, this.compact)
  }

  /** The log is closing: what is not with the writer yet, clients send to the next owner. */
  stop () {
    this.isStopped = true
    this.sessions.clear()
  }
}

module.exports = { Intake }
