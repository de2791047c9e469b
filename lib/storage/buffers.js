'use strict'

// Several buffers that follow each other in a file.

const fs = require('fs')
const { promisify } = require('util')
const errors = require('../errors')

/**
 * @param {Uint8Array[]} buffers
 * @returns {number} bytes in all of them
 */
function sizeOf (buffers) {
  let bytes = 0
  for (const { length } of buffers) bytes += length
  return bytes
}

/**
 * @param {Buffer[]} buffers with more than `bytes` bytes
 * @param {number} bytes
 * @returns {Buffer[]} what follows these
 */
function skip (buffers, bytes) {
  let first = 0
  while (bytes >= buffers[first].length) bytes -= buffers[first++].length
  return [buffers[first].subarray(bytes), ...buffers.slice(first + 1)]
}

/**
 * Writes all of them: the system may write less than it is given.
 * @param {number} fd
 * @param {Buffer[]} buffers
 * @param {number} offset
 * @param {(err: Error | null) => void} cb
 */
function writeBuffers (fd, buffers, offset, cb) {
  fs.writev(fd, buffers, offset, (err, written) => {
    if (err || written === sizeOf(buffers)) cb(err)
    // the next call continues, or says why it cannot
    else writeBuffers(fd, skip(buffers, written), offset + written, cb)
  })
}

/**
 * Fills all of them.
 * @param {number} fd
 * @param {Buffer[]} buffers
 * @param {number} offset
 * @param {(err: Error | null, isShort?: boolean) => void} cb isShort: the file ends before
 */
function readBuffers (fd, buffers, offset, cb) {
  fs.readv(fd, buffers, offset, (err, bytesRead) => {
    if (err || bytesRead === sizeOf(buffers)) cb(err)
    else if (bytesRead === 0) cb(null, true)
    else readBuffers(fd, skip(buffers, bytesRead), offset + bytesRead, cb)
  })
}

const writeAll = promisify(writeBuffers)
const readAll = promisify(readBuffers)

/**
 * @param {number} fd
 * @param {string} filename of it
 * @param {number} offset
 * @param {number} size
 * @returns {Promise<Buffer>} rejects if the file ends before
 */
async function readAt (fd, filename, offset, size) {
  const bytes = Buffer.allocUnsafeSlow(size)
  if (await readAll(fd, [bytes], offset)) throw errors.shortRead(filename, offset, size)
  return bytes
}

module.exports = { sizeOf, readAt, readBuffers, writeBuffers, writeAll }
