'use strict'

// Members of the file of a log, made of its reads and writes: for files that are not on a disk.

const { crc32 } = require('../../lib/format/crc32')

/**
 * Reads several buffers by one read each.
 * @param {import('../../lib/storage/path-file').LogFile['read']} read
 * @returns {import('../../lib/storage/path-file').LogFile['readMany']}
 */
function readEach (read) {
  return (offset, sizes, into, cb) => {
    const total = sizes.reduce((sum, size) => sum + size, 0)
    read(offset, total, (err, data) => {
      if (err) return cb(err)
      let at = 0
      cb(null, sizes.map((size) => {
        at += size
        return data.subarray(at - size, at)
      }))
    })
  }
}

/**
 * Writes several buffers by one write.
 * @param {import('../../lib/storage/path-file').LogFile['write']} write
 * @returns {import('../../lib/storage/path-file').LogFile['writeMany']}
 */
function writeJoined (write) {
  return (offset, buffers, cb) => write(offset, Buffer.concat(buffers), cb)
}

/**
 * @param {Buffer} bytes of the file
 * @returns {{ size: number, mtimeMs: number, ctimeMs: number }} other times for other bytes
 */
function statusOf (bytes) {
  const time = crc32(bytes)
  return { size: bytes.length, mtimeMs: time, ctimeMs: time }
}

/** Where such a file is: nothing is beside it. */
const NOWHERE = { path: '/nowhere/log', folder: '/nowhere', newFolders: [], problem: null }

/** Tells nobody of changes. */
const noWatch = () => ({ hold () {}, pointReplaced () {}, logReplaced () {}, stop () {} })

module.exports = { NOWHERE, noWatch, readEach, statusOf, writeJoined }
