'use strict'

// Maintains FILE.meta while a log is open for writing. Before the log's file is changed for the first time, it says that the log is open. Then
// its recovery point moves up as data becomes durable, it lists deletions until the file has them, and says where the log starts. One change at
// a time.

const { randomUUID } = require('crypto')
const { blockBefore, tieAt } = require('../recovery/belonging')

/**
 * @typedef {import('../format/deletions').Deletion} Deletion
 * @typedef {import('../storage/metadata-text').Metadata} Metadata
 * @typedef {import('../storage/metadata-text').Place} Place
 */

/** Bytes of deletions, about: readers in other processes read all of them. */
const MAX_LISTED = 32 * 1024
/** Bytes that a deletion, and a record of it, take. */
const DELETION_SIZE = 70
const RECORD_SIZE = 14
/** Bytes that a hole counts as, more than it takes: at most 64 are listed, and freed at a time, so that appends do not wait long. */
const HOLE_SIZE = MAX_LISTED / 64

class MetadataKeeper {
  /** @param {import('./writer').Writer} writer */
  constructor (writer) {
    const { file, blocks, durability } = writer
    this.writer = writer
    this.metadata = file.metadata
    this.read = file.io.read
    this.blocks = blocks
    this.blockSize = blocks.blockSize
    this.durability = durability
    /** Whether the file says that the log is open. */
    this.isOpen = false
    /**
     * The deletions that it lists, in order, with the number of the fsync that makes them durable in the log; Infinity: the log's file does not
     * have them yet. @type {Map<Deletion, number>}
     */
    this.deletions = new Map()
    /** The number of the last deletion. */
    this.lastNumber = 0
    /** Whether deletions or trims were appended, and are not durable. */
    this.hasUnsynced = false
    this.isMoving = false
    this.isStopped = false
    /** Settled when no change is in progress. @type {Promise<unknown>} */
    this.last = Promise.resolve()
  }

  /** Whether it has to be written before the file is changed. */
  get mustBeWritten () {
    return !this.isOpen || this.metadata.mustReplace
  }

  /** The recovery point; -1: there is none. */
  get end () {
    return this.isOpen ? this.listed.end : -1
  }

  /** Whether deletions have to be dropped before more are recorded. */
  get isLong () {
    let bytes = 0
    for (const deletion of this.deletions.keys()) bytes += listedSize(deletion)
    return bytes > MAX_LISTED
  }

  /** What the file says. */
  get listed () {
    return /** @type {Metadata} */ (this.metadata.metadata)
  }

  /**
   * @template T
   * @param {(metadata: import('../storage/metadata-file').MetadataFile) => Promise<T>} run
   * @returns {Promise<T>}
   */
  change (run) {
    const done = this.last.then(() => run(this.metadata))
    this.last = done.catch(() => {})
    return done
  }

  /** Makes it say, durably, that the log is open, and what is true. */
  write () {
    return this.change(() => this.ensureWritten())
  }

  async ensureWritten () {
    const { metadata, durability } = this
    if (!this.mustBeWritten) return
    const hasClients = metadata.metadata !== null && Object.keys(metadata.metadata.clients).length > 0
    if (!this.isOpen && metadata.metadata !== null && !metadata.mustReplace && !hasClients && await this.reopen(metadata)) return
    const { log = randomUUID() } = metadata.metadata ?? {}
    const writer = this.isOpen ? this.listed.writer : randomUUID()
    const place = await this.place()
    const { dropped } = this
    await metadata.replace({ log, writer, closed: false, deletions: this.after(dropped), dropped, clients: this.writer.clients.list(), next: null, ...place }, durability.acknowledged)
    this.keepAfter(dropped)
    this.isOpen = true
    this.hasUnsynced = false
    metadata.publish(durability.acknowledged)
  }

  /**
   * @param {import('../storage/metadata-file').MetadataFile} metadata of a log that was closed
   * @returns {Promise<boolean>} false: the file has to be replaced
   */
  async reopen (metadata) {
    const place = await this.place()
    if (!await metadata.lock(this.durability.acknowledged)) return false
    metadata.append({ writer: randomUUID(), closed: false, dropped: 0, ...place }, true)
    await metadata.sync()
    this.isOpen = true
    return true
  }

  /** The highest number of a deletion that need not be listed any more. */
  get dropped () {
    const { lastSync } = this.durability
    let dropped = this.lastNumber
    for (const [{ block, number }, sync] of this.deletions) {
      if (sync > lastSync && block >= this.blocks.start) return Number(number) - 1
      dropped = Math.max(dropped, Number(number))
    }
    return dropped
  }

  /** @returns {Promise<Place>} what is true now */
  async place () {
    const { blocks: { id, base, start }, blockSize, durability: { recoveryPoint: end }, writer } = this
    return { end, tie: await this.tieAt(end), start, freed: writer.trimmer.durable, blockSize, id, base }
  }

  /**
   * @param {number} end
   * @param {Iterable<Deletion>} [more] that are about to be listed
   */
  tieAt (end, more = []) {
    return tieAt(this.read, end, this.blockSize, [...this.deletions.keys(), ...more])
  }

  /**
   * Moves the recovery point up, if that is worth it, or the file has become long.
   * @param {number} [step] bytes from which on it is worth it
   */
  considerMove (step = Infinity) {
    if (!this.isOpen || this.isMoving || this.isStopped) return
    if (!this.metadata.isLong && this.durability.recoveryPoint - this.listed.end < step) return
    this.isMoving = true
    const done = () => { this.isMoving = false }
    // durable, so that opening after a power cut reads little more than `step`; should it fail, the one that is there still holds
    this.move().then(() => this.change(metadata => metadata.sync())).then(done, done)
  }

  /** Moves the recovery point up, and drops the deletions that the file has durably. */
  move () {
    return this.change(async (metadata) => {
      await this.ensureWritten()
      const place = await this.place()
      const { dropped } = this
      if (metadata.isLong) await metadata.replace({ ...this.listed, ...place, dropped, deletions: this.after(dropped), clients: this.writer.clients.list() })
      else metadata.append({ ...place, dropped })
      this.keepAfter(dropped)
    })
  }

  /** @param {number} dropped */
  after (dropped) {
    return [...this.deletions.keys()].filter(({ number }) => Number(number) > dropped)
  }

  /** @param {number} dropped */
  keepAfter (dropped) {
    for (const deletion of this.deletions.keys()) if (Number(deletion.number) <= dropped) this.deletions.delete(deletion)
  }

  /**
   * From then on, a crash of this process does not undo deletions.
   * @param {Deletion[]} deletions
   */
  record (deletions) {
    return this.change(async (metadata) => {
      await this.ensureWritten()
      // nothing else shows that the file is this one
      if (this.listed.end === 0 && this.durability.recoveryPoint > 0) metadata.append(await this.place(), true)
      const block = blockBefore(this.listed.end, this.blockSize)
      const isTied = deletions.some(deletion => deletion.block === block)
      const tie = isTied ? { tie: await this.tieAt(this.listed.end, deletions) } : {}
      const numbered = deletions.map((deletion, i) => Object.assign(deletion, { number: this.lastNumber + i + 1 }))
      metadata.append({ deletions: numbered, ...tie }, true)
      this.lastNumber += deletions.length
      for (const deletion of deletions) this.deletions.set(deletion, Infinity)
      this.hasUnsynced = true
      this.considerMove()
    })
  }

  /**
   * These do not take effect: the file must not have them.
   * @param {Deletion[]} deletions that were recorded
   */
  withdraw (deletions) {
    for (const deletion of deletions) this.deletions.delete(deletion)
    this.metadata.distrust()
  }

  /**
   * The log starts there for readers. From then on, a crash of this process does not undo that.
   * @param {number} start
   */
  trim (start) {
    return this.change(async (metadata) => {
      await this.ensureWritten()
      this.durability.noteSynced()
      const { recoveryPoint: end } = this.durability
      metadata.append({ end, tie: await this.tieAt(end), start, freed: this.writer.trimmer.durable }, true)
      this.blocks.trim(start)
      this.hasUnsynced = true
      this.considerMove()
    })
  }

  /** Makes durable what was appended. */
  sync () {
    return this.change(async (metadata) => {
      if (metadata.mustReplace) return this.ensureWritten()
      if (!this.hasUnsynced) return
      await metadata.sync()
      this.hasUnsynced = false
    })
  }

  /**
   * @param {number} start offset of a block
   * @returns {Deletion[]} those in it that the log's file does not have
   */
  pendingIn (start) {
    const pending = []
    for (const [deletion, sync] of this.deletions) if (deletion.block === start && sync === Infinity) pending.push(deletion)
    return pending
  }

  /**
   * @param {number} start offset of a block: the log's file has all that was deleted in it
   * @param {number} sync number of the fsync that makes it durable there
   */
  applied (start, sync) {
    for (const deletion of this.pendingIn(start)) this.deletions.set(deletion, sync)
  }

  /** Whether the log's file has zeros that are not durable. */
  get hasUnsyncedZeros () {
    const { lastSync } = this.durability
    for (const sync of this.deletions.values()) if (sync > lastSync && sync !== Infinity) return true
    return false
  }

  /**
   * @param {number} start offset of a block
   * @returns {boolean} whether, after a power cut, the file may have it with or without records that are deleted in it
   */
  isInDoubt (start) {
    const { lastSync } = this.durability
    for (const [{ block }, sync] of this.deletions) if (block === start && sync > lastSync) return true
    return false
  }

  /**
   * The log was truncated: of the block in which it ends now, no deletion knows the checksum.
   * @param {number} end offset
   */
  truncated (end) {
    for (const deletion of this.deletions.keys()) {
      if (deletion.checksum === null || deletion.block + this.blockSize <= end) continue
      deletion.checksum = null
      this.metadata.distrust()
    }
  }

  /**
   * Another file takes the log's place, in which all that was deleted is deleted.
   * @param {Omit<import('../storage/metadata-text').Next, 'clients'>} place what is true of that file
   * @param {() => Promise<void>} takePlace gives it the log's name, durably, and moves readers there
   */
  handOver (place, takePlace) {
    return this.change(async (metadata) => {
      await this.ensureWritten()
      // what is not acknowledged is not in that file yet
      const next = { ...place, clients: this.writer.clients.list(this.durability.acknowledged) }
      metadata.append({ next })
      await metadata.sync()
      try {
        await takePlace()
      } catch (err) {
        metadata.distrust()
        throw err
      }
      const dropped = this.lastNumber
      this.deletions.clear()
      try {
        metadata.append({ ...next, dropped, next: null }, true)
      } catch {
        // what it says of the next file is true of this one; but nothing else may be appended to it
        metadata.distrust()
      }
      this.publish()
    })
  }

  /** Tells readers in other processes what has been acknowledged. */
  publish () {
    if (this.isOpen && !this.isStopped) this.metadata.publish(this.durability.acknowledged)
  }

  /** @returns {Promise<unknown>} settled when nothing is in progress any more; then the recovery point is not moved any more */
  stop () {
    this.isStopped = true
    return this.last
  }

  /** The file says by itself where the log ends, and has all that was deleted. */
  close () {
    return this.change(async (metadata) => {
      if (!this.isOpen) return
      const place = await this.place()
      const clients = this.writer.clients.list()
      const closed = { ...place, closed: true, dropped: this.lastNumber, clients: Object.keys(clients).length === 0 ? null : clients }
      this.isOpen = false
      // otherwise, the next opening recovers the log
      if (metadata.mustReplace) await metadata.replace({ ...this.listed, ...place, dropped: this.lastNumber, deletions: [], clients, next: null })
      metadata.append(closed, true)
    })
  }
}

/** @param {Deletion} deletion */
function listedSize ({ isHole, records }) {
  return isHole ? HOLE_SIZE : DELETION_SIZE + RECORD_SIZE * records.length
}

module.exports = { MetadataKeeper }
