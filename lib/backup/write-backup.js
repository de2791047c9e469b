'use strict'

// Copies all of a log to a file with a temporary name, which gets its own when it is complete and durable.

const fs = require('fs')
const path = require('path')
const errors = require('../errors')
const { holeOf } = require('../format/hole')
const { copyMap, removeMap } = require('../maintenance/copy-map')
const { ALL_SUFFIXES } = require('../maintenance/beside')
const { finishAs, linkNew } = require('../maintenance/repaired-files')
const { onAbort } = require('../signal')
const { punchHead } = require('../recovery/punch-head')
const { inheritMode } = require('../storage/inherit')
const { nullIfMissing, syncFolder } = require('../storage/directory')
const { pathFile } = require('../storage/path-file')
const { promises } = require('../storage/promisified-file')
const { BlockWriter } = require('./block-writer')
const { cloneLog, completeClone } = require('./clone')
const { CLONE, UNFINISHED } = require('./earlier-backup')

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
 * @returns {Promise<import('./backup').BackedUp>}
 */
async function writeBackup (source, name, target, earlier, work) {
  // by the thread pool: one piece is written while the next one is read
  const file = pathFile(name + UNFINISHED, { readOnly: false, lock: true, blocking: false })
  const { path: unfinished = '', newFolders = [] } = file.location ?? {}
  const clone = unfinished + CLONE
  const io = promises(file)
  const remove = () => { for (const left of [unfinished, clone]) fs.rmSync(left, { force: true }) }
  let stopListening = () => {}
  try {
    // not readable by others until it has the mode of the log
    await (await fs.promises.open(unfinished, 'a', 0o600)).close()
    await io.open().catch((err) => { throw err.code === 'flumelog:locked' ? errors.backupInUse(target) : err })
    try {
      // at once: a process that is interrupted does not wait for the disk
      stopListening = onAbort(work.signal, remove)
      await io.truncate(0)
      const cloned = await writeClone(source, clone, work)
      const copied = cloned ?? await copyBlocks(source, file, io, work)
      const written = cloned === null ? unfinished : clone
      await shareAs(source, written)
      work.mustGoOn()
      stopListening()
      await finish(source, written, name, target, earlier)
      if (cloned !== null) remove()
      return { bytes: source.end - source.start, start: source.start, copied, deleted: 0, trimmed: 0, incremental: false }
    } catch (err) {
      remove()
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
 * @param {string} name of the clone
 * @param {Work} work
 * @returns {Promise<number | null>} bytes that were written into it, and are durable; null: files cannot be cloned here
 */
async function writeClone (source, name, work) {
  // left by a backup that was killed
  fs.rmSync(name, { force: true })
  const changing = new Set(source.blocks.overrides.keys())
  if (!await cloneLog(source, name)) return null
  const io = promises(pathFile(name, { readOnly: false, lock: false }))
  await io.open()
  try {
    return await completeClone(source, io, changing, work.begin('copy'))
  } finally {
    await io.close()
  }
}

/**
 * @param {SourceLog} source
 * @param {import('../storage/path-file').LogFile} file
 * @param {import('../storage/promisified-file').Io} io of the same file
 * @param {Work} work
 * @returns {Promise<number>} bytes that were written, and are durable
 */
async function copyBlocks (source, file, io, work) {
  const { blockSize, start, end } = source
  const onprogress = work.begin('copy')
  const writer = new BlockWriter(file)
  try {
    // what is before its start is never written, so it takes no space
    if (start > 0) await io.write(0, holeOf(blockSize, true))
    for await (const piece of source.pieces(start)) {
      await writer.write(piece)
      onprogress(Math.min(end, piece.offset + piece.blocks.length * blockSize) - start, end - start)
    }
    // it was trimmed meanwhile, perhaps before all of that was read
    if (source.start > start) await punchHead(io, start, source.start, blockSize)
    await writer.finish()
    return writer.written
  } finally {
    await writer.syncing
  }
}

/**
 * @param {SourceLog} source
 * @param {string} written complete and durable
 * @param {string} name
 * @param {string} target
 * @param {import('./earlier-backup').EarlierBackup | null} earlier
 */
async function finish ({ file }, written, name, target, earlier) {
  if (file.location !== null) await copyMap(file.location.path, earlier?.path ?? name)
  if (earlier !== null) return replace(written, earlier)
  try {
    await finishAs(written, () => linkNew(written, name, target))
  } catch (err) {
    await removeMap(name)
    throw err
  }
}

/**
 * Who can read the log can read its backup.
 * @param {SourceLog} source
 * @param {string} unfinished
 */
async function shareAs ({ file }, unfinished) {
  if (file.location === null) return
  await inheritMode(unfinished, file.status())
}

/**
 * @param {string} unfinished
 * @param {import('./earlier-backup').EarlierBackup} earlier
 */
async function replace (unfinished, earlier) {
  const { path: name } = earlier
  // it is valid without the files beside it then
  await earlier.settle()
  for (const suffix of ALL_SUFFIXES) await fs.promises.unlink(name + suffix).catch(nullIfMissing)
  await syncFolder(path.dirname(name))
  await fs.promises.rename(unfinished, name)
  await syncFolder(path.dirname(name))
}

module.exports = { writeBackup }
