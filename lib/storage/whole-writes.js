'use strict'

// Writes buffers into a file, all of them: the system may write less than it is given.

const fs = require('fs')
const { sizeOf } = require('./buffers')

/**
 * @param {number} fd
 * @param {Buffer[]} buffers one after the other
 * @param {number} offset
 */
async function writeAll (fd, buffers, offset) {
  const written = await writev(fd, buffers, offset)
  const size = sizeOf(buffers)
  if (written === size) return
  const bytes = Buffer.concat(buffers)
  // the next call goes on, or says why it cannot
  for (let done = written; done < size;) done += await writev(fd, [bytes.subarray(done)], offset + done)
}

/**
 * @param {number} fd
 * @param {Buffer[]} buffers
 * @param {number} offset
 * @returns {Promise<number>} bytes that were written
 */
function writev (fd, buffers, offset) {
  return new Promise((resolve, reject) => fs.writev(fd, buffers, offset, (err, bytes) => err ? reject(err) : resolve(bytes)))
}

module.exports = { writeAll }
