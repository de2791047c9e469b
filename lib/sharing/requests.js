'use strict'

// What a client has asked of the owner besides appends, and the owner has not answered. Pure.

const frames = require('./frames')
const { callBack } = require('../callbacks')
const { startReclaim } = require('../space/reclaim')

/**
 * @typedef {{ sync: true }} SyncAsk
 * @typedef {{ seq: number }} DeleteAsk a record
 * @typedef {{ first: number, last: number }} DeleteRangeAsk the records that start at these offsets or between them
 * @typedef {{ reclaim: true }} ReclaimAsk
 * @typedef {{ trim: number }} TrimAsk blocks before this offset
 * @typedef {{ compact: true }} CompactAsk
 * @typedef {SyncAsk | DeleteAsk | DeleteRangeAsk | ReclaimAsk | TrimAsk | CompactAsk} Ask
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
 * @param {number} id
 * @param {Ask} ask
 * @returns {Buffer}
 */
function frameOf (id, ask) {
  if ('sync' in ask) return frames.sync(id)
  if ('reclaim' in ask) return frames.reclaim(id)
  if ('trim' in ask) return frames.trim(id, ask.trim)
  if ('compact' in ask) return frames.compact(id)
  return 'seq' in ask ? frames.del(id, ask.seq) : frames.delRange(id, ask.first, ask.last)
}

/**
 * In the owner.
 * @param {import('../write/writer').Writer} writer
 * @param {Exclude<Ask, SyncAsk>} ask
 * @param {Request['cb']} cb
 * @param {Compact} compact
 */
function execute (writer, ask, cb, compact) {
  if ('compact' in ask) callBack(compact(), /** @type {any} */ (cb))
  else if ('reclaim' in ask) startReclaim(writer, writer.file.filename, {}, cb)
  else if ('trim' in ask) writer.trim(ask.trim, cb)
  else if ('seq' in ask) writer.delete(ask.seq, cb)
  else deleteRange(writer, ask, cb)
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
const NOTHING = { first: 1, last: 0 }

/**
 * The same for the file to which the log has moved.
 * @param {Ask} ask from before
 * @param {import('../space/offset-map').OffsetMap} map
 * @returns {Ask}
 */
function movedAsk (ask, map) {
  const { base } = map
  if ('seq' in ask && ask.seq < base) {
    const seq = map.at(ask.seq)
    // the record is gone
    return seq === null ? NOTHING : { seq }
  }
  if ('first' in ask && ask.first < base && ask.first <= ask.last) {
    const last = ask.last < base ? map.down(ask.last) : ask.last
    return last === -1 ? NOTHING : { first: map.up(ask.first), last }
  }
  if ('trim' in ask && ask.trim < base) return { trim: map.up(ask.trim) }
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
      buffers.push(frameOf(id, request.ask))
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
