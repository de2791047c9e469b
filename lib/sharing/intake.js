'use strict'

// Hands what clients have sent to the writer: some of each client in turn, by bytes, and
// no more than the writer can store soon. So a flood of one client delays neither the
// others nor what the owner itself appends.

const { execute } = require('./requests')

/** Bytes of a client per round. */
const QUANTUM = 64 * 1024
/** Bytes of all clients that may be with the writer: what one write takes, and the next one. */
const BUDGET = 2 * 1024 * 1024
/** The bytes that a request counts as: it costs more than it has. */
const REQUEST_COST = 1024

/**
 * @typedef {import('./session').Session} Session
 * @typedef {import('./session').Batch} Batch
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
    // it may still be there, with a queue that was emptied when appends failed
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
      const item = /** @type {import('./session').Item} */ (session.queue.shift())
      if ('batch' in item) {
        left -= item.batch.size
        this.append(session, item.batch)
      } else {
        left -= REQUEST_COST
        this.execute(session, item.request, item.ask)
      }
    }
  }

  /**
   * @param {Session} session
   * @param {Batch} batch
   */
  append (session, batch) {
    const { appender } = this.writer
    const { size } = batch
    if (appender.refusal !== null) return session.failed(appender.refusal)
    const client = /** @type {import('./known-clients').KnownClient} */ (session.client)
    const run = { first: batch.first, count: batch.count, seq: -1 }
    this.bytes += size
    run.seq = appender.appendFramed(batch, true, (err) => {
      this.bytes -= size
      if (err) session.failed(err)
      else session.stored(batch, run)
      this.clients.settle(client, run, !err)
      if (this.sessions.size > 0) this.schedule()
    })
    this.clients.addRun(client, run)
  }

  /**
   * @param {Session} session
   * @param {number} request
   * @param {import('./requests').Ask} ask
   */
  execute (session, request, ask) {
    /** @type {import('./requests').Request['cb']} */
    const cb = (err, result) => {
      // the owner closes the log, not the client, which asks the next owner
      if (!(ask.op === 'compact' && /** @type {any} */ (err)?.code === 'flumelog:closed')) session.reply(request, err ?? null, result)
    }
    const problem = ask.op === 'delete' ? this.problemOf(ask.seq) : null
    if (problem !== null) cb(problem)
    else execute(this.writer, ask, cb, this.compact)
  }

  stop () {
    this.isStopped = true
    this.sessions.clear()
  }
}

module.exports = { Intake }
