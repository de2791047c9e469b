'use strict'

// What a client has asked of the owner besides appends, and the owner has not answered. Pure, but for `execute`, which is for the owner.

const { callBack } = require('../callbacks')
const { startReclaim } = require('../space/reclaim')

/**
 * @typedef {{ op: 'delete', seq: number }} DeleteAsk a record
 * @typedef {{ op: 'deleteRange', first: number, last: number }} DeleteRangeAsk the records that start at these offsets or between them
 * @typedef {{ op: 'trim', offset: number }} TrimAsk blocks before this offset
 * @typedef {{ op: 'compact', id: string }} CompactAsk the log that has this id
 * @typedef {{ op: 'sync' | 'reclaim' }} PlainAsk
 * @typedef {DeleteAsk | DeleteRangeAsk | TrimAsk | CompactAsk | PlainAsk} Ask
 * @typedef {import('../space/types').Compacted} Compacted
 * @typedef {import('../space/reclaim').Reclaimed | Compacted | number} Result what was freed, what has become of the log, or where it starts
 * @typedef {(id: string) => Promise<Compacted>} Compact
 *
 * @typedef {object} Request
 * @property {number} id
 * @property {Ask} ask
 * @property {number} end the number of the last record that was appended before
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
    case 'compact': return callBack(compact(ask.id), /** @type {any} */ (cb))
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
    /** In the order of the calls. @type {Request[]} */
    this.unsent = []
    /** By id, in that order. @type {Map<number, Request>} */
    this.sent = new Map()
    this.lastId = 0
  }

  /** How many callers wait. */
  get size () {
    return this.unsent.length + this.sent.size
  }

  /**
   * @param {Ask} ask
   * @param {number} end
   * @param {Request['cb']} cb
   */
  add (ask, end, cb) {
    this.unsent.push({ id: ++this.lastId, ask, end, cb })
  }

  /** @param {number} count how many of those that are not sent are being sent now */
  markSent (count) {
    for (const request of this.unsent.splice(0, count)) this.sent.set(request.id, request)
  }

  /** @param {import('../space/offset-map').OffsetMap} map to the file where the log is now */
  move (map) {
    // those that are sent may be sent again
    for (const request of [...this.sent.values(), ...this.unsent]) request.ask = movedAsk(request.ask, map)
  }

  /** @param {Ask} ask for which nobody waits any more; the owner may do it nevertheless */
  abandon (ask) {
    this.unsent = this.unsent.filter(request => request.ask !== ask)
    for (const request of this.sent.values()) if (request.ask === ask) this.sent.delete(request.id)
  }

  /** The connection is lost: those that were sent on it are to be sent again. */
  forgetSent () {
    this.unsent = [...this.sent.values(), ...this.unsent]
    this.sent.clear()
  }

  /**
   * @param {number} id
   * @returns {Request | undefined} which is answered; undefined: nobody waits for it
   */
  take (id) {
    const request = this.sent.get(id)
    this.sent.delete(id)
    return request
  }

  /** @returns {Request[]} all, none of which is waited for any more */
  takeAll () {
    this.forgetSent()
    return this.unsent.splice(0)
  }
}

module.exports = { Requests, execute }
