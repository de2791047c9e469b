'use strict'

// The entries in FILE.meta by which the next owner of a shared log knows which records of which clients are in it. Pure.

const CLIENT = 1
const RUN = 2
const VOID = 3
const FORGET = 4
const MOVE = 5

/**
 * `slot` stands for a client in the entries after its CLIENT.
 * @typedef {{ type: 1, slot: number, id: Buffer, stored: number }} ClientEntry the log has this client's records up to number `stored`
 * @typedef {{ type: 2, slot: number, first: number, count: number, seq: number }} RunEntry records of a client that are stored in a row
 * @typedef {{ type: 3, offset: number }} VoidEntry everything from this offset on was rolled back
 * @typedef {{ type: 4, slot: number }} ForgetEntry the client does not come back
 * @typedef {{ type: 5, offset: number, base: number }} MoveEntry if the log starts at `base` or after it, nothing from `offset` to there is stored:
 *   it was compacted. A `base` of 0: it was not, after all
 * @typedef {ClientEntry | RunEntry | VoidEntry | ForgetEntry | MoveEntry} Entry
 */

/**
 * @param {Entry} entry
 * @returns {import('../storage/metadata-text').ClientLine} as it is in FILE.meta
 */
function encodeEntry (entry) {
  switch (entry.type) {
    case CLIENT: return [CLIENT, entry.slot, entry.id.toString('hex'), entry.stored]
    case RUN: return [RUN, entry.slot, entry.first, entry.count, entry.seq]
    case VOID: return [VOID, entry.offset]
    case FORGET: return [FORGET, entry.slot]
    case MOVE: return [MOVE, entry.offset, entry.base]
  }
}

/**
 * @param {any[]} line
 * @returns {Entry}
 */
function decodeEntry ([type, ...rest]) {
  switch (type) {
    case CLIENT: return { type, slot: rest[0], id: Buffer.from(rest[1], 'hex'), stored: rest[2] }
    case RUN: return { type, slot: rest[0], first: rest[1], count: rest[2], seq: rest[3] }
    case VOID: return { type, offset: rest[0] }
    case FORGET: return { type, slot: rest[0] }
    default: return { type: MOVE, offset: rest[0], base: rest[1] }
  }
}

module.exports = { CLIENT, FORGET, MOVE, RUN, VOID, decodeEntry, encodeEntry }
