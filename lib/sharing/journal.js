'use strict'

// What the owner of a shared log says in FILE.meta of the records of its clients: which it is about to store, and where. It tells the
// next owner, after the death of this one, what is stored already. It has to survive a process, not the machine: nothing is fsynced.

const { CLIENT, FORGET, MOVE, RUN, VOID, decodeEntry, encodeEntry } = require('./journal-entries')

/**
 * @typedef {import('./journal-entries').Entry} Entry
 * @typedef {import('./journal-entries').RunEntry} RunEntry
 *
 * @typedef {object} Client what the next owner has to know about a client
 * @property {Buffer} id 16 bytes
 * @property {number} stored the highest of its numbers that is stored and will not be rolled back
 * @property {Array<{ first: number, count: number, seq: number }>} runs what was flushed and may be asked for, whether
 *   its write is done or in progress; it does no harm if runs that are still queued are among them
 */

/**
 * What is queued is written by `flush`, before the records that it announces are written to the log.
 * While that fails, nothing may be written to the log. The journal does not read the log: after each failed write, the
 * caller says from where on it was rolled back.
 */
class Journal {
  /**
   * @param {import('../storage/metadata-file').MetadataFile} metadata
   * @param {() => Iterable<Client>} listClients all that were added and not forgotten
   */
  constructor (metadata, listClients) {
    this.metadata = metadata
    this.listClients = listClients
    /** What is not in the file yet. @type {Entry[]} */
    this.queue = []
    /** While the log moves to another file. @type {import('./journal-entries').MoveEntry | null} */
    this.move = null
    this.slots = new Slots()
  }

  /** @returns {Entry[]} what an earlier owner has left */
  read () {
    return (this.metadata.metadata?.clients ?? []).map(decodeEntry)
  }

  /**
   * @param {Buffer} id 16 bytes
   * @param {number} stored the highest of its numbers that is stored and will not be rolled back
   * @returns {number} stands for the client in what follows; the same if it is added again
   */
  addClient (id, stored) {
    const slot = this.slots.of(id)
    // a copy: the caller may have cut it out of a buffer that it uses again
    this.queue.push({ type: CLIENT, slot, id: Buffer.from(id), stored })
    return slot
  }

  /**
   * @param {number} slot
   * @param {number} first number of the first record
   * @param {number} count
   * @param {number} seq of the first record, behind all that was added before and not rolled back
   */
  addRun (slot, first, count, seq) {
    this.queue.push({ type: RUN, slot, first, count, seq })
  }

  /** @param {number} offset from which on everything was rolled back */
  voidFrom (offset) {
    this.queue = this.queue.filter(entry => entry.type !== RUN || entry.seq < offset)
    const last = this.queue.at(-1)
    if (last?.type === VOID) last.offset = Math.min(last.offset, offset)
    else this.queue.push({ type: VOID, offset })
  }

  /**
   * The log is about to move to another file, by a compaction: what is not acknowledged is not copied, and is written there.
   * @param {number} offset up to where records are acknowledged
   * @param {number} base where the other file starts
   * @throws the system's error
   */
  startMove (offset, base) {
    this.move = { type: MOVE, offset, base }
    this.queue.push(this.move)
    const err = this.flush()
    if (err !== null) throw err
  }

  /** @param {boolean} isMoved whether it has moved: then runs from before that are not acknowledged have to be added again, with their new seqs */
  endMove (isMoved) {
    const { move } = this
    this.move = null
    if (move === null) return
    if (isMoved) this.queue = this.queue.filter(entry => entry.type !== RUN || entry.seq < move.offset)
    else this.queue.push({ ...move, base: 0 })
  }

  /** @param {number} slot of a client that does not come back */
  forget (slot) {
    if (this.slots.forget(slot)) this.queue.push({ type: FORGET, slot })
  }

  /** What may be written. While the log moves nothing is written to it, and its next owner could not tell for which of both files a run was meant. */
  get due () {
    return this.move === null ? this.queue : this.queue.filter(({ type }) => type !== RUN)
  }

  /**
   * Writes what is queued, at once. If that fails, it stays queued.
   * @returns {Error | null}
   */
  flush () {
    const { due } = this
    if (due.length === 0) return null
    try {
      this.metadata.append({ clients: due.map(encodeEntry) })
    } catch (err) {
      return /** @type {Error} */ (err)
    }
    this.queue = this.move === null ? [] : this.queue.filter(({ type }) => type === RUN)
    return null
  }

  /**
   * For a snapshot of FILE.meta.
   * @returns {import('../storage/metadata-text').ClientLine[]} runs are in the order of their seqs, as in any journal
   */
  snapshot () {
    /** @type {Entry[]} */
    const entries = []
    /** @type {RunEntry[]} */
    const runEntries = []
    for (const { id, stored, runs } of this.listClients()) {
      const slot = this.slots.of(id)
      entries.push({ type: CLIENT, slot, id, stored })
      for (const { first, count, seq } of runs) runEntries.push({ type: RUN, slot, first, count, seq })
    }
    this.slots.reuseForgotten()
    return [...entries, ...runEntries.sort((a, b) => a.seq - b.seq), ...this.move === null ? [] : [this.move]].map(encodeEntry)
  }
}

/** Numbers that stand for the clients in a journal. */
class Slots {
  constructor () {
    /** By id, in hex. @type {Map<string, number>} */
    this.slots = new Map()
    /** @type {Map<number, string>} */
    this.ids = new Map()
    this.next = 0
    /** Those that another client may get. @type {number[]} */
    this.free = []
    /** Those of clients that were forgotten since the last snapshot. @type {number[]} */
    this.forgotten = []
  }

  /** @param {Buffer} id */
  of (id) {
    const key = id.toString('hex')
    let slot = this.slots.get(key)
    if (slot === undefined) {
      slot = this.free.pop() ?? this.next++
      this.slots.set(key, slot)
      this.ids.set(slot, key)
    }
    return slot
  }

  /**
   * @param {number} slot
   * @returns {boolean} whether it was in use
   */
  forget (slot) {
    const key = this.ids.get(slot)
    if (key === undefined) return false
    this.slots.delete(key)
    this.ids.delete(slot)
    this.forgotten.push(slot)
    return true
  }

  reuseForgotten () {
    for (const slot of this.forgotten) this.free.push(slot)
    this.forgotten = []
  }
}

module.exports = { Journal }
