'use strict'

// Which blocks become holes: those whose records are all deleted, as soon as it is safe. So at any moment the file, with FILE.meta, has a valid
// block there:
//
//     recorded    FILE.meta says, durably, that all of the block is deleted          deleter.js
//     freed       it is a hole in the log's file, and its pages of zeros are freed   recorded-deletions.js
//
// FILE.meta lists it until that is durable; recovery frees what is listed.

const { promised } = require('../callbacks')

/** The most blocks asked for at a time. */
const MAX_BLOCKS = 64

class HoleMaker {
  /** @param {import('./deleter').Deleter} deleter */
  constructor (deleter) {
    this.deleter = deleter
    /** Whether blocks become holes; if not, each deleted record can be found for ever. */
    this.isOn = deleter.options.holes !== false
    this.writer = deleter.writer
    this.blockSize = deleter.blocks.blockSize
    /** Blocks that may have become empty, and could not become holes then. @type {Set<number>} */
    this.emptied = new Set()
    /** Of all, in progress. @type {Promise<void> | null} */
    this.making = null
  }

  /** Whether there is something to make now. */
  get hasSome () {
    return this.sealed.length > 0
  }

  /** The first blocks that may be empty, and behind which the log goes on: the recovery point can be moved behind them. */
  get sealed () {
    const sealed = []
    for (const number of this.emptied) {
      if (sealed.length === MAX_BLOCKS) break
      if ((number + 1) * this.blockSize < this.writer.acknowledged) sealed.push(number)
    }
    return sealed
  }

  /**
   * A block becomes a hole only in front of the recovery point: recovery finds its way behind that by the lengths of records. And only if there is one thing that it can have been before.
   * @param {number} number
   */
  canBecomeHole (number) {
    const { writer, blockSize } = this
    const start = number * blockSize
    return this.isOn && start + blockSize < writer.metadata.end && !writer.metadata.isInDoubt(start)
  }

  /**
   * @param {import('./range-deletion').RangeDeletion} range
   * @returns {boolean} whether its blocks can become holes at once only when the recovery point has moved up
   */
  mustSettle ({ next, last }) {
    const { writer, blockSize } = this
    const { tail } = writer.blocks
    const end = Math.min(last + 1, tail.number) * blockSize
    return next < tail.number && end < writer.acknowledged && end >= writer.metadata.end
  }

  /** @param {number} number of a block in which all records may be deleted now */
  consider (number) {
    if (this.isOn) this.emptied.add(number)
  }

  /** The log is another file now, without these blocks. */
  moved () {
    this.emptied.clear()
  }

  /** @param {number} first number of the first block that was not trimmed */
  trim (first) {
    for (const number of this.emptied) if (number < first) this.emptied.delete(number)
  }

  /** @returns {Promise<void>} resolves when all blocks known to be empty are holes */
  make () {
    this.making ??= this.makeAll().finally(() => { this.making = null })
    return this.making
  }

  async makeAll () {
    const { deleter, writer } = this
    /** @type {Error | null} */
    let failure = null
    while (deleter.hasRequests) await deleter.start()
    while (this.sealed.length > 0) {
      const sealed = await writer.exclusively(() => this.settleSealed())
      await Promise.all(sealed.map(number => promised(cb => deleter.requestHole(number, cb)).catch(err => { failure ??= err })))
    }
    if (writer.deletions.hasPending) await deleter.flush()
    if (failure !== null) throw failure
  }

  /** @returns {Promise<number[]>} blocks in front of the recovery point, which become holes if they are empty */
  async settleSealed () {
    const { emptied, sealed, writer } = this
    await writer.deletions.settle()
    for (const number of sealed) emptied.delete(number)
    return sealed
  }
}

module.exports = { HoleMaker }
