'use strict'

// The deletions and syncs of a client that the owner has not answered. Pure.

const frames = require('./frames')

/**
 * @typedef {object} Request
 * @property {number | null} seq of the record to delete; null: a sync
 * @property {number} end the number of the last record that was appended before
 * @property {boolean} isSent
 * @property {(err?: Error | null) => void} cb
 */

class Requests {
  constructor () {
    /** By id, in the order of the calls. @type {Map<number, Request>} */
    this.requests = new Map()
    this.lastId = 0
    this.unsent = 0
    /** Those that were given up on this connection: the owner may still be busy with them. */
    this.givenUp = 0
  }

  get size () {
    return this.requests.size
  }

  /**
   * @param {number | null} seq
   * @param {number} end
   * @param {Request['cb']} cb
   */
  add (seq, end, cb) {
    this.requests.set(++this.lastId, { seq, end, isSent: false, cb })
    this.unsent++
  }

  /**
   * @param {number} firstUnsent number of the first record that is not sent: a sync is for everything that was appended before it
   * @returns {Buffer[]} what may be sent now
   */
  takeUnsent (firstUnsent) {
    /** @type {Buffer[]} */
    const buffers = []
    if (this.unsent === 0) return buffers
    let underWay = this.requests.size - this.unsent + this.givenUp
    for (const [id, request] of this.requests) {
      if (request.isSent) continue
      if (underWay++ >= frames.MAX_REQUESTS || firstUnsent <= request.end) break
      request.isSent = true
      this.unsent--
      buffers.push(request.seq === null ? frames.sync(id) : frames.del(id, request.seq))
    }
    return buffers
  }

  /** All are to be sent again. */
  forgetSent () {
    for (const request of this.requests.values()) request.isSent = false
    this.unsent = this.requests.size
    this.givenUp = 0
  }

  /**
   * @param {number} id
   * @returns {Request | undefined} which is not waited for any more; undefined: it was not
   */
  take (id) {
    const request = this.requests.get(id)
    if (request === undefined) this.givenUp--
    this.requests.delete(id)
    return request
  }

  /** @returns {Request[]} none of which is waited for any more */
  takeAll () {
    const all = [...this.requests.values()]
    this.givenUp += this.requests.size - this.unsent
    this.requests.clear()
    this.unsent = 0
    return all
  }
}

module.exports = { Requests }
