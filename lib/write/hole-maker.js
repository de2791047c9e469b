'use strict'

// Frees the space of blocks whose records are all deleted. Such a block becomes a hole in three
// steps, so that at any moment the file, with its recovery point, has a valid block there:
//
//     recorded    the recovery point says that all of the block is deleted    deleter.js
//     rewritten   it is a hole in the log's file, and that is fsynced         deleter.js
//     punched     the file system frees its pages of zeros                    here
//
// After a crash before the last step it is a hole that takes space, until `reclaim` finds it.

const { promised } = require('../callbacks')
const { pagesOf } = require('../recovery/punch-head')

/** Milliseconds of punching at a time, so that appends do not wait long: a block takes some 0.1 ms on ext4. */
const MAX_PUNCH_TIME = 3
/** The most blocks punched, or asked for, at a time. */
const MAX_BLOCKS = 64

/** @typedef {(err?: Error | null) => void} Done */

class HoleMaker {
  /** @param {import('./deleter').Deleter} deleter */
  constructor (deleter) {
    this.deleter = deleter
    /** Whether blocks become holes; if not, each deleted record can be found for ever. */
    this.isOn = deleter.options.holes !== false
    this.writer = deleter.writer
    this.file = deleter.file
    this.blockSize = deleter.blocks.blockSize
    /** Blocks that may have become empty, and could not become holes then. @type {Set<number>} */
    this.emptied = new Set()
    /** Those that could not either when they were tried: they are tried again with others. @type {Set<number>} */
    this.postponed = new Set()
    /** What `unsettled` is; null: it has to be looked up. @type {Set<number> | null} */
    this.knownUnsettled = null
    /** Why a block could not become a hole. @type {Error | null} */
    this.failure = null
    /** Holes in the log's file, with the number of the fsync that makes them durable. @type {Map<number, number>} */
    this.unpunched = new Map()
    /** What was freed since the log was opened. */
    this.freed = { blocks: 0, bytes: 0 }
    /** They are to be made now. */
    this.isDue = false
    /** Called when nothing is left to be done. @type {Done[]} */
    this.waiting = []
  }

  get hasSome () {
    return this.emptied.size > 0 || this.unpunched.size > 0
  }

  /** Before blocks are looked at. */
  update () {
    this.knownUnsettled = null
  }

  /** Offsets of blocks that the log's file does not have durably without all their deleted records. */
  get unsettled () {
    return (this.knownUnsettled ??= this.writer.metadata.blocksInDoubt())
  }

  /**
   * A block becomes a hole only in front of the recovery point: recovery finds its way behind that by the lengths of records. And only if there is one thing that it can have been before.
   * @param {number} number
   */
  canBecomeHole (number) {
    const { file, writer, blockSize } = this
    const start = number * blockSize
    const end = start + blockSize
    if (!this.isOn || file.metadata === null || end >= writer.metadata.end || this.unsettled.has(start)) return false
    // the next owner of a shared log may have to count records there
    return !writer.clients.mayAskFor(start, end)
  }

  /**
   * @param {number} start offset of a block
   * @param {number} end offset of a block
   * @returns {boolean} whether blocks between them can become holes only when `settle` has succeeded
   */
  mustSettle (start, end) {
    const { file, writer } = this
    if (file.metadata === null || end <= start) return false
    const isBehind = end < writer.acknowledged && end >= writer.metadata.end
    return isBehind || [...this.unsettled].some(block => block >= start && block < end)
  }

  /** @param {number} number of a block in which all records may be deleted now */
  consider (number) {
    if (this.isOn && this.file.metadata !== null) this.emptied.add(number)
  }

  /** @param {number} number of a hole, in the log's file or recorded, which may take space */
  considerHole (number) {
    if (this.writer.deletions.pending.has(number)) this.consider(number)
    else if (!this.unpunched.has(number)) this.rewritten(number, 0)
  }

  /**
   * @param {number} number of a hole that is in the log's file
   * @param {number} coveredBy number of the fsync that makes it durable
   */
  rewritten (number, coveredBy) {
    if (this.file.canPunch() !== false && pagesOf(number, this.blockSize).length > 0) this.unpunched.set(number, coveredBy)
  }

  /** The log is another file now, without these blocks. */
  moved () {
    this.emptied.clear()
    this.postponed.clear()
    this.unpunched.clear()
    this.update()
  }

  /** @param {number} first number of the first block that was not trimmed */
  trim (first) {
    for (const blocks of [this.emptied, this.postponed, this.unpunched]) {
      for (const number of [...blocks.keys()]) if (number < first) blocks.delete(number)
    }
  }

  /** Before the log is closed. */
  finishAll () {
    const mayHave = this.hasSome || this.postponed.size > 0 || this.writer.deletions.pending.size > 0
    if (this.file.metadata !== null && mayHave) this.isDue = true
  }

  /** @param {Done} cb called when all blocks known to be empty are holes, and punched */
  finish (cb) {
    const { refusal } = this.writer.appender
    if (refusal !== null) return process.nextTick(cb, refusal)
    this.waiting.push(cb)
    this.isDue = true
    this.writer.schedule()
  }

  /** A part of it, when the deleter has nothing else to do. */
  async makeSome () {
    const { deletions } = this.writer
    try {
      if (this.emptied.size > 0) await this.requestEmptied()
      else if (deletions.pending.size > 0) {
        await deletions.makeDurable()
        await deletions.writeZeros(MAX_BLOCKS)
      } else if (this.unpunched.size > 0) await this.punchSome()
      else this.end(null)
    } catch (err) {
      this.end(/** @type {Error} */ (err))
    }
  }

  /** Asks for blocks that are empty; those that are not are left alone. */
  async requestEmptied () {
    const { deleter, writer, emptied, postponed, blockSize } = this
    const sealed = [...emptied, ...postponed].filter(number => number < deleter.blocks.tail.number)
    this.update()
    if (sealed.some(number => this.mustSettle(number * blockSize, (number + 1) * blockSize))) {
      await writer.deletions.settle()
      this.update()
    }
    const possible = sealed.filter(number => this.canBecomeHole(number)).slice(0, MAX_BLOCKS)
    for (const number of possible) {
      emptied.delete(number)
      postponed.delete(number)
      deleter.requestHole(number, (err) => { this.failure ??= err ?? null })
    }
    if (possible.length > 0 && writer.failure === null) return
    for (const number of emptied) postponed.add(number)
    emptied.clear()
  }

  async punchSome () {
    const { writer: { durability }, unpunched } = this
    const isDurable = (/** @type {number} */ coveredBy) => coveredBy <= durability.lastSync
    if (![...unpunched.values()].every(isDurable)) await promised(cb => durability.syncAll(cb))
    const { clock } = this.deleter
    const until = clock.now() + MAX_PUNCH_TIME
    let count = 0
    for (const number of unpunched.keys()) {
      if (count++ === MAX_BLOCKS || clock.now() > until) break
      unpunched.delete(number)
      await this.punch(number)
    }
  }

  /** @param {number} number */
  async punch (number) {
    const { file, blockSize } = this
    const { offset, length } = pagesOf(number, blockSize)
    // it was found to be impossible meanwhile
    if (file.canPunch() === false) return
    const before = file.allocated()
    await promised(cb => file.punch(offset, length, cb))
    const freed = (before ?? 0) - (file.allocated() ?? 0)
    if (freed <= 0) return
    this.freed.blocks++
    this.freed.bytes += freed
  }

  /** @param {Error | null} err nothing more is done for now */
  end (err) {
    const failure = err ?? this.failure
    this.isDue = false
    this.failure = null
    for (const cb of this.waiting.splice(0)) process.nextTick(cb, failure)
  }
}

module.exports = { HoleMaker }
