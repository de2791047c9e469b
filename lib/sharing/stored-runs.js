'use strict'

// Decides which records of which clients are in a shared log, from the journal that its last
// owner has left and from where the log ends. Pure; it is given the bytes of the log it asks for.

const { BARE_PADDING_SIZE, dataAt, nextPosition, readLength } = require('../format/layout')
const { PART, kindOf } = require('../format/chunk')
const { endOfRecords, frameProblem } = require('../format/validation')
const { CLIENT, FORGET, MOVE, RUN, VOID } = require('./journal-entries')

/**
 * @typedef {object} Run records of one client with consecutive numbers, stored in a row
 * @property {number} first the number of the first
 * @property {number} count
 * @property {number} seq of the first
 *
 * @typedef {object} StoredClient
 * @property {Buffer} id
 * @property {number} stored the highest number that is stored; 0 if none is
 * @property {Run[]} runs in the order of their seqs
 *
 * @typedef {(offset: number, size: number) => Promise<Buffer>} Read
 *
 * @typedef {object} Candidate a run that was to be stored
 * @property {Run} run
 * @property {StoredClient | undefined} client undefined: the journal does not say which
 * @property {number} limit its records that start here or later are not stored; Infinity: all of it is stored
 */

/**
 * @param {import('./journal-entries').Entry[]} entries of the journal
 * @param {number} end where the log ends, after recovery
 * @param {Read} read of the log; only what is in front of `end`
 * @param {number} blockSize in bytes
 * @param {number} [start] of the log
 * @returns {Promise<Map<string, StoredClient>>} by id, in hex
 */
async function storedRuns (entries, end, read, blockSize, start = 0) {
  const { clients, candidates } = replay(entries, start)
  clip(candidates, end)
  const blockAt = blocksOf(read, end, blockSize)
  for (const { run, client, limit } of candidates) {
    if (client === undefined || clients.get(client.id.toString('hex')) !== client) continue // forgotten
    // only what was acknowledged is trimmed, and a run is as a whole
    const count = limit === Infinity || run.seq < start ? run.count : await countRecords(run, limit, blockAt, blockSize)
    if (count === 0) continue
    client.runs.push({ ...run, count })
    client.stored = Math.max(client.stored, run.first + count - 1)
  }
  return clients
}

/**
 * The candidates are in the order of their seqs. Each ends where the next one starts, or before:
 * so if that one is still there, all of it was stored, unless its `limit` says otherwise.
 * @param {import('./journal-entries').Entry[]} entries
 * @param {number} start of the log
 */
function replay (entries, start) {
  /** @type {Map<string, StoredClient>} */
  const clients = new Map()
  /** @type {Map<number, StoredClient>} */
  const slots = new Map()
  /** @type {Candidate[]} */
  const candidates = []
  /** Compactions: up to where records were copied, and where the log started since. @type {Map<number, number>} */
  const moves = new Map()
  for (const entry of entries) if (entry.type === MOVE) moves.set(entry.offset, entry.base)
  for (const entry of entries) {
    if (entry.type === CLIENT) {
      const key = entry.id.toString('hex')
      const client = clients.get(key) ?? { id: entry.id, stored: 0, runs: [] }
      client.stored = Math.max(client.stored, entry.stored)
      clients.set(key, client)
      slots.set(entry.slot, client)
    } else if (entry.type === RUN) {
      const { slot, first, count, seq } = entry
      const last = candidates.at(-1)
      // a run where another one was supposed to be has replaced it
      if (last !== undefined && (seq <= last.run.seq || last.limit !== Infinity)) clip(candidates, seq)
      candidates.push({ run: { first, count, seq }, client: slots.get(slot), limit: Infinity })
    } else if (entry.type === VOID) {
      clip(candidates, entry.offset)
    } else if (entry.type === FORGET) {
      const client = slots.get(entry.slot)
      if (client !== undefined) clients.delete(client.id.toString('hex'))
      slots.delete(entry.slot)
    } else if (entry.type === MOVE && entry.base > 0 && entry.base <= start && moves.get(entry.offset) === entry.base) {
      // what was not acknowledged when the log moved to another file was not copied, wherever it was to be: perhaps behind `base`
      clip(candidates, entry.offset)
    }
  }
  return { clients, candidates }
}

/**
 * No record that starts at `offset` or later is stored.
 * @param {Candidate[]} candidates
 * @param {number} offset
 */
function clip (candidates, offset) {
  let last = candidates.at(-1)
  while (last !== undefined && last.run.seq >= offset) {
    candidates.pop()
    last = candidates.at(-1)
  }
  if (last !== undefined) last.limit = Math.min(last.limit, offset)
}

/**
 * Follows the records from the start of a run. Its bytes may be those of another log.
 * @param {Run} run
 * @param {number} limit records from here on are not counted
 * @param {(start: number) => Promise<Buffer>} blockAt
 * @param {number} blockSize
 * @returns {Promise<number>} how many of its records are in the log, without parts of a large one of which chunks are missing: that is
 *   stored again as a whole; 0 if no record starts at its seq
 */
async function countRecords ({ seq, count: most }, limit, blockAt, blockSize) {
  let position = seq % blockSize
  let block = await blockAt(seq - position)
  if (endOfRecords(block, 0, position) !== position) return 0
  let count = 0
  let whole = 0
  for (let start = seq - position; ; position = 0) {
    const end = Math.min(block.length, blockSize - BARE_PADDING_SIZE)
    while (count < most && start + position < limit && frameProblem(block, position, end) === null) {
      count++
      if (kindOf(dataAt(block, position)) !== PART) whole = count
      position = nextPosition(block, position)
    }
    const isPadded = block.length === blockSize && readLength(block, position) === blockSize - 1
    start += blockSize
    if (count === 0 || count === most || !isPadded || start >= limit) return whole
    block = await blockAt(start)
  }
}

/**
 * @param {Read} read
 * @param {number} end of the log
 * @param {number} blockSize
 * @returns {(start: number) => Promise<Buffer>} reads a block, the last one up to `end`; a block that is asked for
 *   several times in a row is read once
 */
function blocksOf (read, end, blockSize) {
  let lastStart = -1
  /** @type {Promise<Buffer>} */
  let last
  return (start) => {
    if (start !== lastStart) last = read(start, Math.min(blockSize, end - start))
    lastStart = start
    return last
  }
}

module.exports = { storedRuns }
