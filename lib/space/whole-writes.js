'use strict'

// Writes buffers into a file, all of them: the system may write less than it is given.

const fs = require('fs')
const { promisify } = require('util')
const { sizeOf } = require('../storage/buffers')

const write = promisify(fs.write)
const writev = promisify(fs.writev)

/**
 * @param {number} fd
 * @param {Buffer[]} buffers one after the other
 * @param {number} offset
 */
async function writeAll (fd, buffers, offset) {
  const { bytesWritten } = await writev(fd, buffers, offset)
  if (bytesWritten === sizeOf(buffers)) return
  // the next call goes on, or says why it cannot
  const rest = Buffer.concat(buffers).subarray(bytesWritten)
  for (let done = 0; done < rest.length;) done += (await write(fd, rest, done, rest.length - done, offset + bytesWritten + done)).bytesWritten
}

module.exports = { writeAll }
