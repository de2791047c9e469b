'use strict'

// The records around an offset, one row each, and single records.

const errors = require('../errors')
const chunk = require('../format/chunk')
const { lineOf, textOf } = require('./decoder')
const { recordsOf, dataOf, startOfLarge } = require('./records')
const { codeOf } = require('./viewed-log')

/** Blocks that one answer looks into: a log may have any number in which nothing is left. */
const MAX_BLOCKS = 256
/** Bytes of a record that its row is made of: at least those of the largest that is no large one. */
const ROW_BYTES = 64 * 1024
/** Bytes of a record that are shown. */
const MAX_SHOWN = 1024 * 1024
/** Milliseconds to look for the next record that is left. */
const MAX_SEARCH = 1000
/** Records of which the encoding is guessed. */
const SAMPLES = 32

/**
 * @typedef {import('./records').Stored} Stored
 * @typedef {import('./viewed-log').ShownBlock} ShownBlock
 *
 * @typedef {object} Row
 * @property {number} seq
 * @property {number} size
 * @property {number | null} time
 * @property {string} line
 * @property {string} kind
 * @property {boolean} deleted
 * @property {boolean} [corrupt]
 *
 * @typedef {object} RowsQuery
 * @property {number} from offset
 * @property {number} count
 * @property {boolean} [reverse]
 * @property {boolean} [deleted] whether deleted records are to be among them
 * @property {string | null} [encoding]
 */

class Rows {
  /**
   * @param {import('./viewed-log').ViewedLog} log
   * @param {import('./decoder').Decoder} decoder
   */
  constructor (log, decoder) {
    this.log = log
    this.decoder = decoder
  }

  /** Decides by the first records, and the last, which encoding the log has. */
  async detectEncoding () {
    const { decoder, log } = this
    if (decoder.encoding !== null) return
    const samples = []
    for (const reverse of [false, true]) {
      const { found } = await this.find({ from: reverse ? log.end : log.start, count: SAMPLES / 2, reverse })
      for (const item of found) if ('seq' in item) samples.push((await this.read(item, ROW_BYTES)).data)
    }
    decoder.detect(samples)
  }

  /**
   * @param {RowsQuery} query
   * @returns {Promise<{ rows: Row[], next: number | null }>} next: the offset to go on from; there may be more even if there are no rows
   */
  async list (query) {
    const { found, next } = await this.find(query)
    const rows = []
    for (const item of found) rows.push('seq' in item ? await this.rowOf(item, query.encoding) : this.corruptRow(item))
    return { rows, next }
  }

  /**
   * @param {RowsQuery} query
   * @returns {Promise<{ found: Array<Stored | ShownBlock>, next: number | null }>} corrupt blocks stand for their records
   */
  async find ({ from, count, reverse = false, deleted = false }) {
    const { log } = this
    const { blockSize } = log
    const found = []
    let number = Math.floor(Math.min(Math.max(from, log.start), Math.max(log.start, log.limit - 1)) / blockSize)
    for (let blocks = 0; blocks < MAX_BLOCKS; blocks++) {
      if (number * blockSize < log.start || number * blockSize >= log.limit) return { found, next: null }
      const block = await log.block(number)
      // the log was trimmed, or compacted, meanwhile
      if (codeOf(block.error) === 'flumelog:trimmed') return { found, next: reverse ? null : log.start }
      for (const item of itemsOf(block, { from, reverse, deleted, blockSize })) {
        if (found.length === count) return { found, next: reverse ? offsetOf(item) + (isCorrupt(item) ? blockSize - 1 : 0) : offsetOf(item) }
        found.push(item)
      }
      number += reverse ? -1 : 1
    }
    return { found, next: reverse ? (number + 1) * blockSize - 1 : number * blockSize }
  }

  /**
   * @param {number} from offset
   * @param {boolean} reverse
   * @returns {Promise<Stored | ShownBlock | null>} the next record that is not deleted, or a corrupt block; null: there is none, or it is too far away
   */
  async nearest (from, reverse) {
    const stopAt = Date.now() + MAX_SEARCH
    for (let at = /** @type {number | null} */ (from); at !== null && Date.now() < stopAt;) {
      const { found, next } = await this.find({ from: at, count: 1, reverse })
      if (found.length > 0) return found[0]
      at = next
    }
    return null
  }

  /**
   * @param {Stored} record
   * @param {string | null} [encoding]
   * @returns {Promise<Row>}
   */
  async rowOf (record, encoding = this.decoder.encoding) {
    const { seq, size, deleted } = record
    if (deleted) return { seq, size, time: null, line: '', kind: 'hex', deleted }
    const { data, decoded } = await this.read(record, ROW_BYTES, encoding)
    return { seq, size, time: this.decoder.timeOf(decoded), line: lineOf(decoded, data), kind: decoded.kind, deleted }
  }

  /**
   * @param {ShownBlock} block
   * @returns {Row}
   */
  corruptRow ({ offset, buffer, error }) {
    return { seq: offset, size: buffer.length, time: null, line: this.log.messageOf(error), kind: 'corrupt', deleted: false, corrupt: true }
  }

  /**
   * @param {Stored} record
   * @param {number} most bytes
   * @param {string | null} [encoding]
   * @returns {Promise<{ data: Buffer, decoded: import('./decoder').Decoded }>}
   */
  async read (record, most, encoding = this.decoder.encoding) {
    if (record.kind !== chunk.LAST) return this.readPlain(record, encoding)
    const data = await startOfLarge(this.log, record, most) ?? dataOf(record)
    if (data.length === record.size) return { data, decoded: this.decoder.decode(data, encoding) }
    return { data, decoded: this.decoder.decode(withoutHalfCharacter(data), encoding === 'hex' ? 'hex' : 'text') }
  }

  /**
   * @param {Stored} record that is not a large one
   * @param {string | null} encoding
   */
  readPlain (record, encoding) {
    const data = dataOf(record)
    return { data, decoded: this.decoder.decode(data, encoding) }
  }

  /**
   * @param {number} seq
   * @returns {Promise<Stored>} the record that starts there, which may be deleted
   * @throws flumelog:not-found, flumelog:trimmed, flumelog:corrupt
   */
  async recordAt (seq) {
    const { log } = this
    const { filename } = log.log
    if (seq < log.start) throw errors.trimmed(filename, seq, log.start)
    const number = Math.floor(seq / log.blockSize)
    if (seq < log.limit) {
      const block = await log.block(number)
      if (block.error !== null) throw block.error
      for (const record of recordsOf(block, log.blockSize)) if (record.seq === seq && record.kind !== chunk.PART) return record
    }
    throw errors.noRecordStarts(filename, seq)
  }

  /**
   * @param {number} seq
   * @param {string | null} [encoding]
   * @returns {Promise<{ answer: Record<string, unknown>, json: string | undefined }>} json: the record's value
   */
  async record (seq, encoding = this.decoder.encoding) {
    const record = await this.recordAt(seq)
    const { size, deleted, block, next } = record
    const { data, decoded } = deleted ? { data: Buffer.alloc(0), decoded: { kind: 'hex' } } : await this.read(record, MAX_SHOWN, encoding)
    const neighbour = async (/** @type {number} */ from, /** @type {boolean} */ reverse) => {
      const item = await this.nearest(from, reverse)
      return item === null ? null : offsetOf(item)
    }
    const answer = {
      seq,
      size,
      time: this.decoder.timeOf(decoded),
      deleted,
      block: block.number,
      previous: await neighbour(seq - 1, true),
      next: await neighbour(next, false),
      encoding: decoded.kind,
      text: textOf(decoded),
      bytes: data.toString('base64'),
      truncated: !deleted && data.length < size
    }
    return { answer, json: decoded.json }
  }
}

/**
 * @param {ShownBlock} block
 * @param {{ from: number, reverse: boolean, deleted: boolean, blockSize: number }} query
 * @returns {Array<Stored | ShownBlock>} in the order of reading
 */
function itemsOf (block, { from, reverse, deleted, blockSize }) {
  if (block.error !== null) {
    const isWithin = reverse ? block.offset <= from : block.offset + blockSize > from
    return isWithin ? [block] : []
  }
  const items = []
  for (const record of recordsOf(block, blockSize)) {
    if (record.kind === chunk.PART || (record.deleted && !deleted) || (reverse ? record.seq > from : record.seq < from)) continue
    items.push(record)
  }
  return reverse ? items.reverse() : items
}

/** @param {Stored | ShownBlock} item */
function isCorrupt (item) {
  return !('seq' in item)
}

/** @param {Stored | ShownBlock} item */
function offsetOf (item) {
  return 'seq' in item ? item.seq : item.offset
}

/**
 * @param {Buffer} data the start of a record
 * @returns {Buffer} without what may be the start of a character in UTF-8
 */
function withoutHalfCharacter (data) {
  let end = data.length
  while (end > 0 && end > data.length - 4 && (data[end - 1] & 0xc0) === 0x80) end--
  return end > 0 && data[end - 1] >= 0xc0 ? data.subarray(0, end - 1) : data
}

module.exports = { Rows, offsetOf }
