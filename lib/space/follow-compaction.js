'use strict'

// A reader whose log was compacted by another process: goes on in the file that has taken the log's place.

const fs = require('fs')
const { promisify } = require('util')
const { Block } = require('../format/block')
const { findVisibleEnd } = require('../read/visible-end')
const { OffsetMap } = require('./offset-map')

/**
 * @param {import('../read/follower').Follower} follower
 * @param {Error} replaced what to throw if the log was not compacted but replaced, or compacted more than once
 */
async function followCompaction (follower, replaced) {
  const { file, io, blocks, isWhole } = follower
  const { openSuccessor, moveTo, location } = file
  if (openSuccessor === null || moveTo === null || location === null) throw replaced
  // before the map: if that leads away from the old file, this is the file that it leads to, or it was replaced since
  const fd = await promisify(openSuccessor)().catch(() => { throw replaced })
  const map = await OffsetMap.open(location.path)
  if (map === null || map.previousId !== follower.id) {
    map?.close()
    fs.closeSync(Number(fd))
    throw replaced
  }
  moveTo(Number(fd), map.base)
  const { found, point } = await findVisibleEnd(io, io.read, file.filename, { blockSize: blocks.blockSize, checksum: blocks.checksum, isWhole })
  if (found.start < map.base) throw replaced
  blocks.moveTo(new Block(found.tail.number, Buffer.alloc(0), 0, false), found.start)
  follower.moveTo(found, point, map)
}

module.exports = { followCompaction }
