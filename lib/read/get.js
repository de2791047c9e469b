'use strict'

// Reads of one record.

const chunk = require('../format/chunk')
const layout = require('../format/layout')
const errors = require('../errors')
const { format } = require('../format-value')
const { RECORD, WAITING, FAILED } = require('./cursor')
const { LargeBackwardCursor } = require('./large-cursor')
const { MAX_DEPTH } = require('./turn-budget')

/** @typedef {import('../format/block').Block} Block */
/** @typedef {(err: Error | null, value?: any) => void} GetCallback given an error alone, or null and the value */

class RecordReader {
  /** @param {Pick<import('./stream').ReadContext, 'blocks' | 'decode' | 'takesText' | 'turn'>} context of a log that is open */
  constructor ({ blocks, decode, takesText, turn }) {
    this.blocks = blocks
    this.decode = decode
    this.takesText = takesText
    this.turn = turn
    this.filename = blocks.file.filename
    /** Answers in progress, each within the callback of the one before. */
    this.depth = 0
  }

  /** @returns {boolean} whether a read has to be postponed: on this stack, or in this turn, enough has been answered */
  mustWait () {
    return this.depth > MAX_DEPTH || this.turn.isSpent()
  }

  /**
   * @param {number} seq
   * @param {GetCallback} cb called at once if the block is in memory
   */
  get (seq, cb) {
    const { blocks } = this
    if (!(Number.isInteger(seq) && seq >= blocks.start && seq < blocks.end)) return this.refuse(seq, cb)
    const number = Math.floor(seq / blocks.blockSize)
    const block = blocks.lookUp(number)
    if (block !== undefined) return this.answer(null, block, seq, cb)
    const position = seq - number * blocks.blockSize
    blocks.readRecord(number, position, (data, block) => this.answer(data, block, seq, cb))
  }

  /**
   * @param {number} seq that is not in the log, as far as this process knows
   * @param {GetCallback} cb
   */
  refuse (seq, cb) {
    const { blocks } = this
    const { follower } = blocks
    if (follower === null || !(seq >= blocks.end)) return process.nextTick(cb, problemOf(blocks, seq))
    follower.catchUp((err) => {
      const problem = err ?? problemOf(blocks, seq)
      if (problem === null) this.get(seq, cb)
      else process.nextTick(cb, problem)
    })
  }

  /**
   * @param {number} seq
   * @returns {Buffer | null} the data of a record whose block is in memory; null: `get` finds it, or the error
   */
  dataNow (seq) {
    const { blocks } = this
    if (!(Number.isInteger(seq) && seq >= blocks.start && seq < blocks.end)) return null
    const number = Math.floor(seq / blocks.blockSize)
    const block = blocks.getCached(number)
    if (block === undefined || block.error !== null) return null
    const position = seq - number * blocks.blockSize
    if (!block.startsAt(position)) return null
    const data = block.dataAt(position)
    if (!layout.isStorable(data)) return null
    blocks.hits++
    return data
  }

  /**
   * @param {number} seq
   * @returns {any} the value, if its block is in memory, and the read has not to be postponed; undefined: `get` gives it, or the error
   * @throws what `decode` throws
   */
  getNow (seq) {
    if (this.blocks.large || this.mustWait()) return undefined
    const data = this.dataNow(seq)
    return data === null ? undefined : this.decoded(data, seq)
  }

  /**
   * @param {Buffer | null} data of the record
   * @param {Block | null} block if there is no data: the block that contains it
   * @param {number} seq
   * @param {GetCallback} cb
   */
  answer (data, block, seq, cb) {
    let kind = chunk.PLAIN
    try {
      data ??= this.dataIn(/** @type {Block} */ (block), seq)
      if (this.blocks.large) {
        kind = chunk.kindOf(data)
        if (kind === chunk.PART) throw errors.startsPart(this.filename, seq)
        data = chunk.unescape(data)
      }
    } catch (err) {
      return process.nextTick(cb, err)
    }
    if (kind !== chunk.LAST) return this.give(data, seq, cb)
    readLarge(this.blocks, seq, (err, whole) => {
      if (err) process.nextTick(cb, err)
      else this.give(/** @type {Buffer} */ (whole), seq, cb)
    })
  }

  /**
   * @param {Buffer} data of the record, as it was appended
   * @param {number} seq
   * @param {GetCallback} cb
   */
  give (data, seq, cb) {
    let value
    try {
      if (!layout.isStorable(data)) throw errors.deleted(this.filename, seq)
      value = this.decoded(data, seq)
    } catch (err) {
      return process.nextTick(cb, err)
    }
    this.depth++
    try {
      cb(null, value)
    } finally {
      this.depth--
    }
  }

  /**
   * @param {Block} block
   * @param {number} seq
   * @returns {Buffer} the record's data
   * @throws flumelog:not-found, flumelog:deleted, flumelog:corrupt
   */
  dataIn (block, seq) {
    if (block.error !== null) throw block.error
    const position = seq - block.number * this.blocks.blockSize
    if (!block.startsAt(position)) throw block.isHole ? errors.deleted(this.filename, seq) : errors.noRecordStarts(this.filename, seq)
    return block.dataAt(position)
  }

  /**
   * @param {Buffer} data that is not deleted
   * @param {number} seq
   * @throws flumelog:corrupt
   */
  decoded (data, seq) {
    if (this.decode === null) return data
    return this.decode(this.takesText ? layout.text(data, 0, data.length) : data, seq)
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
    if (found === FAILED) cb(cursor.error)
    else if (found === RECORD && !cursor.isDeleted()) cb(null, cursor.data())
    // it was trimmed or deleted meanwhile, or some of its parts were
    else cb(cursor.isCutOff || seq < blocks.start ? blocks.trimmedAt(seq) : errors.deleted(filename, seq))
  }
  const cursor = new LargeBackwardCursor(blocks, { min: seq, max: seq, reverse: true, useCache: true, fromStart: false }, find)
  blocks.cursors.add(cursor)
  find()
}

/**
 * @param {import('./block-cache').BlockCache} blocks
 * @param {unknown} seq
 * @returns {import('../errors').CallbackError | null} why it cannot be the offset of a record
 */
function problemOf (blocks, seq) {
  if (!Number.isInteger(seq) || Number(seq) < 0) {
    return errors.invalid(`seq must be the offset of a record, an integer of 0 or more; it is ${format(seq)}`)
  }
  const { tail, start, end, blockSize, file } = blocks
  if (Number(seq) < start) return blocks.trimmedAt(Number(seq))
  if (Number(seq) < end) return null
  if (tail.error !== null && Number(seq) < tail.number * blockSize + tail.buffer.length) return tail.error
  return errors.notFound(file.filename, Number(seq), `no record at offset ${seq}: the log ends at ${end}`)
}

module.exports = { RecordReader, problemOf, readLarge }
