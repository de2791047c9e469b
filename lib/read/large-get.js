'use strict'

// Reads of one record in a log with large ones.

const chunk = require('../format/chunk')
const layout = require('../format/layout')
const errors = require('../errors')
const { RECORD, WAITING, FAILED } = require('./cursor')
const { RecordReader } = require('./get')
const { LargeBackwardCursor } = require('./large-cursor')

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
    readLarge(this.blocks, seq, (err, data) => {
      if (err) process.nextTick(cb, err)
      else super.answer(/** @type {Buffer} */ (data), null, seq, cb)
    })
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

/**
 * @param {import('./block-cache').BlockCache} blocks
 * @param {number} seq of a last chunk
 * @param {(err: Error | null, data?: Buffer) => void} cb given the whole record; may be called at once
 */
function readLarge (blocks, seq, cb) {
  const { filename } = blocks.file
  const find = () => {
    const found = cursor.next()
    if (found === WAITING) return
    cursor.stop()
    blocks.cursors.delete(cursor)
    if (found === FAILED) cb(cursor.error)
    else if (found === RECORD && !cursor.isDeleted()) cb(null, cursor.data())
    // it was trimmed or deleted meanwhile, or some of its parts were
    else cb(cursor.isCutOff || seq < blocks.start ? blocks.trimmedAt(seq) : errors.deleted(filename, seq))
  }
  const cursor = new LargeBackwardCursor(blocks, { min: seq, max: seq, reverse: true, useCache: true, fromStart: false }, find)
  blocks.cursors.add(cursor)
  find()
}

module.exports = { LargeRecordReader, readLarge }
