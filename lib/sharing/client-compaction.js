'use strict'

// The client of a shared log whose owner has compacted it goes on in the file that has taken the log's place, at the end up to which
// the log was copied: what the owner says next is about that file. The owner may be gone by then: then a client takes it over.

const fs = require('fs')
const { promisify } = require('util')
const layout = require('../format/layout')
const { endOfRecords } = require('../format/validation')
const { Block } = require('../format/block')
const { applyPatches } = require('../format/deletions')
const { ownPatches } = require('../recovery/own-patches')
const { generationOf, readOwn, readPoint } = require('../recovery/recovery-point')
const { ioOf } = require('../space/follow-compaction')
const { OffsetMap } = require('../space/offset-map')

const open = promisify(fs.open)

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
  let lastSeq = -1
  try {
    map = await OffsetMap.open(path, generationOf((await readOwn(ioOf(sharing.io, fd)))?.metadata).id)
    if (map === null || map.previousId !== sharing.id) throw replaced
    const tail = await readTail(ioOf(sharing.io, fd), map.end, blocks.blockSize, replaced)
    lastSeq = lastSeqOf(map, tail, blocks.blockSize)
    await clientEnd.stop()
    // in a turn of its own: the read that has just ended may have answered callers, whose promises have not run on
    await new Promise(resolve => setImmediate(resolve))
    if (sharing.isClosed) throw replaced
    moveTo(fd, map.base)
    blocks.moveTo(tail, map.base, map.base)
  } catch (err) {
    map?.close()
    fs.closeSync(fd)
    clientEnd.resume()
    throw err
  }
  sharing.moved(map, lastSeq)
}

/**
 * @param {OffsetMap} map
 * @param {Block} tail in which the log ended when it was copied
 * @param {number} blockSize
 * @returns {number} of its last record, to which the map does not lead if it is deleted
 */
function lastSeqOf (map, { number, buffer, end }, blockSize) {
  if (end > 0) return number * blockSize + layout.previousPosition(buffer, end)
  return map.pages === 0 ? map.base : map.down(Infinity)
}

/**
 * @param {import('../storage/promisified-file').Io} io of the log
 * @param {number} end of the log when it was copied
 * @param {number} blockSize
 * @param {Error} replaced what to throw if the file is shorter
 * @returns {Promise<Block>} in which it ended then; without records if they are gone since, because that block was trimmed or became a
 *   hole: the owner is about to tell where the log ends now
 */
async function readTail (io, end, blockSize, replaced) {
  const position = end % blockSize
  const start = end - position
  const block = new Block(start / blockSize, Buffer.allocUnsafeSlow(blockSize), 0, false)
  for (;;) {
    const point = await readPoint(io)
    const size = await io.size()
    if (size < end) throw replaced
    const { patches } = ownPatches(point, blockSize)
    const bytes = applyPatches(await io.read(start, position), start, patches)
    // otherwise, it may have been read in the middle of a deletion
    if ((await readPoint(io))?.id !== point?.id) continue
    bytes.copy(block.buffer)
    if (endOfRecords(bytes, 0, position) === position) block.end = position
    return block
  }
}

module.exports = { followCompaction }
