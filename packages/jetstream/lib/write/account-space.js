'use strict'

// Whether the account has space for a batch. A server without replicas stores a part of a batch for which there is none, and does not answer, so
// it is not sent such a batch.

const { sizeOf } = require('./size-of')

/** Bytes that no other client fills within `INTERVAL`. */
const AMPLE = 64 * 1024 * 1024
/** Milliseconds. */
const INTERVAL = 1000
/** Bytes that the server stores for a message of a batch besides its subject and its data, and for a batch. */
const PER_MESSAGE = 120
const PER_BATCH = 400

class AccountSpace {
  /** @param {import('../connection/connection').Connection} connection that is open */
  constructor (connection) {
    this.connection = connection
    /** Bytes; Infinity: there is no limit, or it is not known. */
    this.free = 0
    this.askedAt = -Infinity
    /** Over which connection. */
    this.connects = -1
  }

  /**
   * @param {Uint8Array[]} records of a batch
   * @param {string} subject of its messages
   * @returns {Promise<boolean>} false: they cannot all be stored
   */
  async isThereFor (records, subject) {
    const bytes = sizeOf(records) + records.length * (PER_MESSAGE + subject.length) + PER_BATCH
    if (this.isOutdated || this.free - bytes < AMPLE) await this.ask()
    if (bytes > this.free) return false
    this.free -= bytes
    return true
  }

  get isOutdated () {
    const { connection: { connects } } = this
    return connects !== this.connects || (this.free < Infinity && performance.now() - this.askedAt > INTERVAL)
  }

  async ask () {
    const { connection, connection: { connects, manager } } = this
    this.free = Infinity
    this.connects = connects
    this.askedAt = performance.now()
    try {
      /** @type {any} the client's types do not have the tiers */
      const { tiers, ...account } = await connection.attempt(() => manager.getAccountInfo())
      const { storage, limits: { max_storage: most } } = tiers?.R1 ?? account
      if (most >= 0) this.free = most - storage
    } catch (err) {
      // otherwise this user may not ask
      if (connection.isTransient(err)) this.connects = -1
    }
  }
}

module.exports = { AccountSpace }
