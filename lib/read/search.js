'use strict'

// Binary search over the first records of blocks, then within one block.

const layout = require('../format/layout')
const errors = require('../errors')
const { format } = require('../format-value')

/**
 * @typedef {(value: any, seq: number) => number | bigint} Compare negative: the record is before the target
 * @typedef {{ seq: number, value: any }} Found
 * @typedef {import('../format/block').Block} Block
 * @typedef {Pick<import('./stream').ReadContext, 'blocks' | 'decode' | 'takesText' | 'turn' | 'whenOpen'>} SearchContext
 * @typedef {(err: Error | null, seq?: any, value?: any) => void} SearchCallback given an error alone, or null and the others
 */

/**
 * Finds the first record that is not before the target. Reads one block per halving of the log, so at most
 * log2(blocks) + 2; more only where whole blocks contain nothing but deleted records.
 */
class Search {
  /**
   * @param {SearchContext} context
   * @param {Compare} compare
   * @param {SearchCallback} cb
   */
  constructor (context, compare, cb) {
    const { blocks, decode, takesText, turn } = context
    this.context = context
    this.blocks = blocks
    this.decode = decode
    this.takesText = takesText
    this.turn = turn
    this.compare = compare
    this.cb = cb
    /** The first records of all blocks before `low` are before the target; those of `high` and after are not. */
    this.low = blocks.start / blocks.blockSize
    this.high = Math.max(this.low, blocks.tail.end > 0 ? blocks.tail.number + 1 : blocks.tail.number)
    /** The block before `low`, whose first record is before the target. @type {Block | null} */
    this.before = null
    /** The first record of block `high`. @type {Found | null} */
    this.after = null
  }

  halve () {
    const { low, high } = this
    if (low === high) return this.finish()
    const middle = low + Math.floor((high - low) / 2)
    this.compareBlock(middle, middle)
  }

  /**
   * Compares the first record of a block, or of the next one that has any which is not deleted.
   * @param {number} number
   * @param {number} middle
   */
  compareBlock (number, middle) {
    if (number === this.high) {
      // nothing from the middle on: the target is before it, or it is `after`
      this.high = middle
      return this.halve()
    }
    this.blocks.get(number, true, (err, block) => {
      // the blocks before were trimmed meanwhile, or the log was compacted
      if (number * this.blocks.blockSize < this.blocks.start) return this.again()
      if (err) return this.cb(err)
      let record
      let isBefore
      try {
        record = this.firstRecord(/** @type {Block} */ (block), false)
        isBefore = record !== null && !this.isAtOrAfter(record)
      } catch (thrown) {
        return this.cb(errors.thrown('compare', thrown))
      }
      // on a new stack: thousands of such blocks may follow each other in the cache
      if (record === null) return this.later(() => this.compareBlock(number + 1, middle))
      if (isBefore) {
        this.before = /** @type {Block} */ (block)
        this.low = number + 1
      } else {
        this.after = record
        this.high = middle
      }
      this.halve()
    })
  }

  /** What was trimmed may be all that is known of the log: it is not empty. */
  again () {
    const { context, compare, cb } = this
    const Kind = /** @type {typeof Search} */ (this.constructor)
    context.whenOpen((err) => err ? cb(err) : new Kind(context, compare, cb).halve())
  }

  /** @param {() => void} run called after a whole block has been searched: checking the clock costs less than that */
  later (run) {
    if (this.turn.checkTime()) this.turn.defer(run)
    else process.nextTick(run)
  }

  finish () {
    if (this.high * this.blocks.blockSize < this.blocks.start) return this.again()
    let found = null
    try {
      if (this.before !== null) found = this.firstRecord(this.before, true)
    } catch (thrown) {
      return this.cb(errors.thrown('compare', thrown))
    }
    found ??= this.after
    if (found === null) this.cb(errors.noMatch(this.blocks.file.filename))
    else this.cb(null, found.seq, found.value)
  }

  /**
   * @param {Block} block
   * @param {boolean} isMatch whether it has to be at or after the target
   * @returns {Found | null} the first record that is not deleted
   */
  firstRecord ({ number, buffer, end }, isMatch) {
    for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) {
      if (layout.isDeleted(buffer, position)) continue
      const seq = number * this.blocks.blockSize + position
      const data = this.takesText ? layout.textAt(buffer, position) : layout.dataAt(buffer, position)
      const record = { seq, value: this.decode === null ? data : this.decode(data, seq) }
      if (!isMatch || this.isAtOrAfter(record)) return record
    }
    return null
  }

  /**
   * @param {Found} record
   * @throws flumelog:invalid if `compare` does not return a number
   */
  isAtOrAfter ({ value, seq }) {
    const order = this.compare(value, seq)
    if (typeof order === 'bigint' || (typeof order === 'number' && !Number.isNaN(order))) return order >= 0
    throw errors.invalid(`compare must return a number; for the record at offset ${seq} it returned ${format(order)}`)
  }
}

/**
 * @param {SearchContext} context
 * @param {Compare} compare
 * @param {SearchCallback} cb flumelog:not-found if every record is before the target, flumelog:invalid if `compare`
 *   does not return a number, what it throws if it throws
 * @param {typeof Search} [Kind]
 */
function search (context, compare, cb, Kind = Search) {
  if (typeof compare !== 'function') return process.nextTick(cb, errors.invalid(`compare must be a function; it is ${format(compare)}`))
  new Kind(context, compare, cb).halve()
}

module.exports = { Search, search }
