'use strict'

// Copies all of a log to a file with a temporary name, which gets its own when it is complete and durable.

const fs = require('fs')
const { promisify } = require('util')
const errors = require('../errors')
const { holeOf } = require('../format/hole')
const { finishAs, linkNew } = require('../maintenance/repaired-files')
const { originOf, putBeside, removeBeside, replaceLog } = require('../maintenance/replace-log')
const { punchHead } = require('../recovery/punch-head')
const { onAbort } = require('../signal')
const { UNFINISHED, removeUnfinished } = require('../space/unfinished-files')
const { inheritMode } = require('../storage/inherit')
const { pathFile } = require('../storage/path-file')
const { promises } = require('../storage/promisified-file')
const { copyBlocks } = require('./copy-blocks')

/**
 * @typedef {import('./source-log').SourceLog} SourceLog
 * @typedef {ReturnType<ReturnType<import('../maintenance/work').workFor>>} Work
 */

/**
 * @param {SourceLog} source
 * @param {string} name absolute
 * @param {string} target the same as the caller gave it
 * @param {import('./earlier-backup').EarlierBackup | null} earlier which is replaced, locked; null: there is none
 * @param {Work} work
 * @returns {Promise<import('./types').BackedUp>}
 */
async function makeFullBackup (source, name, target, earlier, work) {
  // by the thread pool: one piece is written while the next one is read
  const file = pathFile(name + UNFINISHED, { readOnly: false, lock: true, blocking: false })
  const { path: unfinished = '', newFolders = [] } = file.location ?? {}
  const io = promises(file)
  let stopListening = () => {}
  try {
    // not readable by others until it has the mode of the log
    await (await fs.promises.open(unfinished, 'a', 0o600)).close()
    await io.open().catch((err) => { throw err.code === 'flumelog:locked' ? errors.backupInUse(target) : err })
    try {
      // at once: a process that is interrupted does not wait for the disk
      stopListening = onAbort(work.signal, () => fs.rmSync(unfinished, { force: true }))
      await io.truncate(0)
      const copied = await copyAll(source, file, work)
      // who can read the log can read its backup; some file systems have no modes
      if (source.status !== null) inheritMode(unfinished, source.status)
      work.mustGoOn()
      stopListening()
      await takeName(source, unfinished, name, target, earlier)
      return { bytes: source.end - source.start, start: source.start, copied, deleted: 0, trimmed: 0, incremental: false }
    } catch (err) {
      await removeUnfinished(name)
      // when the file is gone, that fails first
      work.mustGoOn()
      throw err
    } finally {
      stopListening()
      await io.close()
    }
  } catch (err) {
    // those in which another process has put something meanwhile stay
    for (const folder of newFolders) await fs.promises.rmdir(folder).catch(() => {})
    throw err
  }
}

/**
 * @param {SourceLog} source
 * @param {import('../storage/path-file').LogFile} file
 * @param {Work} work
 * @returns {Promise<number>} bytes that were written, and are durable
 */
async function copyAll (source, file, work) {
  const { blockSize, start, end } = source
  const io = promises(file)
  const onprogress = work.begin('copy')
  // what is before its start is never written, so it takes no space
  if (start > 0) await io.write(0, holeOf(blockSize, true))
  const copied = await copyBlocks(source.pieces(start), file, (done) => onprogress(done - start, end - start))
  // it was trimmed meanwhile, perhaps before all of that was read
  if (source.start > start) {
    await punchHead(io, start, source.start, blockSize)
    await promisify(file.sync)()
  }
  return copied
}

/**
 * @param {SourceLog} source
 * @param {string} unfinished complete and durable
 * @param {string} name
 * @param {string} target
 * @param {import('./earlier-backup').EarlierBackup | null} earlier
 */
async function takeName (source, unfinished, name, target, earlier) {
  const origin = await originOf(promises(source.file), source.file.location?.path ?? null, source.blockSize)
  // compacted since it was copied: another id, and a map, are true of the log now
  if (origin.base !== source.base) throw source.blocks.trimmedAt(source.start)
  if (earlier !== null) {
    // it is valid without the files beside it then
    await earlier.recover()
    return replaceLog(name, origin)
  }
  await putBeside(name, unfinished, origin)
  try {
    await finishAs(unfinished, () => linkNew(unfinished, name, target))
  } catch (err) {
    await removeBeside(name)
    throw err
  }
}

module.exports = { makeFullBackup }
