'use strict'

// The journal beside a shared log: which records of which clients its owner is about to store,
// and where. It tells the next owner, after the death of this one, what is stored already. It
// has to survive a process, not the machine.

const fs = require('fs')
const { nullIfMissing } = require('../storage/directory')
const { CLIENT, ENTRY_SIZE, FORGET, HEADER_SIZE, MAX_SLOT, MOVE, RUN, VOID } = require('./journal-entries')
const { JournalFile } = require('./journal-file')

/** Bytes that the file may have before it is replaced by a snapshot. */
const MAX_SIZE = 1024 * 1024
/** It is not replaced before it is this many times as large as the last snapshot. */
const MAX_GROWTH = 4

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
 * While that fails, nothing may be written to the log; nor before `start` has succeeded. The
 * journal does not read the log: after each failed write, the caller says from where on it was rolled back.
 */
class Journal {
  /**
   * @param {string} filename of the journal
   * @param {() => import('fs').Stats} logStatus of the log, whose mode and owner the file gets
   * @param {() => Iterable<Client>} listClients all that were added and not forgotten; called by `flush`
   * @param {number} [maxSize] in bytes
   */
  constructor (filename, logStatus, listClients, maxSize = MAX_SIZE) {
    this.file = new JournalFile(filename, logStatus)
    this.listClients = listClients
    this.maxSize = maxSize
    /** The size at which the file is replaced. */
    this.replaceAt = 0
    /** What is not in the file yet. @type {Entry[]} */
    this.queue = []
    /** No run in the file reaches beyond this offset. */
    this.clippedAt = 0
    /** While the log moves to another file. @type {import('./journal-entries').MoveEntry | null} */
    this.move = null
    this.slots = new Slots()
  }

  /**
   * @returns {Entry[]} what an earlier owner has left; empty if there is no journal, or nothing in it is valid
   * @throws the system's error if it cannot be read
   */
  read () {
    return this.file.read()
  }

  /**
   * Starts a new journal in the place of what an earlier owner has left. If that fails, the earlier one stays.
   * @param {Iterable<Client>} clients
   * @returns {Error | null}
   */
  start (clients) {
    this.file.close()
    this.slots = new Slots()
    this.queue = []
    return this.replace(clients)
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
    else if (offset < this.clippedAt || this.queue.some(({ type }) => type === RUN)) this.queue.push({ type: VOID, offset })
  }

  /**
   * The log is about to move to another file, by a compaction: what is not acknowledged is not copied, and is written there.
   * @param {number} offset up to where records are acknowledged
   * @param {number} base where the other file starts
   * @throws the system's error
   */
  startMove (offset, base) {
    this.move = { type: MOVE, offset, base }
    if (this.file.size === 0) return
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
    else if (this.file.size > 0) this.queue.push({ ...move, base: 0 })
  }

  /** @param {number} slot of a client that does not come back */
  forget (slot) {
    if (this.slots.forget(slot)) this.queue.push({ type: FORGET, slot })
  }

  /** What may be written. While the log moves nothing is written to it, and its next owner could not tell for which of both files a run was meant. */
  get due () {
    return this.move === null ? this.queue : this.queue.filter(({ type }) => type !== RUN)
  }

  /** That was written. */
  clearDue () {
    this.queue = this.move === null ? [] : this.queue.filter(({ type }) => type === RUN)
  }

  /**
   * Writes what is queued, at once. If that fails, it stays queued.
   * @returns {Error | null}
   */
  flush () {
    const { due } = this
    if (due.length === 0) return null
    const { size } = this.file
    if (size > 0 && size + due.length * ENTRY_SIZE > this.replaceAt) {
      if (this.replace(this.listClients()) === null) return null
      // the disk may be full; there may be room later
      this.replaceAt = size + this.maxSize
    }
    // though it may fail: a part of it may be in the file then
    this.noteRuns(due)
    const err = this.file.append(due)
    if (err === null) this.clearDue()
    return err
  }

  /**
   * Replaces the file by a snapshot and what is queued.
   * @param {Iterable<Client>} clients
   * @returns {Error | null}
   */
  replace (clients) {
    const snapshot = this.snapshot(clients)
    const entries = [...snapshot, ...this.move === null ? [] : [this.move], ...this.due]
    const err = this.file.replace(entries)
    if (err !== null) return err
    this.replaceAt = Math.max(this.maxSize, MAX_GROWTH * (HEADER_SIZE + snapshot.length * ENTRY_SIZE))
    this.clippedAt = 0
    this.noteRuns(entries)
    this.clearDue()
    this.slots.reuseForgotten()
    return null
  }

  /**
   * @param {Iterable<Client>} clients
   * @returns {Entry[]} runs are in the order of their seqs, as in any journal
   */
  snapshot (clients) {
    /** @type {Entry[]} */
    const entries = []
    /** @type {RunEntry[]} */
    const runEntries = []
    for (const { id, stored, runs } of clients) {
      const slot = this.slots.of(id)
      entries.push({ type: CLIENT, slot, id, stored })
      for (const { first, count, seq } of runs) runEntries.push({ type: RUN, slot, first, count, seq })
    }
    return [...entries, ...runEntries.sort((a, b) => a.seq - b.seq)]
  }

  /** @param {Entry[]} entries that come into the file */
  noteRuns (entries) {
    for (const entry of entries) {
      if (entry.type === RUN) this.clippedAt = Infinity
      else if (entry.type === VOID) this.clippedAt = Math.min(this.clippedAt, entry.offset)
    }
  }

  /**
   * Removes the file.
   * @returns {Error | null}
   */
  remove () {
    return this.file.remove()
  }

  /** Closes the file, which stays for the next owner. */
  close () {
    this.file.close()
  }
}

/**
 * @param {string} filename of a log
 * @returns {string} of its journal
 */
function journalName (filename) {
  return filename + '.clients'
}

/**
 * For a process that opens the log without sharing it: the clients of earlier owners cannot go on.
 * @param {string} filename of a log
 */
async function removeJournal (filename) {
  if (fs.existsSync(journalName(filename))) await fs.promises.unlink(journalName(filename)).catch(nullIfMissing)
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
    /** Those of clients that were forgotten since the journal was replaced. @type {number[]} */
    this.forgotten = []
  }

  /** @param {Buffer} id */
  of (id) {
    const key = id.toString('hex')
    let slot = this.slots.get(key)
    if (slot === undefined) {
      if (this.free.length === 0 && this.next > MAX_SLOT) throw new RangeError(`a journal has at most ${MAX_SLOT + 1} clients`)
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

module.exports = { Journal, journalName, removeJournal }
