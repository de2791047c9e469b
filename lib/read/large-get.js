'use strict'

// Reads of one record in a log with large ones.

const chunk = require('../format/chunk')
const layout = require('../format/layout')
const errors = require('../errors')
const { RECORD, WAITING, FAILED } = require('./cursor')
const { RecordReader } = require('./get')
const { openRecordCursor } = require('./large-cursor')

/** @typedef {import('../format/block').Block} Block */
/** @typedef {import('./get').GetCallback} GetCallback */

class LargeRecordReader extends RecordReader {
  /**
   * @param {Buffer | null} data
   * @param {Block | null} block
   * @param {number} seq
   * @param {GetCallback} cb
   */
  answer (data, block, seq, cb) {
    try {
      data ??= this.dataIn(/** @type {Block} */ (block), seq)
    } catch (err) {
      return process.nextTick(cb, err)
    }
    switch (chunk.kindOf(data)) {
      case chunk.PART: return process.nextTick(cb, errors.startsPart(this.filename, seq))
      case chunk.LAST: return this.getLarge(seq, cb)
      default: return super.answer(chunk.unescape(data), null, seq, cb)
    }
  }

  /**
   * @param {number} seq of a last chunk
   * @param {GetCallback} cb
   */
  getLarge (seq, cb) {
    const find = () => {
      const found = cursor.next()
      if (found === WAITING) return
      cursor.stop()
      if (found === FAILED) process.nextTick(cb, cursor.error)
      // one of its parts is deleted
      else if (found !== RECORD) process.nextTick(cb, errors.deleted(this.filename, seq))
      else super.answer(cursor.data(), null, seq, cb)
    }
    const cursor = openRecordCursor(this.blocks, { min: seq, max: seq, reverse: true, useCache: true, fromStart: false }, find)
    find()
  }

  /**
   * @param {Block} block
   * @param {number} seq
   * @returns {boolean}
   */
  startsAt (block, seq) {
    if (!super.startsAt(block, seq)) return false
    return chunk.kindOf(layout.dataAt(block.buffer, seq - block.number * this.blocks.blockSize)) !== chunk.PART
  }
}

module.exports = { LargeRecordReader }
