'use strict'

// Binary search over block starts, then inside one block.

const layout = require('../format/layout')
const errors = require('../errors')
const { format } = require('../options')

/**
 * @typedef {(value: any, seq: number) => number | bigint} Compare negative: the record is before what is searched for
 * @typedef {{ seq: number, value: any }} Found
 */

/**
 * Finds the first record that is not before what is searched for. Reads a block
 * for each halving of the log, so at most log2(blocks) + 2; more only where whole
 * blocks hold nothing but deleted records.
 * @param {import('./block-cache').BlockCache} blocks
 * @param {(data: Buffer, seq: number) => any} decode throws flumelog:corrupt
 * @param {Compare} compare
 * @param {(err: Error | null, seq?: number, value?: any) => void} cb flumelog:not-found if every record is before it,
 *   flumelog:invalid if compare gives no number, what it throws if it throws
 */
function search (blocks, decode, compare, cb) {
  const { blockSize } = blocks
  const { filename } = blocks.file
  // Records of blocks before `low` may be before it; those of `high` and after are not.
  let low = 0
  let high = blocks.tail.end > 0 ? blocks.tail.number + 1 : blocks.tail.number
  /** the block in front of `low`, whose first record is before it @type {import('./block-cache').Block | null} */
  let before = null
  /** the first record of block `high` @type {Found | null} */
  let after = null

  if (typeof compare !== 'function') return process.nextTick(cb, errors.invalid(`compare must be a function; it is ${format(compare)}`))
  halve()

  function halve () {
    if (low === high) return finish()
    const middle = low + Math.floor((high - low) / 2)
    look(middle, middle)
  }

  /**
   * Looks at the first record of block `number`, or, where all of a block is
   * deleted, of the next one.
   * @param {number} number
   * @param {number} middle
   */
  function look (number, middle) {
    if (number === high) {
      // nothing is left from the middle on: it is in front of it, or at what was `high`
      high = middle
      return halve()
    }
    blocks.get(number, true, (err, block) => {
      if (err) return cb(err)
      let record
      let isBefore
      try {
        record = firstRecord(/** @type {import('./block-cache').Block} */ (block))
        isBefore = record !== null && !isAtOrAfter(record)
      } catch (err) {
        return cb(/** @type {Error} */ (err))
      }
      // not on this stack: there may be thousands of such blocks in a row, in the cache
      if (record === null) return process.nextTick(look, number + 1, middle)
      if (isBefore) {
        before = /** @type {import('./block-cache').Block} */ (block)
        low = number + 1
      } else {
        after = record
        high = middle
      }
      halve()
    })
  }

  function finish () {
    let found = null
    try {
      if (before !== null) found = firstRecord(before, isAtOrAfter)
    } catch (err) {
      return cb(/** @type {Error} */ (err))
    }
    found ??= after
    if (found === null) cb(errors.noMatch(filename))
    else cb(null, found.seq, found.value)
  }

  /** @param {Found} record */
  function isAtOrAfter ({ value, seq }) {
    const order = compare(value, seq)
    if (typeof order === 'bigint' || (typeof order === 'number' && !Number.isNaN(order))) return order >= 0
    throw errors.invalid(`compare must give a number; for the record at offset ${seq} it gave ${format(order)}`)
  }

  /**
   * @param {import('./block-cache').Block} block
   * @param {(record: Found) => boolean} [isWanted]
   * @returns {Found | null} the first that is not deleted, and is wanted
   */
  function firstRecord ({ number, buffer, end }, isWanted) {
    for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) {
      if (layout.isDeleted(buffer, position)) continue
      const seq = number * blockSize + position
      const record = { seq, value: decode(layout.dataAt(buffer, position), seq) }
      if (isWanted === undefined || isWanted(record)) return record
    }
    return null
  }
}

module.exports = { search }
