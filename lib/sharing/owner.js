'use strict'

// What a process that shares a log does when it has the lock: listens on the socket,
// recovers the log as any opening does, and opens it for writing, for itself and for others.

const { promised } = require('../callbacks')
const errors = require('../errors')
const { openWriter } = require('../space/open-writer')
const { KnownClients } = require('./known-clients')
const { Server } = require('./server')

/**
 * @typedef {import('../opening').Opened} Opened
 */

class Owner {
  /** @param {import('../opening').Context} context */
  constructor (context) {
    const { file, clock } = context
    this.context = context
    this.clients = new KnownClients(file.metadata, clock, () => this.writeAgain())
    /** Why FILE.meta does not say that the log is open; null: it does, or is not known not to. @type {Error | null} */
    this.problem = null
    this.server = new Server(this.clients, clock)
    /** Set when the log is open. @type {import('../write/writer').Writer} */
    this.writer = /** @type {any} */ (null)
    /**
     * The last one that a client has asked for, if it has not failed. id: of the log that it has made; null: it is in progress
     * @type {{ compacted: Promise<import('../space/types').Compacted>, id: string | null } | null}
     */
    this.compaction = null
  }

  /** @param {import('./address').Address} address where others find this process, and wait until the log is open */
  async listen (address) {
    const { server, context: { file } } = this
    server.listener = await address.listen(file.status(), socket => server.accept(socket))
  }

  /**
   * @param {Opened | null} before what there is of the log, if this process was a client
   * @returns {ReturnType<typeof openWriter>}
   */
  async open (before) {
    const { context, server } = this
    const opened = await openWriter(context, {
      before,
      clientsOf: (end) => this.clientsOf(end),
      onacknowledged: (seq) => {
        server.changed()
        context.listeners.onadvance(seq)
      }
    })
    this.writer = opened.writer
    // before a client is welcome
    await this.write()
    return opened
  }

  /**
   * @param {number} end of the log
   * @returns {import('../write/clients').Clients} for the writer
   */
  clientsOf (end) {
    const { clients, server, context: { settings } } = this
    clients.load(end)
    return {
      flush: () => clients.flush(),
      rollBack: (acknowledged) => clients.rollBack(acknowledged),
      move: (distance) => server.moved(distance),
      whenFollowed: (signal) => server.whenFollowed(settings.timeout, signal),
      rewritten: () => server.changed(),
      list: (end) => clients.list(end)
    }
  }

  /** FILE.meta says that the log is open. */
  async write () {
    this.problem = await this.writer.metadata.write().then(() => null, err => err)
  }

  /** @returns {Error | null} why FILE.meta does not say that the log is open: on a full disk, it is tried again for each client that comes */
  writeAgain () {
    // or that cannot be appended to it
    if (this.problem !== null || this.clients.metadata.torn !== null) this.write()
    this.writer.metadata.considerMove()
    return this.problem
  }

  /**
   * Lets clients in.
   * @param {() => void} first appends what comes before what they send
   */
  serve (first) {
    this.server.open({ writer: this.writer, compact: id => this.compact(id) }, first)
  }

  /**
   * A compaction ends the connections, so the client that has asked for it asks again: then the log has another id.
   * @param {string} id of the log that is to be compacted
   * @returns {Promise<import('../space/types').Compacted>} of the compaction in progress, or of the last one if the log is as that has made it. Rejects with
   *   `flumelog:compacted` if it was compacted otherwise
   */
  compact (id) {
    const { compaction, writer } = this
    const isDone = id !== writer.blocks.id
    if (compaction !== null && (compaction.id === null || (isDone && compaction.id === writer.blocks.id))) return compaction.compacted
    if (isDone) return Promise.reject(errors.compacted(writer.file.filename))
    const compacted = this.context.listeners.oncompact()
    /** @type {NonNullable<Owner['compaction']>} */
    const started = { compacted, id: null }
    this.compaction = started
    compacted.then(({ id }) => { started.id = id }, () => { this.compaction = null })
    return compacted
  }

  /** Everything that was appended is stored and durable. */
  async close () {
    await this.server.close()
    this.clients.dropAbsent()
    await promised(cb => this.writer.close(cb))
  }
}

module.exports = { Owner }
