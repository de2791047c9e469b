'use strict'

// Binary search over blocks, by the first record that starts in each, or after it; then over the records of one.

const errors = require('../errors')
const { format } = require('../format-value')
const { RECORD, WAITING, FAILED } = require('./cursor')
const { openRecordCursor } = require('./record-cursor')

/**
 * @typedef {(value: any, seq: number) => number | bigint} Compare negative: the record is before the target
 * @typedef {{ seq: number, value: any }} Found
 * @typedef {Pick<import('./stream').ReadContext, 'blocks' | 'decode' | 'takesText' | 'turn' | 'whenOpen'>} SearchContext
 * @typedef {(err: Error | null, seq?: any, value?: any) => void} SearchCallback given an error alone, or null and the others
 */

/**
 * Finds the first record that is not before the target. Reads one block per halving of the log, so at most
 * log2(blocks) + 2; more only where blocks contain nothing but deleted records, or parts of large ones.
 */
class Search {
  /**
   * @param {SearchContext} context
   * @param {Compare} compare
   * @param {SearchCallback} cb
   */
  constructor (context, compare, cb) {
    const { blocks } = context
    this.context = context
    this.blocks = blocks
    this.compare = compare
    this.cb = cb
    this.start = blocks.start
    /** The first records of all blocks before `low` are before the target; those of `high` and after are not. */
    this.low = blocks.start / blocks.blockSize
    this.high = Math.max(this.low, blocks.tail.end > 0 ? blocks.tail.number + 1 : blocks.tail.number)
    /** The seq of the last record that is known to be before the target; -1: none is. */
    this.beforeSeq = -1
    /** The first record in block `high` or after it. @type {Found | null} */
    this.after = null
  }

  halve () {
    const { low, high, blocks: { blockSize } } = this
    if (low === high) return this.finish()
    const middle = low + Math.floor((high - low) / 2)
    this.find(middle * blockSize, high * blockSize - 1, false, (record, isAtOrAfter) => {
      if (record !== null && !isAtOrAfter) {
        this.beforeSeq = record.seq
        this.low = Math.floor(record.seq / blockSize) + 1
      } else {
        this.after = record ?? this.after
        this.high = middle
      }
      this.halve()
    })
  }

  finish () {
    if (this.start !== this.blocks.start) return this.again()
    if (this.beforeSeq === -1) return this.give(this.after)
    this.find(this.beforeSeq + 1, this.low * this.blocks.blockSize - 1, true, record => this.give(record ?? this.after))
  }

  /** Blocks were trimmed meanwhile, or the log was compacted. What was trimmed may be all that is known of the log: it is not empty. */
  again () {
    const { context, compare, cb } = this
    context.whenOpen(err => err ? cb(err) : new Search(context, compare, cb).halve())
  }

  /** @param {Found | null} found */
  give (found) {
    if (found === null) this.cb(errors.noMatch(this.blocks.file.filename))
    else this.cb(null, found.seq, found.value)
  }

  /**
   * @param {number} min seq
   * @param {number} max seq
   * @param {boolean} isMatch whether the record has to be at or after the target
   * @param {(record: Found | null, isAtOrAfter: boolean) => void} onfound given the first such record
   */
  find (min, max, isMatch, onfound) {
    const { blocks, context: { decode, takesText, turn } } = this
    const next = () => {
      for (;;) {
        const found = cursor.next()
        if (found === WAITING) return
        if (this.start !== blocks.start) {
          cursor.stop()
          return this.again()
        }
        if (found !== RECORD) {
          cursor.stop()
          if (found === FAILED) return this.cb(/** @type {Error} */ (cursor.error))
          return onfound(null, false)
        }
        if (!cursor.isDeleted()) {
          let record
          let isAtOrAfter
          try {
            const data = takesText ? cursor.text() : cursor.data()
            record = { seq: cursor.seq, value: decode === null ? data : decode(data, cursor.seq) }
            isAtOrAfter = this.isAtOrAfter(record)
          } catch (thrown) {
            cursor.stop()
            return this.cb(errors.thrown('compare', thrown))
          }
          if (!isMatch || isAtOrAfter) {
            cursor.stop()
            return onfound(record, isAtOrAfter)
          }
        }
        if (turn.isSpent()) return turn.defer(next)
      }
    }
    const cursor = openRecordCursor(blocks, { min, max, reverse: false, useCache: true, fromStart: false, isSingle: true }, next)
    next()
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
 */
function search (context, compare, cb) {
  if (typeof compare !== 'function') return process.nextTick(cb, errors.invalid(`compare must be a function; it is ${format(compare)}`))
  new Search(context, compare, cb).halve()
}

module.exports = { search }
