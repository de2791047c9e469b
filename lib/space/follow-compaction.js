'use strict'

// A reader whose log was compacted by another process: goes on in the file that has taken the log's place. All that it shows then is
// read before, from that file; it moves there in one step, after which it shows at least what it has shown before.

const fs = require('fs')
const { promisify } = require('util')
const { generationOf, readOwn } = require('../recovery/recovery-point')
const { readAt } = require('../storage/buffers')
const { OffsetMap } = require('./offset-map')

const fstat = promisify(fs.fstat)

/** Nobody can go on in a file that is not there, or that may not be opened. */
const GONE = new Set(['ENOENT', 'EACCES'])

/**
 * @typedef {import('../read/follower').Follower} Follower
 * @typedef {import('../storage/path-file').Io} Io
 */

/**
 * @param {Follower} follower
 * @param {Error} replaced what to throw if the log was not compacted but replaced, or compacted more than once
 */
async function followCompaction (follower, replaced) {
  const { file, blocks } = follower
  // before the map: if that leads away from the old file, this is the file that it leads to, or it was replaced since
  const fd = await file.openSuccessor().catch((err) => { throw GONE.has(err.code) ? replaced : err })
  /** @type {OffsetMap | null} */
  let map = null
  let isMoved = false
  try {
    map = await OffsetMap.open(file.location.path, generationOf((await readOwn(ioOf(file, fd)))?.metadata).id)
    if (map === null || map.previousId !== blocks.id) throw replaced
    map.load()
    const end = await follower.log.find(ioOf(file, fd))
    const { blockSize, found } = end
    if (found.start < map.base || follower.closed) throw replaced
    isMoved = true
    if (blockSize !== blocks.blockSize) follower.log.resize(blockSize)
    file.moveTo(fd, map.base)
    blocks.moveTo(follower.log.tailOf(found), found.start, map)
    follower.moveTo(end, map)
    map.unload()
  } catch (err) {
    if (!isMoved) {
      file.forgetSuccessor()
      map?.close()
      fs.closeSync(fd)
    }
    throw err
  }
}

/**
 * @param {import('../storage/path-file').LogFile} file of the log
 * @param {number} fd of the file that has taken its place
 * @returns {Io} which reads this file
 */
function ioOf ({ io, filename }, fd) {
  return {
    ...io,
    size: async () => (await fstat(fd)).size,
    read: (offset, size) => readAt(fd, filename, offset, size)
  }
}

module.exports = { followCompaction }
