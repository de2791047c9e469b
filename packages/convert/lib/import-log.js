'use strict'

// Imports the file of another log, or of lines, into a new log. The old file is only read. Records are appended to a log under a temporary
// name, which is read back and gets its name at the end. Nothing of an import that was interrupted is used: the next one removes it.

const fs = require('fs')
const path = require('path')
const { chunk, layout, files } = require('flumelog-random-access-file/blocks')
const errors = require('./errors')
const { open } = require('flumelog-random-access-file/promises')
const { Digest } = require('./digest')
const { FORMATS, formatOf } = require('./formats')
const { SUFFIX, entryBytes, headerLine } = require('./import-map')
const { NewLog } = require('./new-log')
const { OldFile } = require('./old-file')
const { viewsBeside } = require('./old-indexes')

const UNFINISHED = '.importing'
const SKIPPED_SUFFIX = '.skipped'
/** Of files beside the new log that an import makes. */
const SUFFIXES = [SUFFIX, SKIPPED_SUFFIX]
/** Bytes of a record that is copied to the file of skipped ones. */
const MAX_COPIED = 64 * 1024 * 1024
/** Bytes that are read between two reports of progress. */
const PROGRESS_STEP = 1024 * 1024
/** Data of deleted records. */
const ZEROS = Buffer.alloc(layout.MAX_BLOCK_SIZE)

/**
 * @typedef {object} Imported
 * @property {import('./formats').Format} format of the old file
 * @property {string} file name of the new log
 * @property {number} size of the new log in bytes
 * @property {number} digest CRC-32 of the lengths and data of all records of the log, in order; it was the same when they were read from the
 *   old file and when they were read back
 * @property {number} records that were imported, deleted ones not counted
 * @property {number} bytes of data in these
 * @property {number} large how many of these do not fit into a block, and are stored in chunks
 * @property {number} deleted records in the old file
 * @property {number} skipped records that cannot be stored
 * @property {number} corrupt bytes of the old file in which no records were found, torn ones at its end not counted
 * @property {import('./reader').Torn | null} torn what an interrupted write has left at the end of the old file; it is not imported
 * @property {string | null} map name of the file by which `openImportMap` finds records by their old offsets; null for CSV
 * @property {string | null} skippedFile name of the file with what was skipped; null: nothing was
 *
 * @typedef {object} Settings
 * @property {string} [from]
 * @property {boolean} keepDeleted
 * @property {boolean} skip
 * @property {boolean} large
 * @property {boolean} keepIndexes
 * @property {number} blockSize of the new log
 * @property {number} [oldBlockSize] of a file of async-append-only-log, if it is not a usual one
 *
 * @typedef {import('flumelog-random-access-file/blocks').Work} Work
 * @typedef {{ format: import('./formats').Format, blockSize: number }} Found
 */

/**
 * @param {string} source
 * @param {string} given the new log, as the caller gave it
 * @param {Settings} settings
 * @param {Work} work
 * @returns {Promise<Imported>}
 */
async function importLog (source, given, settings, work) {
  work.throwIfStopped()
  // resolved now: the process may change its directory meanwhile
  const target = path.resolve(given)
  const unfinished = target + UNFINISHED
  const old = await OldFile.open(source)
  try {
    const found = await formatOf(old, settings.from, settings.oldBlockSize)
    if (found.format === 'async-append-only-log' && fs.existsSync(`${source}.compaction`)) throw errors.unfinishedCompaction(source)
    if (fs.existsSync(unfinished)) await removeInterrupted(unfinished, target, given)
    allMustBeFree(target, given)
    const folders = files.createFolders(path.dirname(target))
    try {
      // only this user can read it until it is complete
      fs.closeSync(fs.openSync(unfinished, 'a', 0o600))
      const imported = await Import.run(old, found, unfinished, given, settings, work)
      await finish(imported, old.filename, unfinished, target, given, settings, work)
      return imported
    } catch (err) {
      if (/** @type {any} */ (err)?.code === 'flumelog:locked') throw errors.beingImported(given)
      removeAll(unfinished)
      // those in which something is stay
      for (const folder of folders) await fs.promises.rmdir(folder).catch(() => {})
      throw err
    }
  } finally {
    await old.close()
  }
}

/**
 * @param {string} unfinished
 * @param {string} target
 * @param {string} given
 * @throws flumelog:locked if another process is making it
 */
async function removeInterrupted (unfinished, target, given) {
  const lock = await lockFile(unfinished, given)
  try {
    removeAll(unfinished)
    // they get their names before the log does
    if (!fs.existsSync(target)) for (const suffix of SUFFIXES) fs.rmSync(target + suffix, { force: true })
  } finally {
    await lock.close()
  }
}

/**
 * @param {string} file
 * @param {string} given
 */
async function lockFile (file, given) {
  return await files.lockFile(file).catch(err => { throw err.code === 'flumelog:locked' ? errors.beingImported(given) : err })
}

/** @param {string} unfinished */
function removeAll (unfinished) {
  // the log last: as long as it is there, the others are removed by the next import
  for (const suffix of SUFFIXES) fs.rmSync(unfinished + suffix, { force: true })
  files.removeFile(unfinished)
}

class Import {
  /**
   * @param {OldFile} old
   * @param {Found} found
   * @param {string} unfinished
   * @param {string} given
   * @param {Settings} settings
   * @param {Work} work
   * @returns {Promise<Imported>} once all is durable
   */
  static async run (old, found, unfinished, given, settings, work) {
    const { frame } = FORMATS[found.format]
    const hasMap = frame > 0
    const views = settings.keepIndexes ? [] : viewsBeside(unfinished)
    // between two entries of the map, offsets grow by the frames of the old file
    if (views.length > 0 && frame !== layout.FRAME_SIZE) throw errors.oldViews(given, views)
    /** @type {import('./import-map').Entry[]} */
    const entries = []
    const log = await NewLog.open(unfinished, settings, frame, (old, seq) => {
      if (views.length > 0 && old !== seq) throw errors.oldViews(given, views)
      if (hasMap) entries.push({ old, seq })
    })
    return await new Import(old, found, log, entries, unfinished, given, settings).run(work)
  }

  /**
   * @param {OldFile} old
   * @param {Found} found
   * @param {NewLog} log
   * @param {import('./import-map').Entry[]} entries of the map, which the log adds
   * @param {string} unfinished
   * @param {string} given
   * @param {Settings} settings
   */
  constructor (old, { format, blockSize }, log, entries, unfinished, given, settings) {
    this.old = old
    this.format = format
    this.oldBlockSize = blockSize
    this.unfinished = unfinished
    this.settings = settings
    this.log = log
    this.hasMap = FORMATS[format].frame > 0
    /** Whether records may be chunks of large ones, which are copied as they are. */
    this.hasChunks = format === 'flumelog-aligned-offset' && !settings.large
    /** Whether the record before was deleted, and left out. */
    this.isBehindDeleted = false
    /** Entries of the map that are not written yet. */
    this.entries = entries
    /** Lines of the file of skipped records that are not written yet. @type {string[]} */
    this.lines = []
    /** @type {Imported} */
    this.imported = {
      format,
      file: given,
      size: 0,
      digest: 0,
      records: 0,
      bytes: 0,
      large: 0,
      deleted: 0,
      skipped: 0,
      corrupt: 0,
      torn: null,
      map: this.hasMap ? given + SUFFIX : null,
      skippedFile: null
    }
  }

  /**
   * @param {Work} work
   * @returns {Promise<Imported>} once all is durable
   */
  async run (work) {
    const { log, imported } = this
    /** @type {fs.promises.FileHandle[]} */
    const files = []
    try {
      for (const suffix of SUFFIXES) files.push(await fs.promises.open(this.unfinished + suffix, 'w', 0o600))
      const [map, skipped] = files
      if (this.hasMap) await map.writeFile(headerLine({ from: this.format, frame: FORMATS[this.format].frame, blockSize: this.settings.blockSize }))
      await this.addAll(map, skipped, work.begin('import'))
      await log.finish()
      for (const file of files) await file.sync()
      imported.size = log.end
      imported.digest = log.digest.value()
      imported.large = log.largeRecords
    } finally {
      await log.stop()
      for (const file of files) await file.close()
    }
    if (!this.hasMap) await fs.promises.unlink(this.unfinished + SUFFIX)
    if (imported.skippedFile === null) await fs.promises.unlink(this.unfinished + SKIPPED_SUFFIX)
    return imported
  }

  /**
   * @param {fs.promises.FileHandle} map
   * @param {fs.promises.FileHandle} skipped
   * @param {(bytes: number, total: number) => void} onprogress
   */
  async addAll (map, skipped, onprogress) {
    const { old, oldBlockSize, settings } = this
    let reported = -Infinity
    // a log that was trimmed starts with a hole
    let start = 0
    for await (const items of await FORMATS[this.format].read(old, { blockSize: oldBlockSize, large: settings.large })) {
      if (reported === -Infinity) {
        start = items[0]?.offset ?? 0
        onprogress(reported = 0, old.size - start)
      }
      for (const item of items) {
        const adding = this.add(item)
        if (adding !== null) await adding
      }
      if (this.lines.length > 0) await skipped.writeFile(this.lines.splice(0).join(''))
      const { offset } = items[items.length - 1] ?? { offset: 0 }
      if (offset - reported < PROGRESS_STEP) continue
      reported = offset
      onprogress(offset - start, old.size - start)
      await map.writeFile(entryBytes(this.entries.splice(0)))
    }
    await map.writeFile(entryBytes(this.entries.splice(0)))
    onprogress(old.size - start, old.size - start)
  }

  /**
   * @param {import('./reader').Item} item
   * @returns {Promise<void> | null} null: the next one can be added at once
   */
  add (item) {
    const { log, imported } = this
    const { offset, size, data, isDeleted } = item
    if (item.torn !== undefined) imported.torn = { offset, bytes: size, reason: item.torn }
    if (item.torn !== undefined || item.corrupt !== undefined || item.problem !== undefined || (!isDeleted && (size === 0 || size > log.mostInAll))) return this.leaveOut(item)
    if (isDeleted) {
      imported.deleted++
      this.isBehindDeleted = !this.settings.keepDeleted
      // of a record that is too large nothing but a mark can be kept
      return this.settings.keepDeleted ? log.add(ZEROS.subarray(0, Math.min(size, log.most)), offset) : null
    }
    if (this.isBehindDeleted) this.keepTorn(data, offset)
    imported.records++
    imported.bytes += size
    return log.add(data, offset)
  }

  /**
   * If the deletion of a large record was interrupted, some of its chunks are left. It is deleted for as long as a deleted record is among them.
   * @param {Buffer} data
   * @param {number} offset
   */
  keepTorn (data, offset) {
    this.isBehindDeleted = false
    if (!this.hasChunks || !chunk.isContinuation(data, 0, data.length)) return
    this.log.add(ZEROS.subarray(0, 1), offset)
    this.log.expected = -1
  }

  /**
   * @param {import('./reader').Item} item
   * @returns {null}
   */
  leaveOut ({ offset, size, data, problem, corrupt, torn }) {
    const { imported, log, old, settings } = this
    if (torn !== undefined) return null
    if (corrupt !== undefined) {
      if (!settings.skip) throw errors.corruptOldFile(old.filename, offset, offset + size, corrupt)
      imported.corrupt += size
      this.lines.push(JSON.stringify({ offset, reason: `corrupt: ${corrupt}`, bytes: size }) + '\n')
    } else {
      if (!settings.skip) throw errors.cannotImport(old.filename, offset, size, log.mostInAll, settings.blockSize, problem ?? '', settings.large)
      imported.skipped++
      const reason = problem ?? (size === 0 ? 'empty' : `larger than ${log.mostInAll} bytes`)
      this.lines.push(JSON.stringify({ offset, reason, ...(size > MAX_COPIED ? { bytes: size } : { base64: data.toString('base64') }) }) + '\n')
    }
    imported.skippedFile = imported.file + SKIPPED_SUFFIX
    return null
  }
}

/**
 * Verifies the log, and gives it its name, while no other process can change it.
 * @param {Imported} imported
 * @param {string} original whose permissions the log gets
 * @param {string} unfinished
 * @param {string} target
 * @param {string} given
 * @param {Settings} settings
 * @param {Work} work
 */
async function finish (imported, original, unfinished, target, given, settings, work) {
  const lock = await lockFile(unfinished, given)
  try {
    await mustBeAsRead(imported, unfinished, settings, work)
    work.throwIfStopped()
    const like = await fs.promises.stat(original)
    allMustBeFree(target, given)
    const beside = SUFFIXES.filter(suffix => fs.existsSync(unfinished + suffix))
    for (const suffix of beside) {
      files.inheritMode(unfinished + suffix, like)
      await fs.promises.rename(unfinished + suffix, target + suffix)
    }
    // last: the log is what others wait for
    await files.placeFile(unfinished, target, { given, like }).catch((err) => {
      for (const suffix of beside) fs.rmSync(target + suffix, { force: true })
      throw err
    })
  } finally {
    await lock.close()
  }
}

/**
 * @param {Imported} imported
 * @param {string} unfinished
 * @param {Settings} settings
 * @param {Work} work
 * @throws flumelog:corrupt
 */
async function mustBeAsRead ({ records, bytes, size, digest }, unfinished, { large }, work) {
  const onprogress = work.begin('check')
  onprogress(0, size)
  const { size: found } = await fs.promises.stat(unfinished)
  if (found !== size) throw errors.copyDiffers(unfinished)
  const log = await open(unfinished, { readOnly: true, large, cacheSize: 0, blocking: false })
  const check = new Digest()
  const counted = { records: 0, bytes: 0 }
  let reported = 0
  try {
    await log.scan({ deleted: true, cache: false, reuse: true }, (block, start, end, seq) => {
      check.add(block === null ? ZEROS.subarray(0, end - start) : layout.view(block.buffer, block.byteOffset + start, end - start))
      if (block !== null) {
        counted.records++
        counted.bytes += end - start
      }
      if (seq - reported < PROGRESS_STEP) return
      reported = seq
      onprogress(seq, size)
    }).catch((err) => {
      work.throwIfStopped()
      throw err
    })
  } finally {
    await log.close()
  }
  if (counted.records !== records || counted.bytes !== bytes || check.value() !== digest) throw errors.copyDiffers(unfinished)
  onprogress(size, size)
}

/**
 * @param {string} target
 * @param {string} given
 * @throws EEXIST
 */
function allMustBeFree (target, given) {
  files.assertAbsent(target, given)
  for (const suffix of SUFFIXES) if (fs.existsSync(target + suffix)) throw errors.existsBeside(given, suffix)
}

module.exports = { importLog }
