'use strict'

// A reader whose log was compacted by another process: goes on in the file that has taken the log's place. All that it shows then is
// read before, from that file; it moves there in one step, after which it shows at least what it has shown before.

const fs = require('fs')
const { promisify } = require('util')
const { findVisibleEnd } = require('../read/visible-end')
const { ownPatches } = require('../recovery/own-patches')
const { generationOf, readOwn, readPoint } = require('../recovery/recovery-point')
const { OffsetMap } = require('./offset-map')

const fstat = promisify(fs.fstat)
const read = promisify(fs.read)

/**
 * @typedef {import('../read/follower').Follower} Follower
 * @typedef {import('../storage/promisified-file').Io} Io
 */

/**
 * @param {Follower} follower
 * @param {Error} replaced what to throw if the log was not compacted but replaced, or compacted more than once
 */
async function followCompaction (follower, replaced) {
  const { file, blocks } = follower
  const { openSuccessor, moveTo, location } = file
  if (openSuccessor === null || moveTo === null || location === null) throw replaced
  // before the map: if that leads away from the old file, this is the file that it leads to, or it was replaced since
  const fd = Number(await promisify(openSuccessor)().catch(() => { throw replaced }))
  /** @type {OffsetMap | null} */
  let map = null
  let isMoved = false
  try {
    map = await OffsetMap.open(location.path, generationOf((await readOwn(ioOf(follower.io, fd)))?.metadata).id)
    if (map === null || map.previousId !== follower.id) throw replaced
    map.load()
    const { blockSize, found, point, own } = await findEndNow(follower, fd)
    if (found.start < map.base || follower.closed) throw replaced
    isMoved = true
    if (blockSize !== blocks.blockSize) follower.tail.resizeBlocks(blockSize)
    moveTo(fd, map.base)
    blocks.moveTo(found.damagedTail === null ? found.tail : follower.tail.corrupt(found.damagedTail), found.start, map.base)
    follower.moveTo(found, point, own, map)
  } catch (err) {
    if (!isMoved) {
      map?.close()
      fs.closeSync(fd)
    }
    throw err
  }
}

/**
 * @param {Follower} follower
 * @param {number} fd of the file that it goes on in
 */
async function findEndNow (follower, fd) {
  const { io, file, blocks, tail: { isWhole }, options } = follower
  const { checksum, large } = blocks
  const successor = ioOf(io, fd)
  for (;;) {
    // not the block size that it has: of a log of less than a block, that is a guess
    const end = await findVisibleEnd(successor, successor.read, file.filename, { blockSize: options.blockSize, checksum, large, isWhole })
    const own = ownPatches(end.point, end.blockSize)
    // otherwise the tail may have been read in the middle of a deletion
    if ((await readPoint(successor))?.id === end.point?.id || follower.closed) return { ...end, own }
  }
}

/**
 * @param {Io} io of the log
 * @param {number} fd of the file that has taken its place
 * @returns {Io} which reads this file
 */
function ioOf (io, fd) {
  return {
    ...io,
    size: async () => (await fstat(fd)).size,
    read: async (offset, size) => {
      const { bytesRead, buffer } = await read(fd, Buffer.allocUnsafeSlow(size), 0, size, offset)
      if (bytesRead < size) throw new Error(`only ${bytesRead} of ${size} bytes could be read at offset ${offset}`)
      return buffer
    }
  }
}

module.exports = { followCompaction, ioOf }
