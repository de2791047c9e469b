'use strict'

// Binary search in a log with large records, whose values may span many blocks.

const errors = require('../errors')
const { RECORD, WAITING, FAILED } = require('./cursor')
const { openLargeCursor } = require('./large-cursor')
const { Search, search } = require('./search')

/** @typedef {import('./search').Found} Found */

class LargeSearch extends Search {
  /**
   * @param {ConstructorParameters<typeof Search>[0]} context
   * @param {import('./search').Compare} compare
   * @param {import('./search').SearchCallback} cb
   */
  constructor (context, compare, cb) {
    super(context, compare, cb)
    /** The seq of the last record that is known to be before the target; -1: none is. */
    this.beforeSeq = -1
    this.start = this.blocks.start
  }

  /**
   * Compares the first record that starts in block `middle` or after it.
   * @param {number} middle
   */
  compareBlock (middle) {
    const { blockSize } = this.blocks
    this.find(middle * blockSize, this.high * blockSize - 1, false, (record, isAtOrAfter) => {
      if (record !== null && !isAtOrAfter) {
        this.beforeSeq = record.seq
        this.low = Math.floor(record.seq / blockSize) + 1
      } else {
        this.after = record ?? this.after
        this.high = middle
      }
      this.later(() => this.halve())
    })
  }

  finish () {
    if (this.start !== this.blocks.start) return this.again()
    if (this.beforeSeq === -1) return this.give(this.after)
    this.find(this.beforeSeq + 1, this.low * this.blocks.blockSize - 1, true, (record) => this.give(record ?? this.after))
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
    const { blocks, decode, takesText, turn } = this
    const look = () => {
      for (;;) {
        const found = cursor.next()
        if (found === WAITING) return
        // blocks were trimmed meanwhile, or the log was compacted
        if (this.start !== blocks.start) {
          cursor.stop()
          return this.again()
        }
        if (found !== RECORD) {
          cursor.stop()
          if (found === FAILED) return this.cb(/** @type {Error} */ (cursor.error))
          return onfound(null, false)
        }
        if (cursor.isDeleted()) continue
        const { seq } = cursor
        let record
        let isAtOrAfter
        try {
          const data = takesText ? cursor.text() : cursor.data()
          record = { seq, value: decode === null ? data : decode(data, seq) }
          isAtOrAfter = this.isAtOrAfter(record)
        } catch (thrown) {
          cursor.stop()
          return this.cb(errors.thrown('compare', thrown))
        }
        if (!isMatch || isAtOrAfter) {
          cursor.stop()
          return onfound(record, isAtOrAfter)
        }
        if (turn.checkTime()) return turn.defer(look)
      }
    }
    const cursor = openLargeCursor(blocks, { min, max, reverse: false, useCache: true, fromStart: false }, look)
    look()
  }
}

/** @type {typeof search} */
function searchLarge (context, compare, cb) {
  search(context, compare, cb, LargeSearch)
}

module.exports = { searchLarge }
