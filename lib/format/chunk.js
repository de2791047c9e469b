'use strict'

// Large records: data that does not fit into a block is stored as several records in a row, its
// chunks. format.md, section "Large records", in code. Pure.
//
//     part    := magic 1  checksum:LE32  index:LE32  length:LE32  data
//     last    := magic 2  checksum:LE32  index:LE32  length:LE32  whole:LE32  data
//     escaped := magic 3  data                a record that starts with the magic itself

const { crc32 } = require('./crc32')
const layout = require('./layout')

const MAGIC = Buffer.from('\xffchunked', 'latin1')
/** No UTF-8 text has this byte: text is never a chunk. */
const FIRST_BYTE = MAGIC[0]

/** What a record is. */
const PLAIN = 0
const PART = 1
const LAST = 2
const ESCAPED = 3

const KIND = MAGIC.length
/** Bytes before the data of an escaped record. */
const ESCAPE_SIZE = KIND + 1
const CHECKSUM = ESCAPE_SIZE
/** The checksum of a chunk covers what is after it. */
const CHECKED = CHECKSUM + 4
const INDEX = CHECKED
const LENGTH = INDEX + 4
const WHOLE = LENGTH + 4
/** Bytes before the data of a part, and of a last chunk. */
const PART_HEADER = WHOLE
const LAST_HEADER = WHOLE + 4

/** A large record starts in the rest of a block that has at least this part of one. */
const SMALL_REST = 8

/** Bytes of the largest record. */
const MAX_LENGTH = 256 * 1024 * 1024
/** Blocks that are smaller have no room for the header of a chunk, or for little else. */
const MIN_BLOCK_SIZE = 64

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} end
 * @returns {boolean} whether the data between them starts with the magic
 */
function startsWithMagic (bytes, start, end) {
  if (end - start < MAGIC.length) return false
  for (let i = 0; i < MAGIC.length; i++) if (bytes[start + i] !== MAGIC[i]) return false
  return true
}

/**
 * @param {Buffer} bytes
 * @param {number} start of a record's data
 * @param {number} end of it
 * @returns {number} PLAIN also for what starts with the magic and is nothing that a writer makes
 */
function kindAt (bytes, start, end) {
  if (!startsWithMagic(bytes, start, end)) return PLAIN
  switch (bytes[start + KIND]) {
    case PART: return end - start > PART_HEADER && lengthAt(bytes, start) <= MAX_LENGTH ? PART : PLAIN
    case LAST: return end - start >= LAST_HEADER && lengthAt(bytes, start) <= MAX_LENGTH ? LAST : PLAIN
    case ESCAPED: return startsWithMagic(bytes, start + ESCAPE_SIZE, end) ? ESCAPED : PLAIN
    default: return PLAIN
  }
}

/**
 * @param {Buffer} data of a record
 * @returns {number}
 */
function kindOf (data) {
  return data[0] === FIRST_BYTE ? kindAt(data, 0, data.length) : PLAIN
}

/**
 * @param {Buffer} bytes
 * @param {number} start of a chunk
 * @returns {number} how many chunks of the record are before it
 */
function indexAt (bytes, start) {
  return bytes.readUInt32LE(start + INDEX)
}

/**
 * @param {Buffer} bytes
 * @param {number} start of a record's data
 * @param {number} end of it
 * @returns {boolean} whether it is a chunk that has others before it
 */
function isContinuation (bytes, start, end) {
  if (bytes[start] !== FIRST_BYTE) return false
  const kind = kindAt(bytes, start, end)
  return (kind === PART || kind === LAST) && indexAt(bytes, start) > 0
}

/**
 * @param {Buffer} bytes
 * @param {number} start of a chunk
 * @returns {number} bytes of the whole record
 */
function lengthAt (bytes, start) {
  return bytes.readUInt32LE(start + LENGTH)
}

/**
 * @param {Buffer} bytes
 * @param {number} start of a last chunk
 * @returns {number} CRC-32 of the whole record
 */
function wholeChecksumAt (bytes, start) {
  return bytes.readUInt32LE(start + WHOLE)
}

/**
 * @param {number} kind
 * @returns {number} bytes before the data
 */
function headerSize (kind) {
  return kind === PART ? PART_HEADER : LAST_HEADER
}

/**
 * @param {Buffer} data of a part or a last chunk
 * @returns {boolean} whether it is as it was written
 */
function isIntact (data) {
  return crc32(data.subarray(CHECKED)) === data.readUInt32LE(CHECKSUM)
}

/**
 * @template {Uint8Array} D
 * @param {D} data as it is appended
 * @returns {D | Buffer} as it is stored: the same, unless it starts with the magic
 */
function escape (data) {
  return data[0] === FIRST_BYTE && startsWithMagic(data, 0, data.length) ? Buffer.concat([MAGIC, Uint8Array.of(ESCAPED), data]) : data
}

/**
 * @param {Buffer} data as it is stored, all of it
 * @returns {Buffer} as it was appended
 */
function unescape (data) {
  return kindOf(data) === ESCAPED ? data.subarray(ESCAPE_SIZE) : data
}

/**
 * @param {number} most bytes of a record that fits into a block
 * @returns {number} bytes of data for which there is room in a block, at least, so that a large record starts there
 */
function leastRoom (most) {
  return Math.max(most / SMALL_REST, 2 * PART_HEADER)
}

/** Writes a record as chunks, one after the other. */
class Splitter {
  /** @param {Uint8Array} data at most MAX_LENGTH bytes */
  constructor (data) {
    /** @type {Buffer} */
    this.data = layout.view(data.buffer, data.byteOffset, data.length)
    this.whole = crc32(this.data)
    /** Bytes that are written. */
    this.written = 0
    /** Chunks that are written. */
    this.count = 0
    this.isDone = false
  }

  /** Bytes of the next chunk, if it is the last one. */
  get lastSize () {
    return this.data.length - this.written + LAST_HEADER
  }

  /**
   * Writes the next chunk as a record, with its lengths.
   * @param {Buffer} block
   * @param {number} position
   * @param {number} room the most bytes that the chunk may have, at least LAST_HEADER
   * @returns {number} the position after the record
   */
  write (block, position, room) {
    const { data, written, lastSize } = this
    const isLast = lastSize <= room
    const size = isLast ? lastSize : Math.min(data.length - written + PART_HEADER, room)
    const start = position + layout.LENGTH_SIZE
    const header = isLast ? LAST_HEADER : PART_HEADER
    layout.writeLength(block, position, size)
    MAGIC.copy(block, start)
    block[start + KIND] = isLast ? LAST : PART
    block.writeUInt32LE(this.count, start + INDEX)
    block.writeUInt32LE(data.length, start + LENGTH)
    if (isLast) block.writeUInt32LE(this.whole, start + WHOLE)
    this.written += size - header
    data.copy(block, start + header, written, this.written)
    block.writeUInt32LE(crc32(block.subarray(start + CHECKED, start + size)), start + CHECKSUM)
    layout.writeLength(block, start + size, size)
    this.count++
    this.isDone = isLast
    return start + size + layout.LENGTH_SIZE
  }
}

/** Puts a record together from its chunks, from the first one forward or from the last one backward. */
class Joiner {
  /**
   * @param {number} length bytes of the record
   * @param {boolean} hasData false: the chunks are only checked, and nothing is copied
   * @param {number} [lastIndex] index of the last chunk, which comes first
   */
  constructor (length, hasData, lastIndex) {
    this.length = length
    /** @type {Buffer | null} */
    this.data = hasData ? Buffer.allocUnsafeSlow(length) : null
    this.isBackward = lastIndex !== undefined
    /** Index of the next chunk. */
    this.index = lastIndex ?? 0
    /** Bytes that are there. */
    this.bytes = 0
  }

  /**
   * @param {Buffer} bytes
   * @param {number} start of the next chunk
   * @param {number} end of it
   * @param {number} kind
   * @returns {boolean} false: it is another one
   */
  add (bytes, start, end, kind) {
    const { length, isBackward } = this
    const from = start + headerSize(kind)
    const before = this.bytes
    if (indexAt(bytes, start) !== this.index || lengthAt(bytes, start) !== length || end - from > length - before) return false
    this.index += isBackward ? -1 : 1
    this.bytes += end - from
    if (this.data !== null) bytes.copy(this.data, isBackward ? length - this.bytes : before, from, end)
    return true
  }

  /** Whether all bytes are there. */
  get isComplete () {
    return this.bytes === this.length
  }

  /**
   * @param {number} checksum of the whole record
   * @returns {boolean} whether it has this one, as far as was read
   */
  matches (checksum) {
    return this.data === null || crc32(this.data) === checksum
  }
}

/**
 * @param {Buffer[]} records as they are stored, in a row
 * @returns {Buffer[]} the same, with each large one as a whole, still escaped if it was
 */
function joinAll (records) {
  const joined = []
  /** @type {Joiner | null} */
  let joiner = null
  for (const data of records) {
    const kind = kindOf(data)
    if (kind !== PART && kind !== LAST) {
      joined.push(data)
      continue
    }
    if (indexAt(data, 0) === 0) joiner = new Joiner(lengthAt(data, 0), true)
    joiner?.add(data, 0, data.length, kind)
    if (kind === LAST && joiner !== null) joined.push(/** @type {Buffer} */ (joiner.data))
  }
  return joined
}

module.exports = {
  MAGIC,
  FIRST_BYTE,
  PLAIN,
  PART,
  LAST,
  ESCAPED,
  ESCAPE_SIZE,
  PART_HEADER,
  LAST_HEADER,
  MAX_LENGTH,
  MIN_BLOCK_SIZE,
  kindAt,
  kindOf,
  isContinuation,
  indexAt,
  lengthAt,
  wholeChecksumAt,
  headerSize,
  isIntact,
  escape,
  unescape,
  leastRoom,
  Splitter,
  Joiner,
  joinAll
}
