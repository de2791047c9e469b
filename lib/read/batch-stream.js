'use strict'

// A pull-stream source of arrays of records: what a stream gives, a block at a time. An
// answer per block costs a reader less than one per record, above all in a `for await` loop.

const { RECORD, FAILED } = require('./cursor')
const { Stream } = require('./stream')
const { CHECK_INTERVAL } = require('./turn-budget')

/**
 * @typedef {import('./cursor').Cursor} Cursor
 * @typedef {import('./source').Answer} Answer
 */

class BatchStream extends Stream {
  /**
   * @param {import('./stream').ReadContext} context
   * @param {import('./options').StreamOptions} options
   */
  constructor (context, options) {
    super(context, options)
    // a batch may have taken long
    this.checkInterval = 1
  }

  /**
   * Answers a read with the records up to the end of the block; with fewer if the turn's time is spent, or if a record
   * cannot be decoded. The next read then finds that record, or an error, once more and without records before it.
   * @param {Cursor} cursor
   * @param {Answer} cb
   * @returns {void}
   */
  answer (cursor, cb) {
    for (;;) {
      /** @type {any[]} */
      const batch = []
      let found = RECORD
      try {
        found = this.fill(batch, cursor)
      } catch (err) {
        if (batch.length > 0) cursor.stepBack()
        else if (!this.skipUndecodable(cursor, /** @type {Error} */ (err), cb)) return
      }
      if (batch.length > 0) return this.give(batch, cb)
      if (found !== RECORD) {
        if (!this.moveOn(cursor, found, cb)) return
        cursor = /** @type {Cursor} */ (this.cursor)
      }
      // a block without records, or something was skipped
      if (this.turn.checkTime()) return this.postpone(cb)
    }
  }

  /**
   * @param {any[]} batch to which records are added, up to the end of the block
   * @param {Cursor} cursor
   * @returns {number} what the cursor found last
   * @throws flumelog:corrupt if the current record cannot be decoded
   */
  fill (batch, cursor) {
    // found by the read before, which gave the records before it
    if (cursor.error !== null) return FAILED
    const { decode } = this
    const limit = this.remaining > 0 ? this.remaining : Infinity
    for (let most = 0; ;) {
      most = Math.min(most + CHECK_INTERVAL, limit)
      while (batch.length < most) {
        const found = cursor.next()
        if (found !== RECORD) return found
        if (!cursor.isDeleted()) batch.push(decode === null ? this.itemOf(cursor) : this.decodedItemOf(cursor, decode))
        else if (this.deleted) batch.push(this.deletedItemOf(cursor))
        // the codec may have ended the stream
        if (cursor.isAtBlockEnd() || this.ended !== null) return RECORD
      }
      if (most === limit || this.turn.checkTime()) return RECORD
    }
  }

  /**
   * @param {any[]} batch
   * @param {Answer} cb
   */
  give (batch, cb) {
    if (this.remaining > 0) {
      this.remaining -= batch.length
      if (this.remaining === 0) this.end(true)
    }
    cb(null, batch)
  }
}

module.exports = { BatchStream }
