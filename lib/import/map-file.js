'use strict'

// The map of an import, from offsets in the old file to those in the new log (format.md, "Files of an import"). It has an entry for
// the first record of each block of the log, and wherever something of the old file was left out: from there on, the lengths of records
// tell where the next one was.

const { formatLine, parseLine } = require('../storage/recovery-point-text')

const SUFFIX = '.import-map'
const ENTRY_SIZE = 16
const CHUNK_SIZE = 4096 * ENTRY_SIZE
const MAX_HEADER = 4096

/**
 * @typedef {object} MapHeader
 * @property {string} from the format of the old file
 * @property {number} frame bytes of its records besides their data
 * @property {number} blockSize of the log
 */

/** Fills a side file. */
class MapWriter {
  /**
   * @param {import('./side-file').SideFile} file
   * @param {MapHeader} header
   */
  constructor (file, header) {
    this.file = file
    this.chunk = Buffer.allocUnsafe(CHUNK_SIZE)
    this.used = 0
    if (file.size === 0) file.add(Buffer.from(formatLine(JSON.stringify({ version: 1, ...header }))))
  }

  /** Of the file, with all entries. */
  get size () {
    return this.file.size + this.used
  }

  /**
   * @param {number} old offset
   * @param {number} seq of the same record in the log
   */
  add (old, seq) {
    const { chunk, used } = this
    writeUInt64(chunk, old, used)
    writeUInt64(chunk, seq, used + 8)
    this.used += ENTRY_SIZE
    if (this.used === CHUNK_SIZE) this.pass()
  }

  /** Passes the entries on to the file. */
  pass () {
    if (this.used === 0) return
    this.file.add(Buffer.from(this.chunk.subarray(0, this.used)))
    this.used = 0
  }

  sync () {
    this.pass()
    return this.file.sync()
  }
}

/**
 * @param {Buffer} head the first bytes of a map
 * @returns {(MapHeader & { start: number }) | null} `start`: where the entries are; null: it is no map
 */
function headerOf (head) {
  const end = head.indexOf(0x0a)
  const text = end === -1 ? null : parseLine(head.toString('utf8', 0, end))
  if (text === null) return null
  const { version, ...header } = JSON.parse(text)
  return version === 1 ? { ...header, start: end + 1 } : null
}

/**
 * @param {Buffer} bytes
 * @param {number} number
 * @param {number} position
 */
function writeUInt64 (bytes, number, position) {
  bytes.writeUInt32LE(number % 0x100000000, position)
  bytes.writeUInt32LE(Math.floor(number / 0x100000000), position + 4)
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 */
function readUInt64 (bytes, position) {
  return bytes.readUInt32LE(position) + bytes.readUInt32LE(position + 4) * 0x100000000
}

module.exports = { MapWriter, headerOf, readUInt64, ENTRY_SIZE, MAX_HEADER, SUFFIX }
