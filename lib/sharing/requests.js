'use strict'

// What a client has asked of the owner besides appends, and the owner has not answered. Pure.

const frames = require('./frames')
const { callBack } = require('../callbacks')
const { startReclaim } = require('../space/reclaim')

/**
 * @typedef {{ op: 'delete', seq: number }} DeleteAsk a record
 * @typedef {{ op: 'deleteRange', first: number, last: number }} DeleteRangeAsk the records that start at these offsets or between them
 * @typedef {{ op: 'trim', offset: number }} TrimAsk blocks before this offset
 * @typedef {{ op: 'sync' | 'reclaim' | 'compact' }} PlainAsk
 * @typedef {DeleteAsk | DeleteRangeAsk | TrimAsk | PlainAsk} Ask
 * @typedef {import('../space/types').Compacted} Compacted
 * @typedef {import('../space/reclaim').Reclaimed | Compacted | number} Result what was freed, what has become of the log, or where it starts
 * @typedef {() => Promise<Compacted>} Compact
 *
 * @typedef {object} Request
 * @property {Ask} ask
 * @property {number} end the number of the last record that was appended before
 * @property {boolean} isSent
 * @property {(err?: Error | null, result?: any) => void} cb given a `Result`, if there is one
 */

/**
 * In the owner.
 * @param {import('../write/writer').Writer} writer
 * @param {Ask} ask
 * @param {Request['cb']} cb
 * @param {Compact} compact
 */
function execute (writer, ask, cb, compact) {
  switch (ask.op) {
    // errors of appends without a callback are for callers of this process
    case 'sync': return writer.sync(cb, false)
    case 'delete': return writer.delete(ask.seq, cb)
    case 'deleteRange': return deleteRange(writer, ask, cb)
    case 'trim': return writer.trim(ask.offset, cb)
    case 'reclaim': return startReclaim(writer, writer.file.filename, {}, cb)
    case 'compact': return callBack(compact(), /** @type {any} */ (cb))
  }
}

/**
 * @param {import('../write/writer').Writer} writer
 * @param {DeleteRangeAsk} ask
 * @param {Request['cb']} cb
 */
function deleteRange (writer, { first, last }, cb) {
  const max = Math.min(last, writer.blocks.end - 1)
  if (max < first) process.nextTick(cb, null)
  else writer.deleteRange(first, max, cb)
}

/** Nothing is to be deleted. @type {DeleteRangeAsk} */
const NOTHING = { op: 'deleteRange', first: 1, last: 0 }

/**
 * The same for the file to which the log has moved.
 * @param {Ask} ask from before
 * @param {import('../space/offset-map').OffsetMap} map
 * @returns {Ask}
 */
function movedAsk (ask, map) {
  const { base } = map
  if (ask.op === 'delete' && ask.seq < base) {
    const seq = map.at(ask.seq)
    // the record is gone
    return seq === null ? NOTHING : { ...ask, seq }
  }
  if (ask.op === 'deleteRange' && ask.first < base && ask.first <= ask.last) {
    const last = ask.last < base ? map.down(ask.last) : ask.last
    return last === -1 ? NOTHING : { ...ask, first: map.up(ask.first), last }
  }
  if (ask.op === 'trim' && ask.offset < base) return { ...ask, offset: map.up(ask.offset) }
  return ask
}

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
   * @param {Ask} ask
   * @param {number} end
   * @param {Request['cb']} cb
   */
  add (ask, end, cb) {
    this.requests.set(++this.lastId, { ask, end, isSent: false, cb })
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
      buffers.push(frames.encode(frames.REQUEST, { request: id, ask: request.ask }))
    }
    return buffers
  }

  /** @param {import('../space/offset-map').OffsetMap} map to the file where the log is now */
  move (map) {
    // those that are sent may be sent again
    for (const request of this.requests.values()) request.ask = movedAsk(request.ask, map)
  }

  /** @param {Ask} ask which is not waited for any more */
  giveUp (ask) {
    const [id, request] = [...this.requests].find(([, request]) => request.ask === ask) ?? []
    if (id === undefined || request === undefined) return
    this.requests.delete(id)
    if (request.isSent) this.givenUp++
    else this.unsent--
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

module.exports = { Requests, execute, movedAsk }
