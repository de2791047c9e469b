'use strict'

// The records around an offset, one row each, and single records.

const { chunk, dataOf, recordsOf, startOfLarge } = require('flumelog-random-access-file/blocks')
const { finder } = require('flumelog-random-access-file/json')
const errors = require('../errors')
const { lineOf, textOf } = require('../decoding/decoder')
const { codeOf } = require('./viewed-log')

/** Blocks that one answer looks into: a log may have any number in which nothing is left. */
const MAX_BLOCKS = 256
/** Bytes of a record that are decoded for its row. */
const ROW_BYTES = 16 * 1024
/** Encodings of which a start can be decoded; records in others are decoded as a whole, up to this number of bytes. */
const WITH_START = ['json', 'utf8', 'hex']
const WHOLE_ROW = 256 * 1024
/** Characters of a cell. */
const MAX_CELL = 200
/** Bytes that are decoded for one list, which ends early after that. */
const LIST_BYTES = 2 * 1024 * 1024
/** Bytes of a record that are shown. */
const MAX_SHOWN = 1024 * 1024
/** The same of records that are shown as a tree. */
const MAX_TREE = 4 * MAX_SHOWN
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
 * @property {Array<string | null>} [cells] of the columns that are asked for, as JSON
 * @property {Array<[number, number]>} [marks] where in the line a filter has found what it looks for: from, to
 *
 * @typedef {object} Shown how records are shown as rows
 * @property {string | null} [encoding]
 * @property {string[][]} [columns] paths
 * @property {import('flumelog-random-access-file/json').Filter} [filter] of which matches are marked
 *
 * @typedef {object} RowsQuery
 * @property {number} from offset
 * @property {number} count
 * @property {boolean} [reverse]
 * @property {boolean} [deleted] whether deleted records are to be among them
 */

class Rows {
  /**
   * @param {import('./viewed-log').ViewedLog} log
   * @param {import('../decoding/decoder').Decoder} decoder
   */
  constructor (log, decoder) {
    this.log = log
    this.decoder = decoder
  }

  /** Decides by the first records, and the last, which encoding the log has. */
  async detectEncoding () {
    const { decoder, log } = this
    if (decoder.isDetected) return
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
   * @param {RowsQuery & Shown} query
   * @returns {Promise<{ rows: Row[], next: number | null, at: number }>} next: the offset to go on from, null: there is nothing else; there may be
   *   more even if there are no rows. at: the same, also at the end, where later records will be
   */
  async list (query) {
    const { found, next, at } = await this.find(query)
    const { encoding = this.decoder.encoding, reverse = false } = query
    const rows = []
    let bytes = 0
    for (const item of found) {
      if (bytes >= LIST_BYTES) {
        const next = nextAt(item, reverse, this.log.blockSize)
        return { rows, next, at: next }
      }
      rows.push('seq' in item ? await this.rowOf(item, query) : this.corruptRow(item))
      bytes += 'seq' in item ? this.rowBytes(item, encoding) : 0
    }
    return { rows, next, at: next ?? at }
  }

  /**
   * @param {RowsQuery} query
   * @returns {Promise<{ found: Array<Stored | ShownBlock>, next: number | null, at: number }>} corrupt blocks stand for their records
   */
  async find ({ from, count, reverse = false, deleted = false }) {
    const { log } = this
    const { blockSize } = log
    const found = []
    let at = from
    let number = Math.floor(Math.min(Math.max(from, log.start), Math.max(log.start, log.limit - 1)) / blockSize)
    for (let blocks = 0; blocks < MAX_BLOCKS; blocks++) {
      if (number * blockSize < log.start || number * blockSize >= log.limit) return { found, next: null, at }
      const block = await log.block(number)
      // the log was trimmed, or compacted, meanwhile
      if (codeOf(block.error) === 'flumelog:trimmed') return { found, next: reverse ? null : log.start, at }
      for (const item of itemsOf(block, { from, reverse, deleted, blockSize })) {
        if (found.length === count) return { found, next: nextAt(item, reverse, blockSize), at }
        found.push(item)
      }
      // the last block may have grown meanwhile
      at = reverse ? block.offset - 1 : Math.max(from, block.offset + (block.sealed || block.error !== null ? blockSize : block.end))
      number += reverse ? -1 : 1
    }
    return { found, next: reverse ? (number + 1) * blockSize - 1 : number * blockSize, at }
  }

  /**
   * @param {number} from offset
   * @param {boolean} reverse
   * @param {AbortSignal} signal ends the search
   * @returns {Promise<Stored | ShownBlock | null>} the next record that is not deleted, or a corrupt block, however far away; null: there is none
   */
  async nearest (from, reverse, signal) {
    const { found, next } = await this.find({ from, count: 1, reverse })
    if (found.length > 0 || next === null) return found[0] ?? null
    for await (const blocks of this.log.scan({ from: next, reverse, signal })) {
      for (const block of blocks) {
        const [item] = itemsOf(block, { from: next, reverse, deleted: false, blockSize: this.log.blockSize })
        if (item !== undefined) return item
      }
    }
    return null
  }

  /**
   * @param {Stored} record
   * @param {Shown} [shown]
   * @returns {Promise<Row>}
   */
  async rowOf (record, { encoding = this.decoder.encoding, columns = [], filter } = {}) {
    const { seq, size, deleted } = record
    if (deleted) return { seq, size, time: null, line: '', kind: 'hex', deleted }
    const { data, decoded } = await this.read(record, this.rowBytes(record, encoding), encoding)
    return this.rowFrom(record, decoded, data, { columns, filter })
  }

  /**
   * @param {Stored} record
   * @param {string | null} encoding
   * @returns {number} bytes of it that are decoded for its row
   */
  rowBytes ({ size }, encoding) {
    const isWhole = this.decoder.packing !== null || !WITH_START.includes(encoding ?? 'json')
    return isWhole && size <= WHOLE_ROW ? size : Math.min(size, ROW_BYTES)
  }

  /**
   * @param {Stored} record that is not deleted
   * @param {import('../decoding/decoder').Decoded} decoded
   * @param {Buffer} data
   * @param {Shown} shown
   * @returns {Row}
   */
  rowFrom ({ seq, size, deleted }, decoded, data, { columns = [], filter }) {
    /** @type {Row} */
    const row = { seq, size, time: this.decoder.timeOf(decoded), ...lineOf(decoded, data, filter), kind: decoded.kind, deleted }
    if (columns.length > 0) row.cells = cellsOf(decoded, columns)
    return row
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
   * @returns {Promise<{ data: Buffer, decoded: import('../decoding/decoder').Decoded }>}
   */
  async read (record, most, encoding = this.decoder.encoding) {
    const data = (await this.dataOf(record, most)).subarray(0, most)
    return { data, decoded: data.length === record.size ? this.decoder.decode(data, encoding) : this.decoder.decodeStart(data, encoding) }
  }

  /**
   * @param {Stored} record
   * @param {number} most bytes of a large one that are read
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
   * @param {string | null} encoding
   * @param {AbortSignal} signal
   * @returns {Promise<{ answer: Record<string, unknown>, json: string | undefined }>} json: the record's value
   */
  async record (seq, encoding, signal) {
    const record = await this.recordAt(seq)
    const { size, deleted, block, next } = record
    const { data, decoded } = deleted ? { data: Buffer.alloc(0), decoded: { kind: 'hex' } } : await this.read(record, encoding === 'utf8' || encoding === 'hex' ? MAX_SHOWN : MAX_TREE, encoding)
    const shown = data.subarray(0, MAX_SHOWN)
    const neighbour = async (/** @type {number} */ from, /** @type {boolean} */ reverse) => {
      const item = await this.nearest(from, reverse, signal)
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
      packing: decoded.kind === 'hex' ? null : this.decoder.packing,
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

/**
 * @param {import('../decoding/decoder').Decoded} decoded
 * @param {string[][]} columns paths
 * @returns {Array<string | null>} JSON, as it is written; null: there is no value
 */
function cellsOf ({ json, start }, columns) {
  const written = json ?? start
  if (written === undefined) return columns.map(() => null)
  const find = finder(written)
  return columns.map(path => {
    const cell = find(path) ?? null
    return cell !== null && cell.length > MAX_CELL ? `${cell.slice(0, MAX_CELL)}…` : cell
  })
}

/**
 * @param {Stored | ShownBlock} item the first that does not fit into an answer
 * @param {boolean} reverse
 * @param {number} blockSize
 * @returns {number} offset to go on from
 */
function nextAt (item, reverse, blockSize) {
  return 'seq' in item ? item.seq : item.offset + (reverse ? blockSize - 1 : 0)
}

/** @param {Stored | ShownBlock} item */
function offsetOf (item) {
  return 'seq' in item ? item.seq : item.offset
}

module.exports = { Rows, offsetOf }
