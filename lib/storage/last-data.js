'use strict'

// Finds the last byte of a file that is not zero. A file that was extended and not written can
// end with gigabytes of zeros, and Node.js cannot ask the system where such a hole starts.

const fs = require('fs')
const { isZeros } = require('../format/zeros')

/** Bytes read at a time. Direct I/O needs multiples of the device's sectors. */
const READ_SIZE = 1024 * 1024

/**
 * @param {string} filename
 * @param {number} size the file's, in bytes
 * @returns {Promise<number>} the offset; -1 if all are zero
 */
async function lastNonZero (filename, size) {
  const buffered = await fs.promises.open(filename, 'r')
  // without the page cache: filling that with a hole takes ten times as long as reading it
  const direct = await openDirect(filename)
  const buffer = Buffer.allocUnsafeSlow(READ_SIZE)
  try {
    for (let number = Math.ceil(size / READ_SIZE) - 1; number >= 0; number--) {
      const start = number * READ_SIZE
      const wanted = Math.min(READ_SIZE, size - start)
      const bytes = (direct && await readDirect(direct, buffer, start, wanted)) ?? await read(buffered, buffer, start, wanted)
      if (!isZeros(bytes)) return start + bytes.findLastIndex(byte => byte !== 0)
    }
    return -1
  } finally {
    await direct?.close()
    await buffered.close()
  }
}

/**
 * @param {string} filename
 * @returns {Promise<fs.promises.FileHandle | null>} null where there is no direct I/O
 */
async function openDirect (filename) {
  if (fs.constants.O_DIRECT === undefined) return null
  return fs.promises.open(filename, fs.constants.O_RDONLY | fs.constants.O_DIRECT).catch(() => null)
}

/**
 * @param {fs.promises.FileHandle} handle
 * @param {Buffer} buffer
 * @param {number} offset
 * @param {number} wanted
 * @returns {Promise<Buffer | null>} null where this cannot be read so: data, unlike a hole, needs an aligned buffer
 */
async function readDirect (handle, buffer, offset, wanted) {
  const bytesRead = await handle.read(buffer, 0, READ_SIZE, offset).then(({ bytesRead }) => bytesRead, () => 0)
  return bytesRead < wanted ? null : buffer.subarray(0, wanted)
}

/**
 * @param {fs.promises.FileHandle} handle
 * @param {Buffer} buffer
 * @param {number} offset
 * @param {number} wanted
 * @returns {Promise<Buffer>} less if the file has become shorter
 */
async function read (handle, buffer, offset, wanted) {
  for (let done = 0; ;) {
    const { bytesRead } = await handle.read(buffer, done, wanted - done, offset + done)
    done += bytesRead
    if (done === wanted || bytesRead === 0) return buffer.subarray(0, done)
  }
}

module.exports = { lastNonZero }
