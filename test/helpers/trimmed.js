'use strict'

// Logs of which terabytes were trimmed: their blocks are moved to where they would be, and
// there is nothing before them.

const fs = require('fs')
const { holeOf } = require('../../lib/format/hole')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')

/**
 * @param {string} file
 * @param {Buffer} bytes of a log, in whole blocks but for the last
 * @param {number} blockSize
 * @param {number} base offset of a block, from which on they are
 */
function writeTrimmed (file, bytes, blockSize, base) {
  const fd = fs.openSync(file, 'w')
  if (base > 0) fs.writeSync(fd, holeOf(blockSize, true), 0, blockSize, 0)
  fs.writeSync(fd, bytes, 0, bytes.length, base)
  fs.closeSync(fd)
}

/**
 * A log's file that counts what is read.
 * @param {string} file
 * @param {{ readOnly?: boolean }} [options]
 */
function countedFile (file, { readOnly = true } = {}) {
  const made = pathFile(file, { readOnly, lock: false })
  const plain = { ...made }
  const count = { reads: 0, bytes: 0, least: Infinity }
  const counted = (offset, size) => {
    count.reads++
    count.bytes += size
    count.least = Math.min(count.least, offset)
  }
  return {
    count,
    file: Object.assign(made, {
      read: (offset, size, cb) => { counted(offset, size); plain.read(offset, size, cb) },
      readSmall: (offset, size, isShared, cb) => { counted(offset, size); plain.readSmall(offset, size, isShared, cb) },
      readMany: (offset, sizes, into, cb) => { counted(offset, sizes.reduce((sum, size) => sum + size, 0)); plain.readMany(offset, sizes, into, cb) }
    })
  }
}

/** The same, opened. */
function openCounted (file, options = {}) {
  const { file: made, count } = countedFile(file, options)
  return { log: createLog(made, settingsOf({ readOnly: true, lock: false, ...options })), count }
}

module.exports = { countedFile, openCounted, writeTrimmed }
