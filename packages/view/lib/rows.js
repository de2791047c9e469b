'use strict'

// The records around an offset, one row each, and single records.

const { chunk, dataOf, recordsOf, startOfLarge } = require('flumelog-random-access-file/blocks')
const errors = require('./errors')
const { lineOf, textOf } = require('./decoder')
const { codeOf } = require('./viewed-log')

/** Blocks that one answer looks into: a log may have any number in which nothing is left. */
const MAX_BLOCKS = 256
/** Bytes of records that are read as a whole for their rows: at least those of the largest that is no large one. Of others, the start is. */
const WHOLE_ROW = 256 * 1024
const ROW_BYTES = 64 * 1024
/** Bytes of a record that are shown. */
const MAX_SHOWN = 1024 * 1024
/** The same of records that are shown as a tree. */
const MAX_TREE = 4 * MAX_SHOWN
/** Milliseconds to look for the next record that is left. */
const MAX_SEARCH = 1000
/** Records of which the encoding is guessed, and their bytes. */
const SAMPLES = 32
const SAMPLE_BYTES = 4 * 1024 * 1024

/**
 * @typedef {import('flumelog-random-access-file/blocks').Stored} Stored
 * @typedef {import('flumelog-random-access-file/blocks').Block} ShownBlock
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
    /** @type {Stored[]} */
    const records = []
    for (const reverse of [false, true]) {
      const { found } = await this.find({ from: reverse ? log.end : log.start, count: SAMPLES / 2, reverse })
      for (const item of found) if ('seq' in item) records.push(item)
    }
    const samples = []
    let left = SAMPLE_BYTES
    // whole ones: of most encodings, nothing can be told by a part
    for (const record of records.sort((a, b) => a.size - b.size)) {
      left -= record.size
      if (left < 0 && samples.length > 0) break
      const data = await this.dataOf(record, SAMPLE_BYTES)
      const { start } = data.length < record.size ? decoder.decodeStart(data, 'json') : { start: undefined }
      samples.push(start === undefined ? data : Buffer.from(start))
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
    const { data, decoded } = await this.read(record, size > WHOLE_ROW ? ROW_BYTES : WHOLE_ROW, encoding)
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
    const data = await this.dataOf(record, most)
    return { data, decoded: data.length === record.size ? this.decoder.decode(data, encoding) : this.decoder.decodeStart(data, encoding) }
  }

  /**
   * @param {Stored} record
   * @param {number} most bytes of a large one
   * @returns {Promise<Buffer>}
   */
  async dataOf (record, most) {
    return (record.kind === chunk.LAST ? await startOfLarge(this.log, record, most) : null) ?? dataOf(record)
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
      for (const record of recordsOf(block)) if (record.seq === seq && record.kind !== chunk.PART) return record
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
    const { data, decoded } = deleted ? { data: Buffer.alloc(0), decoded: { kind: 'hex' } } : await this.read(record, encoding === 'utf8' || encoding === 'hex' ? MAX_SHOWN : MAX_TREE, encoding)
    const shown = data.subarray(0, MAX_SHOWN)
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
      text: data.length === shown.length ? textOf(decoded) : this.decoder.decodeStart(shown, 'utf8').text ?? null,
      bytes: shown.toString('base64'),
      truncated: !deleted && shown.length < size,
      complete: data.length === size
    }
    return { answer, json: decoded.json ?? decoded.start }
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
  for (const record of recordsOf(block)) {
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

module.exports = { Rows, offsetOf }
