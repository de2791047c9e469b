'use strict'

// Copies all of a log to a file with a temporary name, which gets its own when it is complete and durable.

const { holeOf } = require('../format/hole')
const { assertAbsent, writeUnfinished } = require('../maintenance/new-log')
const { originOf, placeLog, replaceLog } = require('../maintenance/replace-log')
const { punchHead } = require('../recovery/free-blocks')
const { inheritMode } = require('../storage/inherit')
const { copyBlocks } = require('./copy-blocks')

/**
 * @typedef {import('./source-log').SourceLog} SourceLog
 * @typedef {import('../maintenance/new-log').Work} Work
 */

/**
 * @param {SourceLog} source
 * @param {string} name absolute
 * @param {string} target the same as the caller gave it
 * @param {import('./earlier-backup').EarlierBackup | null} earlier which is replaced, locked; null: there is none
 * @param {Work} work
 * @returns {Promise<import('./types').BackedUp>}
 */
function makeFullBackup (source, name, target, earlier, work) {
  return writeUnfinished(name, target, work, async (file, unfinished) => {
    const copied = await copyAll(source, file, work)
    // who can read the log can read its backup; some file systems have no modes
    inheritMode(unfinished, source.status)
    return copied
  }, async (copied, unfinished) => {
    const origin = await originOf(source.file.io, source.file.location.path, source.blockSize)
    // compacted since it was copied: another id, and a map, are true of the log now
    if (origin.base !== source.base) throw source.blocks.trimmedAt(source.start)
    if (earlier === null) {
      assertAbsent(name, target)
      await placeLog(name, unfinished, target, origin)
    } else {
      // it is valid without the files beside it then
      await earlier.recover()
      await replaceLog(earlier.io, name, origin)
    }
    return { bytes: source.end - source.start, start: source.start, copied, incremental: false }
  })
}

/**
 * @param {SourceLog} source
 * @param {import('../storage/path-file').LogFile} file
 * @param {Work} work
 * @returns {Promise<number>} bytes that were written, and are durable
 */
async function copyAll (source, file, work) {
  const { blockSize, start, end } = source
  const { io } = file
  const onprogress = work.begin('copy')
  // what is before its start is never written, so it takes no space
  if (start > 0) await io.write(0, holeOf(blockSize, true))
  const copied = await copyBlocks(source.pieces(start), file, (done) => onprogress(done - start, end - start))
  // it was trimmed meanwhile, perhaps before all of that was read
  if (source.start > start) {
    await punchHead(io, start, source.start, blockSize)
    await io.sync()
  }
  return copied
}

module.exports = { makeFullBackup }
