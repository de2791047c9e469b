'use strict'

// The text of FILE.meta: lines with a checksum (lib/format/lines.js). The first is overwritten in place, and says up to where a writer that is
// alive has acknowledged appends. The others are JSON objects: the members of a line replace those of the lines before it, `deletions`
// are added to them, and each client in `clients` replaces what was said of it. They count up to the first that is not whole. A power cut leaves
// zeros in a line, and a failed write no newline behind it: any other that is not whole is corrupt. Pure.

const { randomUUID } = require('crypto')
const { crc32 } = require('zlib')
const { CHECKSUM_DIGITS, formatLine, parseLine } = require('../format/lines')

const VERSION = 1
/** Digits of an acknowledged offset: as many as the largest safe integer has. */
const OFFSET_DIGITS = 16
/** Bytes of the first line. */
const PUBLISHED_SIZE = CHECKSUM_DIGITS + 1 + OFFSET_DIGITS + 1
const ZERO = 0x30
const BLANK = 0x20
const NEWLINE = 0x0A
const HEX = Buffer.from('0123456789abcdef', 'latin1')

/**
 * @typedef {import('../format/deletions').Deletion} Deletion
 *
 * @typedef {object} Generation
 * @property {string} id of the log: another one after each compaction
 * @property {number} base no record is before this offset
 *
 * @typedef {object} RecoveredUpTo the recovery point: up to where a file of the log was durable
 * @property {number} end offset: everything before it was durable when this was written, with the deletions that are listed
 * @property {number} tie CRC-32 of the bytes before `end`, by which the file is recognized: see `tieAt`
 * @property {number} start of the log
 * @property {number} freed up to here the blocks before `start` are known to be zeros
 * @property {number} blockSize in bytes
 *
 * @typedef {RecoveredUpTo & Generation} Place
 *
 * @typedef {object} OwnMetadata
 * @property {string} log a random id, by which a backup is known to be of this log
 * @property {string} writer another one each time the log is opened for writing
 * @property {boolean} closed whether that writer has closed the log
 * @property {Deletion[]} deletions that the file may not have yet, in the order in which they were made
 * @property {number} dropped the highest number of a deletion of this writer that is not listed any more: the file has it
 * @property {ClientRuns} clients for the next owner of a shared log: see lib/sharing/known-clients.js
 * @property {Next | null} next another file is about to get the log's name: what is then true of that
 *
 * @typedef {Place & { log?: string, closed?: boolean, clients?: ClientRuns }} Next
 * @typedef {[first: number, count: number, seq: number, end: number]} RunLine `count` records of a client with the numbers from `first` on, in a row: the first at
 *   offset `seq`, the last ends at `end`
 * @typedef {Record<string, RunLine[]>} ClientRuns by the client's id
 * @typedef {Place & OwnMetadata} Metadata
 * @typedef {Partial<Omit<Metadata, 'clients'>> & { clients?: Record<string, RunLine[] | null> | null }} Entry `deletions` are added; null: all clients, or one, are dropped
 *
 * @typedef {object} Lines what is read of a file
 * @property {Metadata} metadata
 * @property {string} version another one when anything has changed that readers of blocks have to know
 * @property {number} size bytes of the lines that count
 */

/**
 * Writes the first line, for each append that is acknowledged: without a string.
 * @param {Buffer} line of `PUBLISHED_SIZE` bytes
 * @param {number} acknowledged
 */
function setPublished (line, acknowledged) {
  const first = CHECKSUM_DIGITS + 1
  for (let i = first + OFFSET_DIGITS - 1; i >= first; i--) {
    const rest = Math.floor(acknowledged / 10)
    line[i] = ZERO + (acknowledged - rest * 10)
    acknowledged = rest
  }
  let checksum = crc32(line.subarray(first, first + OFFSET_DIGITS))
  for (let i = CHECKSUM_DIGITS - 1; i >= 0; i--) {
    line[i] = HEX[checksum & 15]
    checksum >>>= 4
  }
  line[CHECKSUM_DIGITS] = BLANK
  line[PUBLISHED_SIZE - 1] = NEWLINE
}

/**
 * @param {string} text of a file
 * @returns {number | null} the acknowledged offset; null: the line was being overwritten
 */
function parsePublished (text) {
  const digits = parseLine(text.slice(0, PUBLISHED_SIZE - 1))
  return digits !== null && /^\d+$/.test(digits) ? Number(digits) : null
}

/**
 * @param {Metadata} metadata
 * @param {number} acknowledged
 * @returns {string} of a new file
 */
function formatMetadata (metadata, acknowledged) {
  const line = Buffer.alloc(PUBLISHED_SIZE)
  setPublished(line, acknowledged)
  return line.toString('latin1') + formatEntry({ version: VERSION, snapshot: randomUUID(), ...metadata })
}

/**
 * @param {Entry & { version?: number, snapshot?: string }} entry
 * @returns {string} a line to be appended
 */
function formatEntry ({ deletions, ...rest }) {
  return formatLine(JSON.stringify(deletions === undefined ? rest : { ...rest, deletions: deletions.map(deletionAsText) }))
}

/** @param {Deletion} deletion */
function deletionAsText ({ records, ...rest }) {
  return { ...rest, records: records.map(({ seq, length }) => [seq, length]) }
}

/** @param {any} text */
function parseDeletion ({ records, ...rest }) {
  return { ...rest, records: records.map((/** @type {[number, number]} */ [seq, length]) => ({ seq, length })) }
}

/**
 * @param {Metadata} metadata is changed
 * @param {Entry} entry
 */
function apply (metadata, { deletions = [], clients, ...rest }) {
  metadata.deletions.push(...deletions)
  if (clients === null) metadata.clients = {}
  else if (clients !== undefined) applyClients(metadata.clients, clients)
  Object.assign(metadata, rest)
  if (rest.dropped !== undefined) metadata.deletions = metadata.deletions.filter(({ number }) => Number(number) > metadata.dropped)
}

/**
 * @param {ClientRuns} known is changed
 * @param {Record<string, RunLine[] | null>} clients
 */
function applyClients (known, clients) {
  for (const [id, runs] of Object.entries(clients)) {
    if (runs === null) delete known[id]
    else known[id] = runs
  }
}

/** What the lines of a file say, read one after the other. */
class MetadataLines {
  constructor () {
    /** @type {Metadata | null} */
    this.metadata = null
    this.snapshot = ''
    this.changes = 0
    /** Bytes of the lines that count. */
    this.size = PUBLISHED_SIZE
    /** Whether the next line was changed since it was written. */
    this.isCorrupt = false
  }

  /** Another one when anything has changed that readers of blocks have to know. */
  get version () {
    return `${this.snapshot}+${this.changes}`
  }

  /** @param {string} text that follows `size` */
  add (text) {
    let at = 0
    for (let newline = text.indexOf('\n'); newline !== -1; newline = text.indexOf('\n', at)) {
      const line = text.slice(at, newline)
      const entry = parseEntry(line)
      this.isCorrupt = entry === null && !line.includes('\0')
      if (entry === null || !this.addEntry(entry)) break
      at = newline + 1
    }
    // one that is whole but for its newline, which is another byte now
    const [rest] = text.slice(at).split('\0', 1)
    if (!rest.includes('\n') && parseEntry(rest.slice(0, -1)) !== null) this.isCorrupt = true
    this.size += at
  }

  /**
   * @param {any} entry
   * @returns {boolean} whether it counts
   */
  addEntry (entry) {
    if (this.metadata !== null) {
      if (isChange(this.metadata, entry)) this.changes++
      apply(this.metadata, entry)
      return true
    }
    if (entry.version !== VERSION) return false
    const { version, snapshot, ...first } = entry
    this.snapshot = String(snapshot)
    this.metadata = /** @type {Metadata} */ (first)
    return true
  }
}

/**
 * @param {string} text of a file
 * @returns {Lines | null} null: there is no line that counts
 */
function parseMetadata (text) {
  const lines = new MetadataLines()
  lines.add(text.slice(PUBLISHED_SIZE))
  const { metadata, version, size } = lines
  return metadata === null ? null : { metadata, version, size }
}

/**
 * @param {string} line
 * @returns {any} null: it is not whole
 */
function parseEntry (line) {
  const json = parseLine(line)
  if (json === null) return null
  try {
    const entry = JSON.parse(json)
    if (entry.deletions !== undefined) entry.deletions = entry.deletions.map(parseDeletion)
    return entry
  } catch {
    return null
  }
}

/**
 * @param {Metadata} before
 * @param {Entry} entry
 * @returns {boolean} whether readers that have blocks in memory have to know of it
 */
function isChange (before, { deletions, start, next, writer, closed }) {
  return deletions !== undefined || next !== undefined || writer !== undefined || closed !== undefined || (start !== undefined && start !== before.start)
}

module.exports = { MetadataLines, PUBLISHED_SIZE, apply, formatEntry, formatMetadata, parseMetadata, parsePublished, setPublished }
