'use strict'

// One block's bytes: format.md in code. Pure: no I/O, no state, and of the project only
// the checksum is required from here. Each rule of the format is in one function.
//
//     block   := record+ padding
//     record  := length:LE16  data  length:LE16
//     padding := marker:LE16  zeros  checksum:LE32  start:LE32
//
// A position is an offset within a block. `start` is the position at which the
// padding starts, so that a reader who comes from the end finds the last record.

const { crc32 } = require('./crc32')

/** Bytes of framing a record: its length before it and after it. */
const FRAME_SIZE = 4
const LENGTH_SIZE = 2
/** marker and start: the least padding a block can have */
const BARE_PADDING_SIZE = 6
/** marker, checksum and start */
const CHECKED_PADDING_SIZE = 10
const MIN_BLOCK_SIZE = 32
/** Bytes that a processor fetches at a time; most have this. */
const CACHE_LINE_SIZE = 64
/** lengths have 16 bits, and blockSize - 1 must be one of them */
const MAX_BLOCK_SIZE = 65536

/**
 * The class that makes Buffers.
 * @type {new (memory: ArrayBufferLike, offset: number, length: number) => Buffer}
 */
const View = /** @type {any} */ (Buffer)[Symbol.species]
// at hand, since V8 looks up the inherited methods of a Buffer by name at each call: `block.set` took about twice as long
const { set } = Uint8Array.prototype

/**
 * The first thing in a block that breaks the format.
 * @typedef {{ position: number, reason: string }} Problem
 */

/**
 * @param {boolean} checksum whether blocks are sealed with a checksum
 * @returns {number} the least bytes of padding that end a block
 */
function paddingSize (checksum) {
  return checksum ? CHECKED_PADDING_SIZE : BARE_PADDING_SIZE
}

/**
 * @param {number} blockSize in bytes
 * @param {boolean} checksum whether blocks are sealed with a checksum
 * @returns {number} the most bytes of data a record can have
 */
function maxRecordSize (blockSize, checksum) {
  return blockSize - paddingSize(checksum) - FRAME_SIZE
}

/**
 * @param {number} blockSize in bytes
 * @param {boolean} checksum whether blocks are sealed with a checksum
 * @param {number} position where the record would start
 * @param {number} length bytes of data
 * @returns {boolean} whether the record and the padding after it fit into the block
 */
function fits (blockSize, checksum, position, length) {
  return position + length + FRAME_SIZE <= blockSize - paddingSize(checksum)
}

/**
 * Frames a record. The caller has made sure that it `fits`.
 * @param {Buffer} block
 * @param {number} position
 * @param {Uint8Array} data
 * @returns {number} the position after the record
 */
function writeRecord (block, position, data) {
  const length = data.length
  writeLength(block, position, length)
  set.call(block, data, position + LENGTH_SIZE)
  writeLength(block, position + LENGTH_SIZE + length, length)
  return position + length + FRAME_SIZE
}

/**
 * Fills a block with padding. The checksum's bytes are left zero: see `writeChecksum`.
 * @param {Buffer} block a whole block
 * @param {number} start where its records end
 */
function seal (block, start) {
  const blockSize = block.length
  writeLength(block, start, blockSize - 1)
  block.fill(0, start + LENGTH_SIZE, blockSize - 4)
  block.writeUInt32LE(start, blockSize - 4)
}

/**
 * Writes the checksum of a sealed block into it, if its padding has room for one:
 * in a block begun without checksums the last record may stand in its place.
 * @param {Buffer} block a sealed block
 */
function writeChecksum (block) {
  if (paddingStart(block) > block.length - CHECKED_PADDING_SIZE) return
  block.writeUInt32LE(checksumOf(block), block.length - 8)
}

/**
 * CRC-32 (the one of zlib, gzip and PNG) over every byte of the block but the
 * four of the checksum itself.
 * @param {Buffer} block a sealed block, or its last bytes
 * @param {number} [before] CRC-32 of what is before these
 * @returns {number}
 */
function checksumOf (block, before = 0) {
  const blockSize = block.length
  return crc32(block.subarray(blockSize - 4), crc32(block.subarray(0, blockSize - 8), before))
}

/**
 * The same, taken part by part.
 * @param {Buffer} block a sealed block
 * @param {Uint32Array} sums is filled: for each part of the block the CRC-32 of all of the block up to the part's end
 */
function checksumByParts (block, sums) {
  const size = block.length / sums.length
  let sum = 0
  for (let part = 0; part < sums.length; part++) {
    sum = sums[part] = checksumOfPart(view(block.buffer, block.byteOffset + part * size, size), part === sums.length - 1, sum)
  }
  return sum
}

/**
 * @param {Buffer} bytes of a part of a block
 * @param {boolean} isLast
 * @param {number} before CRC-32 of what is before it in the block
 * @returns {number} CRC-32 of that and these, but for the block's checksum itself
 */
function checksumOfPart (bytes, isLast, before) {
  return isLast ? checksumOf(bytes, before) : crc32(bytes, before)
}

/**
 * @param {Buffer} block a sealed block
 * @returns {number} its stored checksum; 0 if it has none
 */
function storedChecksum (block) {
  const blockSize = block.length
  return paddingStart(block) <= blockSize - CHECKED_PADDING_SIZE ? block.readUInt32LE(blockSize - 8) : 0
}

/**
 * @param {Buffer} block a whole block
 * @returns {number} the position at which it says its padding starts; not checked
 */
function paddingStart (block) {
  return block.readUInt32LE(block.length - 4)
}

/**
 * @param {Buffer} block
 * @param {number} position
 * @returns {number} the length stored at this position
 */
function readLength (block, position) {
  return block[position] | block[position + 1] << 8
}

/**
 * @param {Buffer} block
 * @param {number} position
 * @param {number} length
 */
function writeLength (block, position, length) {
  block[position] = length
  block[position + 1] = length >>> 8
}

/**
 * The step forward. The block must have been checked up to the result.
 * @param {Buffer} block
 * @param {number} position where a record starts
 * @returns {number} where the next one does
 */
function nextPosition (block, position) {
  return position + readLength(block, position) + FRAME_SIZE
}

/**
 * The step back. The block must have been checked up to `position`.
 * @param {Buffer} block
 * @param {number} position where a record ends
 * @returns {number} where it starts
 */
function previousPosition (block, position) {
  return position - readLength(block, position - LENGTH_SIZE) - FRAME_SIZE
}

/**
 * @param {Buffer} block
 * @param {number} position where a record starts
 * @returns {Buffer} its data: a view, not a copy
 */
function dataAt (block, position) {
  const length = readLength(block, position)
  return view(block.buffer, block.byteOffset + position + LENGTH_SIZE, length)
}

/**
 * What `subarray` does, less its care for bounds that are negative or no integers.
 * It takes the memory, so that who makes many looks that up once: `.buffer` and
 * `.byteOffset` of a Buffer take longer than making the view.
 * @param {ArrayBufferLike} memory
 * @param {number} offset in the memory
 * @param {number} length
 * @returns {Buffer}
 */
function view (memory, offset, length) {
  return new View(memory, offset, length)
}

/**
 * @param {Buffer} block
 * @param {number} position where a record starts
 * @returns {boolean} whether its data is all zeros, which means deleted
 */
function isDeleted (block, position) {
  const end = nextPosition(block, position) - LENGTH_SIZE
  for (let i = position + LENGTH_SIZE; i < end; i++) if (block[i] !== 0) return false
  return true
}

/**
 * @param {Uint8Array} data
 * @returns {boolean} whether a record of this data could be told from a deleted one
 */
function isStorable (data) {
  for (let i = 0; i < data.length; i++) if (data[i] !== 0) return true
  return false
}

/**
 * Zeroes a record's data.
 * @param {Buffer} block
 * @param {number} position where the record starts
 */
function zeroRecord (block, position) {
  block.fill(0, position + LENGTH_SIZE, nextPosition(block, position) - LENGTH_SIZE)
}

/**
 * What is wrong with a record's frame, looking at nothing outside `end`.
 * @param {Buffer} block
 * @param {number} position where the record should start
 * @param {number} end where the bytes that may be looked at end
 * @returns {string | null}
 */
function frameProblem (block, position, end) {
  if (position + FRAME_SIZE >= end) return `${end - position} bytes are left, too few for a record`
  const length = readLength(block, position)
  if (length === 0) return 'a record of length 0'
  if (position + length + FRAME_SIZE > end) return `a record of ${length} bytes would end outside`
  const again = readLength(block, position + LENGTH_SIZE + length)
  if (again !== length) return `the length before the record is ${length}, after it ${again}`
  return null
}

/**
 * Walks whole records.
 * @param {Buffer} block
 * @param {number} position where to begin: the start of a record, or `end`
 * @param {number} end where the bytes that may be looked at end
 * @returns {number} where the last whole record ends; `position` if there is none
 */
function endOfRecords (block, position, end) {
  while (position + FRAME_SIZE < end) {
    const length = block[position] | block[position + 1] << 8
    const next = position + length + FRAME_SIZE
    if (length === 0 || next > end) break
    const last = next - LENGTH_SIZE
    if ((block[last] | block[last + 1] << 8) !== length) break
    position = next
  }
  return position
}

/**
 * Checks a sealed block: its checksum, that its records follow each other up to
 * the padding, and that the padding is where the block says.
 * @param {Buffer} block a whole block
 * @param {boolean} checksum whether to compare the checksum, where there is one
 * @param {Uint32Array | null} [sums] is filled with those of its parts, if it has a checksum
 * @returns {Problem | null} null if it is sound
 */
function findProblem (block, checksum, sums = null) {
  const blockSize = block.length
  const start = paddingStart(block)
  if (start > blockSize - BARE_PADDING_SIZE || start <= FRAME_SIZE) {
    return { position: blockSize - 4, reason: `the block says that its padding starts at ${start}, which cannot be` }
  }
  // first, since it goes through the bytes in order: the walk, which leaps, finds them in the processor's cache then
  const isStamped = checksum ? hasOwnChecksum(block, sums) : isFetched(block)
  const end = endOfRecords(block, 0, start)
  if (end !== start) {
    return { position: end, reason: /** @type {string} */ (frameProblem(block, end, start)) }
  }
  if (readLength(block, start) !== blockSize - 1) {
    return { position: start, reason: `${readLength(block, start)} stands where the padding's mark, ${blockSize - 1}, should be` }
  }
  if (isStamped) return null
  return { position: 0, reason: `its checksum is ${hex(checksumOf(block))}, the one stored in it ${hex(storedChecksum(block))}` }
}

/**
 * Has all of a block come into the processor's cache: many bytes are on their way at a time,
 * where a walk waits for each length before it knows where the next one is. It takes a
 * quarter off a scan without checksums.
 * @param {Buffer} block
 * @returns {boolean} true
 */
function isFetched (block) {
  let bits = 0
  for (let position = 0; position < block.length; position += CACHE_LINE_SIZE) bits |= block[position]
  return bits >= 0
}

/**
 * @param {Buffer} block a sealed block
 * @param {Uint32Array | null} sums
 * @returns {boolean} whether its checksum is right, or it has none
 */
function hasOwnChecksum (block, sums) {
  const stored = storedChecksum(block)
  return stored === 0 || stored === (sums === null ? checksumOf(block) : checksumByParts(block, sums))
}

/** @param {number} checksum */
function hex (checksum) {
  return checksum.toString(16).padStart(8, '0')
}

module.exports = {
  FRAME_SIZE,
  LENGTH_SIZE,
  MIN_BLOCK_SIZE,
  MAX_BLOCK_SIZE,
  paddingSize,
  maxRecordSize,
  fits,
  writeRecord,
  seal,
  writeChecksum,
  checksumOf,
  checksumByParts,
  checksumOfPart,
  storedChecksum,
  paddingStart,
  readLength,
  nextPosition,
  previousPosition,
  dataAt,
  view,
  isDeleted,
  isStorable,
  zeroRecord,
  frameProblem,
  endOfRecords,
  findProblem
}
