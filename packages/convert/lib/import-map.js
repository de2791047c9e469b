'use strict'

// The map of an import: from offsets in the old file to those in the log (see format.md). A line says what it maps; then it has an entry for the
// first record of each block of the log, and wherever something of the old file was left out: from there on, the lengths of records
// tell where the next one was.

const { frameProblem, layout } = require('flumelog-random-access-file/blocks')
const zlib = require('zlib')
const errors = require('./errors')
const { OldFile } = require('./old-file')

const { FRAME_SIZE, nextPosition, readLength } = layout

const SUFFIX = '.import-map'
const ENTRY_SIZE = 16
const MAX_HEADER = 4096

/**
 * @typedef {object} MapHeader
 * @property {string} from the format of the old file
 * @property {number} frame bytes of its records besides their data
 * @property {number} blockSize of the log
 */

/**
 * @param {string} text
 * @returns {string} its CRC-32 in hex, a blank, the text
 */
function checked (text) {
  return `${zlib.crc32(text).toString(16).padStart(8, '0')} ${text}`
}

/**
 * @param {MapHeader} header
 * @returns {Buffer} the start of a map
 */
function headerLine (header) {
  return Buffer.from(checked(JSON.stringify({ version: 1, ...header })) + '\n')
}

/**
 * @param {Entry[]} entries
 * @returns {Buffer}
 */
function entryBytes (entries) {
  const bytes = Buffer.allocUnsafe(entries.length * ENTRY_SIZE)
  for (const [i, { old, seq }] of entries.entries()) {
    bytes.writeBigUInt64LE(BigInt(old), i * ENTRY_SIZE)
    bytes.writeBigUInt64LE(BigInt(seq), i * ENTRY_SIZE + 8)
  }
  return bytes
}

/**
 * @param {Buffer} head the first bytes of a map
 * @returns {(MapHeader & { start: number }) | null} `start`: where the entries are; null: it is no map
 */
function headerOf (head) {
  const end = head.indexOf(0x0a)
  const line = head.toString('utf8', 0, Math.max(0, end))
  const text = line.slice(9)
  if (text === '' || line !== checked(text)) return null
  const { version, ...header } = JSON.parse(text)
  return version === 1 ? { ...header, start: end + 1 } : null
}

/**
 * @typedef {{ old: number, seq: number }} Entry
 *
 * @typedef {object} ImportMapMembers
 * @property {string} from the format of the old file
 * @property {(old: number) => Promise<number | null>} mapOffset finds a record by its offset in the old file: its seq in the log, as the import has
 *   written it; null: no record starts at the old offset, or it was not imported, since it was deleted or skipped
 * @property {() => Promise<void>} close closes its files
 */

/**
 * Where the records of an imported file are in the log. Reads a few blocks per look-up, and keeps nothing in memory.
 * @implements {ImportMapMembers}
 */
class ImportMap {
  #map
  #log
  #frame
  #blockSize
  #start
  #entries
  #isClosed = false

  /**
   * @param {string} filename of the log
   * @returns {Promise<ImportMap>}
   */
  static async open (filename) {
    const map = await OldFile.open(filename + SUFFIX)
    try {
      const header = headerOf(await map.read(0, Math.min(MAX_HEADER, map.size)))
      if (header === null) throw errors.invalid(`${filename}${SUFFIX}: not the map of an import`)
      return new ImportMap(map, await OldFile.open(filename), header)
    } catch (err) {
      await map.close()
      throw err
    }
  }

  /**
   * @param {OldFile} map
   * @param {OldFile} log
   * @param {MapHeader & { start: number }} header
   */
  constructor (map, log, { from, frame, blockSize, start }) {
    this.#map = map
    this.#log = log
    this.#frame = frame
    this.#blockSize = blockSize
    this.#start = start
    this.#entries = Math.floor((map.size - start) / ENTRY_SIZE)
    /** the format of the old file */
    this.from = from
    // so that it can be passed on, or destructured
    this.mapOffset = this.mapOffset.bind(this)
    this.close = this.close.bind(this)
  }

  /** @type {ImportMapMembers['mapOffset']} */
  async mapOffset (old) {
    if (!Number.isSafeInteger(old) || old < 0) throw errors.invalid(`an offset must be an integer, 0 or more; it is ${String(old)}`)
    if (this.#isClosed) throw errors.mapClosed(this.#map.filename)
    const { entry, next } = await this.#entriesAround(old)
    if (entry === null) return null
    const blockEnd = entry.seq - entry.seq % this.#blockSize + this.#blockSize
    const end = Math.min(next === null ? Infinity : next.seq, blockEnd, this.#log.size)
    const bytes = await this.#log.read(entry.seq, Math.max(0, end - entry.seq))
    let at = entry.old
    for (let position = 0; frameProblem(bytes, position, bytes.length) === null; position = nextPosition(bytes, position)) {
      if (at >= old) return at === old ? entry.seq + position : null
      at += readLength(bytes, position) + this.#frame
    }
    return null
  }

  /**
   * @param {number} old
   * @returns {Promise<{ entry: Entry | null, next: Entry | null }>} the last entry at or before it, and the one after that
   */
  async #entriesAround (old) {
    let low = 0
    let high = this.#entries
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const { old: there } = await this.#entryAt(middle)
      if (there <= old) low = middle + 1
      else high = middle
    }
    return {
      entry: low === 0 ? null : await this.#entryAt(low - 1),
      next: low === this.#entries ? null : await this.#entryAt(low)
    }
  }

  /**
   * @param {number} index
   * @returns {Promise<Entry>}
   */
  async #entryAt (index) {
    const bytes = await this.#map.read(this.#start + index * ENTRY_SIZE, ENTRY_SIZE)
    return { old: Number(bytes.readBigUInt64LE(0)), seq: Number(bytes.readBigUInt64LE(8)) }
  }

  /** @returns {Promise<boolean>} whether each record of the log has the offset that it had in the old file */
  async keepsOffsets () {
    if (this.#frame !== FRAME_SIZE) return false
    for (let index = 0; index < this.#entries; index++) {
      const { old, seq } = await this.#entryAt(index)
      if (old !== seq) return false
    }
    return true
  }

  /** @type {ImportMapMembers['close']} */
  async close () {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#map.close()
    await this.#log.close()
  }
}

module.exports = { ImportMap, entryBytes, headerLine, SUFFIX }
