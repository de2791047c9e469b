'use strict'

// The layout of a block: format.md in code. Pure: no I/O, no state. validation.js decides
// which bytes are valid.
//
//     block   := record+ padding
//     record  := length:LE16  data  length:LE16
//     padding := marker:LE16  zeros  checksum:LE32  start:LE32
//
// A position is an offset within a block. `start` is the position at which the
// padding starts, so that the last record can be found from the end.

/** Bytes of framing per record: its length before it and after it. */
const FRAME_SIZE = 4
const LENGTH_SIZE = 2
/** marker and start: the smallest padding */
const BARE_PADDING_SIZE = 6
/** marker, checksum and start */
const CHECKED_PADDING_SIZE = 10
const MIN_BLOCK_SIZE = 32
/** lengths have 16 bits, and blockSize - 1 must be one of them */
const MAX_BLOCK_SIZE = 65536

/**
 * The class that makes Buffers.
 * @type {new (memory: ArrayBufferLike, offset: number, length: number) => Buffer}
 */
const View = /** @type {any} */ (Buffer)[Symbol.species]
// looked up once: V8 finds the inherited methods of a Buffer by name at each call, and `block.set` took about twice as long
const { set } = Uint8Array.prototype
/**
 * What `write` and `toString` of a Buffer call; not documented.
 * @type {{ write: Function, utf8Write?: Function, utf8Slice?: Function }}
 */
const { write, utf8Write = write, utf8Slice } = /** @type {any} */ (Buffer.prototype)
/** Bytes of UTF-8 per UTF-16 code unit. */
const MAX_UTF8 = 3

/**
 * @param {boolean} checksum whether blocks are sealed with a checksum
 * @returns {number} minimum bytes of padding at the end of a block
 */
function paddingSize (checksum) {
  return checksum ? CHECKED_PADDING_SIZE : BARE_PADDING_SIZE
}

/**
 * @param {number} blockSize in bytes
 * @param {boolean} checksum whether blocks are sealed with a checksum
 * @returns {number} maximum bytes of data in a record
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
 * Writes a record with its lengths. It must fit (see `fits`).
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
 * Writes a string as a record, as UTF-8. It must fit, with MAX_UTF8 bytes per code unit (see `fits`).
 * @param {Buffer} block
 * @param {number} position
 * @param {string} text
 * @returns {number} the position after the record
 */
function writeText (block, position, text) {
  const length = utf8Write.call(block, text, position + LENGTH_SIZE)
  writeLength(block, position, length)
  writeLength(block, position + LENGTH_SIZE + length, length)
  return position + length + FRAME_SIZE
}

/**
 * Fills a block with padding. The checksum's bytes stay zero: see `writeChecksum` in checksum.js.
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
 * @param {Buffer} block a whole block
 * @returns {number} the stored position of its padding; not validated
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
 * One record forward. The block must have been validated up to the result.
 * @param {Buffer} block
 * @param {number} position where a record starts
 * @returns {number} where the next one does
 */
function nextPosition (block, position) {
  return position + readLength(block, position) + FRAME_SIZE
}

/**
 * One record back. The block must have been validated up to `position`.
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
 * Like `subarray`, without its handling of negative and fractional bounds. Takes the
 * ArrayBuffer, so that a caller that makes many views looks that up once: `.buffer` and
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
 * Like `toString`, without its look-ups and checks.
 * @param {Buffer} block
 * @param {number} start
 * @param {number} end
 * @returns {string} the bytes from `start` to `end` as UTF-8
 */
function text (block, start, end) {
  return utf8Slice === undefined ? block.toString('utf8', start, end) : utf8Slice.call(block, start, end)
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
 * @param {Buffer} block
 * @param {number} end of its records
 * @returns {number[]} where the records start that are not deleted. An array, since a generator takes half as long again
 */
function livePositions (block, end) {
  const positions = []
  for (let position = 0; position < end; position = nextPosition(block, position)) if (!isDeleted(block, position)) positions.push(position)
  return positions
}

/**
 * @param {Uint8Array} data
 * @returns {boolean} whether a record of this data differs from a deleted one
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

module.exports = {
  FRAME_SIZE,
  LENGTH_SIZE,
  MAX_UTF8,
  BARE_PADDING_SIZE,
  CHECKED_PADDING_SIZE,
  MIN_BLOCK_SIZE,
  MAX_BLOCK_SIZE,
  paddingSize,
  maxRecordSize,
  fits,
  writeRecord,
  writeText,
  seal,
  paddingStart,
  readLength,
  writeLength,
  nextPosition,
  previousPosition,
  dataAt,
  view,
  text,
  isDeleted,
  livePositions,
  isStorable,
  zeroRecord
}
