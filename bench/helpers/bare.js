'use strict'

// The least that has to be done, by loops that nobody could use as a log: no bounds, no
// cache, no deletions, no errors, one reader, one burst. What these take on a machine, a
// log on it cannot go below; how much it takes beyond them is its own.

const fs = require('fs')
const { promisify } = require('util')
const { crc32 } = require('../../lib/format/crc32')

/** What a caller gets as a record. */
const View = Buffer[Symbol.species]
// at hand: see lib/format/layout.js
const { set } = Uint8Array.prototype

const BUFFER_SIZE = 64 * 1024
const BUFFERS_A_PIECE = 8
const PIECE_SIZE = BUFFER_SIZE * BUFFERS_A_PIECE
const MAX_READ_AHEAD = 4
const BUFFERS_A_WRITE = 16
/** Of the last padding of a block, so that a record fits. */
const PADDING_SIZE = 10

/**
 * A pull-stream of `{ seq, value }` over a log whose blocks fit a buffer: reads ahead, takes the checksums, and makes
 * a Buffer and an object a record.
 * @param {number} fd
 * @param {number} blockSize
 */
function bareStream (fd, blockSize) {
  const { size } = fs.fstatSync(fd)
  /** @type {Map<number, Buffer[]>} */
  const ready = new Map()
  let frontier = 0
  let piece = 0
  /** @type {Buffer[]} */
  let buffers = []
  let buffer = Buffer.alloc(0)
  let memory = buffer.buffer
  // positions in the buffer: of the block, and of its records' end
  let block = 0
  let end = 0
  let position = 0
  /** offset of the buffer */
  let base = 0
  /** @type {Function | null} */
  let waiting = null
  readOn()

  function readOn () {
    for (; frontier < size && frontier - piece < MAX_READ_AHEAD * PIECE_SIZE; frontier += PIECE_SIZE) readPiece(frontier)
  }

  /** @param {number} offset */
  function readPiece (offset) {
    const made = []
    for (let at = offset; at < Math.min(offset + PIECE_SIZE, size); at += BUFFER_SIZE) made.push(Buffer.allocUnsafeSlow(Math.min(BUFFER_SIZE, size - at)))
    fs.readv(fd, made, offset, (err) => {
      if (err) throw err
      for (const one of made) for (let at = 0; at < one.length; at += blockSize) crc32(one.subarray(at, at + blockSize))
      ready.set(offset, made)
      if (waiting === null || offset !== piece) return
      const cb = waiting
      waiting = null
      source(null, cb)
    })
  }

  /** @returns {boolean} whether there is a further block at hand */
  function turn () {
    block += blockSize
    if (block >= buffer.length) {
      if (buffers.length === 0) {
        const found = ready.get(piece)
        if (found === undefined) return false
        ready.delete(piece)
        piece += PIECE_SIZE
        buffers = found
        readOn()
      }
      base += buffer.length
      buffer = /** @type {Buffer} */ (buffers.shift())
      memory = buffer.buffer
      block = 0
    }
    const isLast = block + blockSize > buffer.length
    position = block
    end = isLast ? buffer.length : block + buffer.readUInt32LE(block + blockSize - 4)
    return true
  }

  function source (abort, answer) {
    if (abort) return answer(abort)
    while (position >= end) {
      if (turn()) continue
      if (piece >= size) return answer(true)
      waiting = answer
      return
    }
    const length = buffer[position] | buffer[position + 1] << 8
    const item = { seq: base + position, value: new View(memory, position + 2, length) }
    position += length + 4
    answer(null, item)
  }

  return source
}

/**
 * Copies records into blocks, keeps the callbacks, and when all of them are there writes
 * the blocks, and calls back what has been written.
 * @param {string} filename
 * @param {Buffer[]} records appended over and over
 * @param {number} count
 * @returns {Promise<number>} seconds
 */
async function bareAppend (filename, records, count) {
  const writev = promisify(fs.writev)
  const fd = fs.openSync(filename, 'w')
  const blocks = []
  const begin = performance.now()
  let block = newBlock()
  let position = 0
  let answered = 0

  for (let n = 0; n < count; n++) append(records[n % records.length], answer)
  for (let at = 0; at < blocks.length; at += BUFFERS_A_WRITE) {
    const some = blocks.slice(at, at + BUFFERS_A_WRITE)
    await writev(fd, some.map(({ buffer }) => buffer), at * BUFFER_SIZE)
    for (const { callbacks } of some) for (const cb of callbacks) cb()
  }

  const seconds = (performance.now() - begin) / 1000
  fs.closeSync(fd)
  if (answered !== count) throw new Error(`${answered} of ${count} were called back`)
  return seconds

  function answer () { answered++ }

  function newBlock () {
    const made = { buffer: Buffer.allocUnsafeSlow(BUFFER_SIZE), callbacks: [] }
    blocks.push(made)
    return made
  }

  function append (record, cb) {
    const { length } = record
    if (position + length + 4 > BUFFER_SIZE - PADDING_SIZE) {
      crc32(block.buffer)
      block = newBlock()
      position = 0
    }
    const { buffer } = block
    buffer[position] = buffer[position + length + 2] = length & 255
    buffer[position + 1] = buffer[position + length + 3] = length >> 8
    set.call(buffer, record, position + 2)
    position += length + 4
    block.callbacks.push(cb)
  }
}

module.exports = { bareStream, bareAppend }
