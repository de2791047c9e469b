'use strict'

// Binary search: over blocks, by the first record that starts in each, or after it; then over the offsets of one.

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
 * @param {SearchContext} context
 * @param {Compare} compare
 * @param {SearchCallback} cb flumelog:not-found if every record is before the target, flumelog:invalid if `compare`
 *   does not return a number, what it throws if it throws
 */
function search (context, compare, cb) {
  if (typeof compare !== 'function') return process.nextTick(cb, errors.invalid(`compare must be a function; it is ${format(compare)}`))
  const { blocks, decode, takesText } = context
  const { start, blockSize } = blocks
  /** Records in front of `low` are before the target; those at `high` or after it are not. */
  let low = start
  let high = blocks.end
  /** The first record at `high` or after it. @type {Found | null} */
  let after = null
  halve()

  /** @returns {void} */
  function halve () {
    if (low >= high) return after === null ? cb(errors.noMatch(blocks.file.filename)) : cb(null, after.seq, after.value)
    let middle = low + Math.floor((high - low) / 2)
    if (high - low > 2 * blockSize) middle -= middle % blockSize
    findRecord(context, { min: middle, max: high - 1 }, (err, record) => {
      // blocks were trimmed meanwhile, or the log was compacted: what was trimmed may be all that is known of the log, and it is not empty
      if (start !== blocks.start) return context.whenOpen(err => err ? cb(err) : search(context, compare, cb))
      if (err) return cb(err)
      try {
        choose(middle, record)
      } catch (thrown) {
        return cb(errors.thrown('compare', thrown))
      }
      halve()
    })
  }

  /**
   * @param {number} middle
   * @param {import('./cursor').Cursor | null} record the first one between `middle` and `high`
   * @throws flumelog:invalid if `compare` does not return a number
   */
  function choose (middle, record) {
    if (record !== null) {
      const { seq } = record
      const data = takesText ? record.text() : record.data()
      const value = decode === null ? data : decode(data, seq)
      const order = compare(value, seq)
      if (typeof order !== 'bigint' && (typeof order !== 'number' || Number.isNaN(order))) {
        throw errors.invalid(`compare must return a number; for the record at offset ${seq} it returned ${format(order)}`)
      }
      if (order < 0) {
        low = seq + 1
        return
      }
      after = { seq, value }
    }
    high = middle
  }
}

/**
 * @param {SearchContext} context
 * @param {{ min: number, max: number }} range
 * @param {(err: Error | null, record: import('./cursor').Cursor | null) => void} cb given the first record in the range that is not deleted, as the
 *   cursor that is there, which has stopped; null: there is none. May be called at once
 */
function findRecord ({ blocks, turn }, range, cb) {
  const cursor = openRecordCursor(blocks, { ...range, reverse: false, useCache: true, fromStart: false, isSingle: true }, find)
  blocks.cursors.add(cursor)
  find()

  function find () {
    let found = cursor.next()
    while (found === RECORD && cursor.isDeleted()) {
      if (turn.isSpent()) return turn.defer(find)
      found = cursor.next()
    }
    if (found === WAITING) return
    cursor.stop()
    cb(found === FAILED ? cursor.error : null, found === RECORD ? cursor : null)
  }
}

module.exports = { search }
