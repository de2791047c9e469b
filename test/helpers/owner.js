'use strict'

// A simulated owner of a shared log: a log in memory, and a journal in a file. Its writes can
// fail, and it can die at any moment.

const fs = require('fs')
const layout = require('../../lib/format/layout')
const { Journal } = require('../../lib/sharing/journal')
const { storedRuns } = require('../../lib/sharing/stored-runs')
const { failing } = require('./failing-calls')

const BLOCK_SIZE = 64
/** Bytes: small, so that the journal is replaced often. */
const JOURNAL_SIZE = 640

class Owner {
  /**
   * @param {string} filename of the journal
   * @param {boolean} listsQueued whether runs that are not in the journal yet are in its snapshots
   */
  constructor (filename, listsQueued) {
    this.filename = filename
    this.listsQueued = listsQueued
    /** The log, with what is not written yet. */
    this.log = Buffer.alloc(0)
    /** Its records: { offset, end, client, number }; those of the owner have no client. */
    this.records = []
    this.acknowledged = 0
    /** Runs up to here are in the journal. */
    this.flushed = 0
    /** id in hex -> { id, slot, number, answered, runs } */
    this.clients = new Map()
    this.made = 0
    this.mismatches = []
    this.start([])
  }

  get end () {
    return this.log.length
  }

  newJournal () {
    const list = () => [...this.clients.values()].map(client => ({
      id: client.id,
      stored: this.storedOf(client),
      runs: client.runs.filter(({ seq }) => this.listsQueued || seq < this.flushed)
    }))
    return new Journal(this.filename, () => fs.statSync(__filename), list, JOURNAL_SIZE)
  }

  start (clients) {
    this.journal?.close()
    this.journal = this.newJournal()
    const err = this.journal.start(clients)
    if (err !== null) throw err
  }

  /** The highest number of a client that is in the log for good. */
  storedOf ({ id }) {
    return this.records.reduce((most, record) => record.client?.id === id && record.end <= this.acknowledged ? Math.max(most, record.number) : most, 0)
  }

  clientAt (index) {
    return [...this.clients.values()][index % (this.clients.size + 1)]
  }

  addClient () {
    const id = Buffer.alloc(16, ++this.made)
    const client = { id, slot: this.journal.addClient(id, 0), number: 0, answered: 0, runs: [] }
    this.clients.set(id.toString('hex'), client)
  }

  forget (index) {
    const client = this.clientAt(index)
    if (client === undefined) return
    this.journal.forget(client.slot)
    this.clients.delete(client.id.toString('hex'))
  }

  /** The client has got its answers: the owner may forget where the records are. */
  answer (index) {
    const client = this.clientAt(index)
    if (client === undefined) return
    client.answered = this.storedOf(client)
    client.runs = client.runs.filter(({ first, count }) => first + count - 1 > client.answered)
  }

  /** Frames of records of a client, or of the owner itself, that are packed. */
  pack (frames) {
    for (const { who, skipped, sizes } of frames) {
      const client = this.clientAt(who)
      if (client !== undefined) client.number += skipped
      const seqs = sizes.map(size => this.add(size, client))
      if (client !== undefined) {
        const first = client.number - sizes.length + 1
        this.journal.addRun(client.slot, first, sizes.length, seqs[0])
        client.runs.push({ first, count: sizes.length, seq: seqs[0] })
      }
    }
  }

  add (size, client) {
    const position = this.end % BLOCK_SIZE
    if (!layout.fits(BLOCK_SIZE, true, position, size)) {
      const block = Buffer.alloc(BLOCK_SIZE)
      this.log.copy(block, 0, this.end - position)
      layout.seal(block, position)
      this.log = Buffer.concat([this.log.subarray(0, this.end - position), block])
    }
    const offset = this.end
    const record = Buffer.alloc(size + layout.FRAME_SIZE)
    // a deleted record has zeros as data
    layout.writeRecord(record, 0, Buffer.alloc(size, size % 3))
    this.log = Buffer.concat([this.log, record])
    this.records.push({ offset, end: this.end, client, number: client === undefined ? 0 : ++client.number })
    return offset
  }

  /** One write of what is packed; `later` is packed while it is in progress. */
  write ({ fails, room, leaves, keepsOld }, later) {
    const target = this.end
    const faults = { ...(fails === 'journal' ? { room } : {}), ftruncate: leaves, rename: keepsOld }
    const err = failing(faults, () => this.journal.flush())
    if (err === null) {
      this.flushed = target
      this.pack(later)
    }
    if (err !== null || fails === 'log') this.rollBack()
    else this.acknowledged = target
  }

  rollBack () {
    this.flushed = this.acknowledged
    this.dropFrom(this.acknowledged)
    this.journal.voidFrom(this.acknowledged)
  }

  dropFrom (offset) {
    this.log = this.log.subarray(0, offset)
    this.records = this.records.filter(record => record.offset < offset)
    for (const client of this.clients.values()) client.runs = client.runs.filter(({ seq }) => seq < offset)
  }

  /** SIGKILL: before, in or after the write of the journal, or in the write of the log, in which some records were written. Share: percent */
  die (when, share, keepsOld) {
    const before = fs.readFileSync(this.filename)
    if (when !== 'before') failing({ rename: keepsOld }, () => this.journal.flush())
    const after = fs.readFileSync(this.filename)
    this.journal.close()
    if (when === 'journal') {
      const isAppended = after.subarray(0, before.length).equals(before)
      const size = before.length + Math.floor(share * (after.length - before.length) / 100)
      fs.writeFileSync(this.filename, isAppended ? after.subarray(0, size) : before)
      if (!isAppended) fs.writeFileSync(this.filename + '.new', after.subarray(0, share * after.length / 100))
    }
    const unwritten = this.records.filter(({ offset }) => offset >= this.acknowledged)
    const kept = when === 'log' ? Math.floor(share * (unwritten.length + 1) / 100) : 0
    this.dropFrom(kept === 0 ? this.acknowledged : unwritten[kept - 1].end)
    this.acknowledged = this.flushed = this.end
  }

  /** Another process becomes the owner. */
  async succeed (startFails) {
    let found = await this.readJournal()
    this.compare(found)
    if (startFails) {
      const journal = this.newJournal()
      if (failing({ room: 10 }, () => journal.start([])) === null) this.mismatches.push('a start succeeded on a full disk')
      found = await this.readJournal()
      this.compare(found)
    }
    this.start(found.values())
    for (const client of this.clients.values()) {
      const { stored, runs } = found.get(client.id.toString('hex')) ?? { stored: 0, runs: [] }
      client.slot = this.journal.addClient(client.id, stored)
      client.number = Math.max(client.number, stored)
      client.runs = runs
    }
  }

  readJournal () {
    const read = async (offset, size) => {
      if (offset < 0 || size <= 0 || offset + size > this.end) this.mismatches.push(`read ${size} bytes at ${offset} of ${this.end}`)
      return this.log.subarray(offset, offset + size)
    }
    return storedRuns(this.newJournal().read(), this.end, read, BLOCK_SIZE)
  }

  /** What the journal says is what is in the log. */
  compare (found) {
    for (const [key, { id, stored, runs }] of found) {
      const client = this.clients.get(key)
      // what has not reached the journal: it was forgotten, or added
      if (client === undefined) continue
      const inLog = this.records.filter(record => record.client === client)
      const reported = runs.flatMap(({ first, count, seq }) => {
        const at = this.records.findIndex(({ offset }) => offset === seq)
        return Array.from({ length: count }, (_, i) => ({ number: first + i, record: this.records[at + i] }))
      })
      for (const { number, record } of reported) {
        if (record?.client !== client || record.number !== number) this.mismatches.push(`${number} of ${id[0]} is not where it should be`)
      }
      const numbers = new Set(reported.map(({ number }) => number))
      for (const { number } of inLog) {
        if (number > client.answered && !numbers.has(number)) this.mismatches.push(`${number} of ${id[0]} is not reported`)
      }
      if (numbers.size !== reported.length) this.mismatches.push(`${id[0]} has a record twice`)
      const highest = inLog.at(-1)?.number ?? 0
      if (stored !== highest) this.mismatches.push(`${id[0]}: stored ${stored}, in the log ${highest}`)
    }
    for (const [key, client] of this.clients) {
      if (!found.has(key) && this.records.some(record => record.client === client)) this.mismatches.push(`${client.id[0]} is missing`)
    }
  }
}

module.exports = { Owner, BLOCK_SIZE }
