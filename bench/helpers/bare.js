'use strict'

// Lower bounds: minimal loops that could not serve as a log. They have no bounds, cache,
// deletions or error handling, and one reader or one burst. A log cannot be faster than these;
// the difference is the cost of the log itself.

const fs = require('fs')
const { promisify } = require('util')
const { crc32 } = require('../../lib/format/crc32')

/** The class of record data. */
const View = Buffer[Symbol.species]
// a direct reference: see lib/format/layout.js
const { set } = Uint8Array.prototype

const BUFFER_SIZE = 64 * 1024
const BUFFERS_PER_READ = 8
const READ_SIZE = BUFFER_SIZE * BUFFERS_PER_READ
const MAX_PENDING_READS = 4
const BUFFERS_PER_WRITE = 16
/** Reserved at the end of each block for the padding. */
const PADDING_SIZE = 10

/**
 * A pull-stream of `{ seq, value }` over a log whose blocks fit into a buffer: does readahead, computes the checksums, and
 * creates a Buffer and an object per record.
 * @param {number} fd
 * @param {number} blockSize
 */
function bareStream (fd, blockSize) {
  const { size } = fs.fstatSync(fd)
  /** @type {Map<number, Buffer[]>} */
  const ready = new Map()
  let frontier = 0
  let consumed = 0
  /** @type {Buffer[]} */
  let buffers = []
  let buffer = Buffer.alloc(0)
  let memory = buffer.buffer
  // positions in the buffer: of the block, and of the end of its records
  let block = 0
  let end = 0
  let position = 0
  /** offset of the buffer */
  let base = 0
  /** @type {Function | null} */
  let waiting = null
  prefetch()

  function prefetch () {
    for (; frontier < size && frontier - consumed < MAX_PENDING_READS * READ_SIZE; frontier += READ_SIZE) readBuffers(frontier)
  }

  /** @param {number} offset */
  function readBuffers (offset) {
    const filled = []
    for (let at = offset; at < Math.min(offset + READ_SIZE, size); at += BUFFER_SIZE) filled.push(Buffer.allocUnsafeSlow(Math.min(BUFFER_SIZE, size - at)))
    fs.readv(fd, filled, offset, (err) => {
      if (err) throw err
      for (const one of filled) for (let at = 0; at < one.length; at += blockSize) crc32(one.subarray(at, at + blockSize))
      ready.set(offset, filled)
      if (waiting === null || offset !== consumed) return
      const cb = waiting
      waiting = null
      source(null, cb)
    })
  }

  /** @returns {boolean} false if the next block has not been read yet */
  function enterBlock () {
    block += blockSize
    if (block >= buffer.length) {
      if (buffers.length === 0) {
        const found = ready.get(consumed)
        if (found === undefined) return false
        ready.delete(consumed)
        consumed += READ_SIZE
        buffers = found
        prefetch()
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
      if (enterBlock()) continue
      if (consumed >= size) return answer(true)
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
 * Copies all records into blocks and keeps the callbacks; then writes the blocks, and calls
 * the callbacks of each write.
 * @param {string} filename
 * @param {Buffer[]} records appended in rotation
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
  for (let at = 0; at < blocks.length; at += BUFFERS_PER_WRITE) {
    const some = blocks.slice(at, at + BUFFERS_PER_WRITE)
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

/**
 * Reads a log block by block, and parses each record as JSON.
 * @param {string} filename
 * @param {number} blockSize
 * @param {(value: any) => void} onValue
 */
function bareJson (filename, blockSize, onValue) {
  const fd = fs.openSync(filename, 'r')
  const block = Buffer.allocUnsafeSlow(blockSize)
  for (let length; (length = fs.readSync(fd, block, 0, blockSize, null)) > 0;) {
    const end = length < blockSize ? length : block.readUInt32LE(blockSize - 4)
    for (let position = 0; position < end;) {
      const start = position + 2
      position = start + (block[position] | block[position + 1] << 8)
      onValue(JSON.parse(block.utf8Slice(start, position)))
      position += 2
    }
  }
  fs.closeSync(fd)
}

module.exports = { bareStream, bareAppend, bareJson }
