'use strict'

// The client of a shared log whose owner has compacted it goes on in the file that has taken the log's place, at the end up to which
// the log was copied: what the owner says next is about that file. The owner may be gone by then: then a client takes it over.

const fs = require('fs')
const { promisify } = require('util')
const { endOfRecords } = require('../format/validation')
const { Block } = require('../format/block')
const { OffsetMap } = require('../space/offset-map')

const open = promisify(fs.open)
const read = promisify(fs.read)

/**
 * @param {import('./sharing').Sharing} sharing
 * @param {Error} replaced what to throw if the log was not compacted but replaced, or compacted more than once
 */
async function followCompaction (sharing, replaced) {
  const { opened, path, file } = sharing
  const moveTo = /** @type {NonNullable<typeof file.moveTo>} */ (file.moveTo)
  // before the map: if that leads away from the old file, this is the file that it leads to, or it was replaced since
  const fd = await open(path, 'r+').catch(err => { throw err.code === 'ENOENT' ? replaced : err })
  // nothing of the old file is known
  if (opened === null) return moveTo(fd, 0)
  const { blocks } = opened
  const clientEnd = /** @type {import('./client-end').ClientEnd} */ (sharing.clientEnd)
  /** @type {OffsetMap | null} */
  let map = null
  try {
    map = await OffsetMap.open(path)
    if (map === null || map.previousId !== sharing.id) throw replaced
    const tail = await readTail(fd, map.end, blocks.blockSize, replaced)
    await clientEnd.stop()
    if (sharing.isClosed) throw replaced
    moveTo(fd, map.base)
    blocks.moveTo(tail, map.base, map.base)
  } catch (err) {
    map?.close()
    fs.closeSync(fd)
    clientEnd.resume()
    throw err
  }
  sharing.moved(map, map.pages === 0 ? map.base : map.down(Infinity))
}

/**
 * @param {number} fd
 * @param {number} end of the log
 * @param {number} blockSize
 * @param {Error} replaced what to throw if that block is not there any more
 * @returns {Promise<Block>} in which the log ended when it was copied
 */
async function readTail (fd, end, blockSize, replaced) {
  const position = end % blockSize
  const block = new Block((end - position) / blockSize, Buffer.allocUnsafeSlow(blockSize), position, false)
  const { bytesRead } = await read(fd, block.buffer, 0, position, end - position)
  if (bytesRead < position || endOfRecords(block.buffer, 0, position) !== position) throw replaced
  return block
}

module.exports = { followCompaction }
