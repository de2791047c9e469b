'use strict'

// The end of a compaction: the new file takes the log's place, while the writer writes nothing.
// Killed after any of these steps, the next opening finds the log as it was, or compacted:
//
//     1  the log's file has all that is acknowledged and deleted, fsynced   as it was
//     2  the rest is copied, the new file and its map are fsynced           as it was
//     3  the directory is fsynced, which has both                          as it was
//     4  FILE.meta says what is true of the new file once that is the log   as it was
//     5  the new file is renamed to the log's name                          compacted
//     6  the directory is fsynced                                           compacted
//     7  FILE.meta says what is true of this file only                      compacted
//     8  the map gets its name                                              compacted
//
// Until 6, a power cut can bring the log before it back: FILE.meta has to tell of both. With 7, all that is in memory moves to the new file
// in one step, and the writer goes on.

const fs = require('fs')
const errors = require('../errors')
const { promised } = require('../callbacks')
const { tieAt } = require('../recovery/belonging')
const { readAt } = require('../storage/buffers')
const { syncFolder } = require('../storage/directory')
const { settleFile } = require('../write/closing')
const { MovingTail } = require('./moving-tail')
const { namesOf } = require('./unfinished-files')

/**
 * @param {import('./compaction').Compaction} compaction
 * @returns {Promise<import('./compaction').Compacted | null>} null: so much was appended that offsets are in use which the new file has
 */
async function switchOver (compaction) {
  compaction.throwIfStopped()
  return compaction.writer.acknowledged > compaction.base ? null : copyAndMove(compaction)
}

/**
 * @param {import('./compaction').Compaction} compaction
 * @returns {Promise<import('./compaction').Compacted>}
 */
async function copyAndMove (compaction) {
  const { writer, blocks, target } = compaction
  const before = blocks.end - blocks.start
  await settleFile(writer)
  await promised(cb => writer.durability.confirmPath(cb))
  await compaction.catchUp()
  const tail = new MovingTail(writer, target)
  try {
    await rename(compaction, tail, await compaction.sync())
  } catch (err) {
    if (!compaction.isSwitched) tail.stay()
    throw err
  }
  const { records, deleted } = target
  return { id: compaction.map.ids.id, before, after: blocks.end - blocks.start, records, deleted, start: blocks.start }
}

/**
 * @param {import('./compaction').Compaction} compaction
 * @param {MovingTail} tail
 * @param {import('./offset-map').OffsetMap} offsetMap
 */
async function rename (compaction, tail, offsetMap) {
  const { base, file, target, writer, blocks: { blockSize } } = compaction
  const { path, folder } = file.location
  const { unfinished } = namesOf(path)
  offsetMap.load()
  await syncFolder(folder)
  const start = startOf(compaction, offsetMap)
  const tie = await tieAt((offset, size) => readAt(target.fd, target.filename, offset, size), target.end, blockSize, [])
  await writer.metadata.handOver({ end: target.end, tie, start, freed: base, blockSize, id: offsetMap.id, base }, async () => {
    fs.renameSync(unfinished, path)
    compaction.isSwitched = true
    try {
      await syncFolder(folder)
    } catch (err) {
      // the writer has the file open that was the log, and nobody knows which one will be
      compaction.closeFiles()
      writer.durability.fail(errors.failed(path, err))
      throw err
    }
    move(compaction, tail, offsetMap, start)
  })
}

/**
 * Blocks that were trimmed meanwhile may have been copied before; the one with the last record stays.
 * @param {import('./compaction').Compaction} compaction
 * @param {import('./offset-map').OffsetMap} map
 * @returns {number} where the log starts in the new file
 */
function startOf ({ base, target, blocks: { start, blockSize } }, map) {
  const first = Math.min(map.up(start), target.lastSeq)
  return Math.max(base, first - first % blockSize)
}

/**
 * Readers and the writer go on in the new file.
 * @param {import('./compaction').Compaction} compaction
 * @param {MovingTail} tail
 * @param {import('./offset-map').OffsetMap} map
 * @param {number} start where the log starts in there
 */
function move (compaction, tail, map, start) {
  const { writer, file, blocks, base, target, compacting } = compaction
  file.moveTo(target.fd, base)
  const before = writer.acknowledged
  const block = tail.move()
  writer.clients.move(tail.distance)
  blocks.moveTo(block, start, map)
  // a call without records may end where the next block was to start; the log never ends before what was copied
  writer.moveTo(target, map, tail.distance, (offset) => offset <= before ? target.end : Math.max(target.end, Math.min(offset + tail.distance, writer.packer.end)))
  compacting.moved(map, target.lastSeq)
  map.unload()
}

module.exports = { switchOver }
