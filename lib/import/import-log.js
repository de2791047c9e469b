'use strict'

// Imports the file of another log, or of lines, into a new log. The old file is only read. Records are copied under a temporary name,
// with a state that becomes durable every 32 MiB; the new log is read back, and gets its name at the end.

const fs = require('fs')
const path = require('path')
const errors = require('../errors')
const { crc32 } = require('../format/crc32')
const { inheritMode } = require('../storage/inherit')
const { createFolders } = require('../storage/directory')
const { pathFile } = require('../storage/path-file')
const { promises } = require('../storage/promisified-file')
const { mustBeFree } = require('../maintenance/beside')
const { FORMATS, formatOf } = require('./formats')
const { Importer } = require('./importer')
const { MapWriter, SUFFIX } = require('./map-file')
const { OldFile } = require('./old-file')
const { PackedLog } = require('./packed-log')
const { MEMORY_SIZE } = require('./piece-reader')
const { ReadBack } = require('./read-back')
const { SideFile } = require('./side-file')
const { Unfinished, SKIPPED_SUFFIX } = require('./import-files')

/** Bytes of the new log after which the state is written again. */
const STATE_INTERVAL = 32 * 1024 * 1024

/**
 * @typedef {import('./import-files').Snapshot} Snapshot
 * @typedef {import('./importer').ImportCounts} ImportCounts
 *
 * @typedef {object} ImportOnlyResult
 * @property {import('./formats').Format} format of the old file
 * @property {string} file name of the new log
 * @property {number} size of the new log in bytes
 * @property {number} digest CRC-32 of the lengths and data of all records of the log, in order; it was the same when they were read from the
 *   old file and when they were read back
 * @property {import('./record-reader').Torn | null} torn what an interrupted write has left at the end of the old file; it is not imported
 * @property {string | null} map name of the file by which `openImportMap` finds records by their old offsets; null for CSV
 * @property {string | null} skippedFile name of the file with what was skipped; null: nothing was
 * @property {number} continued bytes of the old file that an import which was interrupted had done
 * @typedef {ImportOnlyResult & ImportCounts} Imported
 *
 * @typedef {object} Settings
 * @property {string} [from]
 * @property {boolean} keepDeleted
 * @property {boolean} skip
 * @property {boolean} large
 * @property {number} blockSize of the new log
 * @property {number} [oldBlockSize] of a file of async-append-only-log, if it is not a usual one
 * @property {number} [stateInterval] for tests
 */

/**
 * @param {string} source
 * @param {string} given the new log, as the caller gave it
 * @param {Settings} settings
 * @param {import('../maintenance/work').Work} work
 * @returns {Promise<Imported>}
 */
async function importLog (source, given, settings, work) {
  work.mustGoOn()
  // resolved now: the process may change its directory meanwhile
  const target = path.resolve(given)
  const old = await OldFile.open(source)
  try {
    const found = await formatOf(old, settings.from, settings.oldBlockSize)
    if (found.format === 'async-append-only-log' && fs.existsSync(`${source}.compaction`)) throw errors.unfinishedCompaction(source)
    const unfinished = new Unfinished(target)
    if (!fs.existsSync(unfinished.state)) allMustBeFree(target, given)
    const folders = createFolders(path.dirname(target))
    try {
      return await new Import(old, found, unfinished, given, settings, work).run()
    } catch (err) {
      // those in which something is stay
      for (const folder of folders) await fs.promises.rmdir(folder).catch(() => {})
      throw err
    }
  } finally {
    await old.close()
  }
}

class Import {
  /**
   * @param {OldFile} old
   * @param {{ format: import('./formats').Format, blockSize: number }} found
   * @param {Unfinished} unfinished
   * @param {string} given
   * @param {Settings} settings
   * @param {import('../maintenance/work').Work} work
   */
  constructor (old, found, unfinished, given, settings, work) {
    this.old = old
    this.found = found
    this.unfinished = unfinished
    this.given = given
    this.settings = settings
    this.work = work
    const { blockSize, keepDeleted, large } = settings
    this.identity = JSON.stringify([old.identity, found.format, found.blockSize, blockSize, keepDeleted, large])
    /** Up to where the new log is durable. */
    this.saved = 0
    this.saving = Promise.resolve()
    /** @type {ReadBack | null} */
    this.readBack = null
    /** @type {unknown} */
    this.failure = null
  }

  /** @returns {Promise<Imported>} */
  async run () {
    const { unfinished, given } = this
    const io = promises(pathFile(unfinished.log, { readOnly: false, lock: true, blocking: false }))
    const before = unfinished.readState()
    if (before !== null && before.settings === this.identity && before.finished !== null && await this.isFinished(before.finished)) {
      return /** @type {Imported} */ (before.finished.result)
    }
    allMustBeFree(unfinished.target, given)
    if (!fs.existsSync(unfinished.log)) fs.closeSync(fs.openSync(unfinished.log, 'wx', 0o600))
    await io.open().catch(err => { throw err.code === 'flumelog:locked' ? errors.beingImported(given) : err })
    try {
      const snapshot = before?.settings === this.identity && before.snapshot && unfinished.has(before.snapshot) ? before.snapshot : null
      // of another import, whose files are overwritten now
      if (snapshot === null) fs.rmSync(unfinished.state, { force: true })
      const result = await this.copy(io, snapshot)
      this.work.mustGoOn()
      const old = await fs.promises.stat(this.old.filename)
      for (const name of [unfinished.log, unfinished.map, unfinished.skipped]) if (fs.existsSync(name)) await inheritMode(name, old)
      await unfinished.writeState({ settings: this.identity, snapshot: null, finished: { end: await endOf(unfinished.log), result } })
      await unfinished.finish(() => mustBeFree(unfinished.target, given))
      return result
    } catch (err) {
      // there is nothing to continue with, or nothing of it can be relied on
      if (this.readBack?.differs || !fs.existsSync(unfinished.state)) unfinished.remove()
      throw err
    } finally {
      await io.close()
    }
  }

  /**
   * @param {{ end: string }} finished
   * @returns {Promise<boolean>} whether the log has its name now
   */
  async isFinished ({ end }) {
    const { unfinished, given } = this
    const named = fs.existsSync(unfinished.log) ? unfinished.log : unfinished.target
    // another log may have got the name since
    if (!fs.existsSync(named) || await endOf(named) !== end) return false
    await unfinished.finish(() => mustBeFree(unfinished.target, given))
    return true
  }

  /**
   * @param {import('../storage/promisified-file').Io} io of the new log
   * @param {Snapshot | null} snapshot to continue at
   * @returns {Promise<Imported>} once it is durable, and was read back
   */
  async copy (io, snapshot) {
    const { unfinished, old, found, settings } = this
    const { blockSize } = settings
    const { frame, open } = FORMATS[found.format]
    const hasMap = frame > 0
    const { size, digest, offset, counts, extra, mapSize, skippedSize } = snapshot ?? NOTHING_YET
    await io.truncate(size)
    const mapFile = hasMap ? await SideFile.open(unfinished.map, mapSize) : null
    const skipped = await SideFile.open(unfinished.skipped, skippedSize)
    // one memory, so that records are copied within it
    const memory = Buffer.allocUnsafeSlow(MEMORY_SIZE + PackedLog.memorySize(blockSize))
    const log = new PackedLog(io, blockSize, memory, MEMORY_SIZE, size, digest)
    const map = mapFile && new MapWriter(mapFile, { from: found.format, frame, blockSize })
    const importer = new Importer(old.filename, log, map, skipped, { ...settings, hasChunks: found.format === 'flumelog-aligned-offset', frame }, { ...counts }, { ...extra })
    const reader = await open(old, found.blockSize, offset, memory)
    const readBack = this.readBack = await ReadBack.open(unfinished.log, blockSize)
    this.saved = size
    try {
      await this.readAll(reader, importer, readBack, io)
      const end = await log.end()
      this.saving = this.sync(io, map, skipped)
      // it is awaited below
      this.saving.catch(() => {})
      const total = importer.total()
      const written = { ...total, ...end, records: total.records + importer.extra.records, bytes: total.bytes + importer.extra.bytes, deleted: (settings.keepDeleted ? total.deleted : 0) + importer.extra.deleted }
      await readBack.finish(written, this.work)
      await this.saving
      return {
        format: found.format,
        file: this.given,
        ...total,
        ...end,
        torn: reader.torn,
        map: hasMap ? this.given + SUFFIX : null,
        skippedFile: skipped.size > 0 ? this.given + SKIPPED_SUFFIX : null,
        continued: snapshot === null ? 0 : offset
      }
    } finally {
      await this.saving.catch(() => {})
      await log.writing.catch(() => {})
      await readBack.close()
      await reader.stop()
      await mapFile?.close()
      await skipped.close()
    }
  }

  /**
   * @param {import('./formats').Reader} reader
   * @param {Importer} importer
   * @param {ReadBack} readBack
   * @param {import('../storage/promisified-file').Io} io
   */
  async readAll (reader, importer, readBack, io) {
    const onprogress = this.work.begin('import')
    const progress = () => onprogress(reader.offset - reader.start, this.old.size - reader.start)
    const { log, map, skippedFile } = importer
    progress()
    while (await reader.next(importer)) {
      if (importer.splitting !== null) await this.addLarge(reader, importer, readBack)
      await log.write()
      await map?.file.flush()
      await skippedFile.flush()
      await readBack.follow(log.written)
      if (this.failure !== null) throw this.failure
      this.saveIfDue(importer, io)
      progress()
    }
    await this.saving
    if (this.failure !== null) throw this.failure
  }

  /**
   * @param {import('./formats').Reader} reader
   * @param {Importer} importer with a large record
   * @param {ReadBack} readBack
   */
  async addLarge (reader, importer, readBack) {
    const { log } = importer
    while (importer.addChunks()) {
      await log.write()
      await readBack.follow(log.written)
    }
    if (importer.startBlockIfDue(reader.offset, this.stateInterval)) await log.writeBlocks()
  }

  get stateInterval () {
    return this.settings.stateInterval ?? STATE_INTERVAL
  }

  /**
   * @param {Importer} importer
   * @param {import('../storage/promisified-file').Io} io
   */
  saveIfDue ({ snapshot, log, map, skippedFile }, io) {
    const { stateInterval } = this
    if (snapshot === null || snapshot.size - this.saved < stateInterval) return
    this.saved = Infinity
    this.saving = this.save(snapshot, log.writing, io, map, skippedFile).then(() => { this.saved = snapshot.size }, err => { this.failure = err })
  }

  /**
   * Makes durable what was imported so far, and says so; meanwhile the import goes on.
   * @param {Snapshot} snapshot
   * @param {Promise<void>} writing of the log before the snapshot
   * @param {import('../storage/promisified-file').Io} io
   * @param {MapWriter | null} map
   * @param {SideFile} skipped
   */
  async save (snapshot, writing, io, map, skipped) {
    await writing
    await this.sync(io, map, skipped)
    await this.unfinished.writeState({ settings: this.identity, snapshot, finished: null })
  }

  /**
   * One after the other, since each takes one of the few threads that also read and write.
   * @param {import('../storage/promisified-file').Io} io
   * @param {MapWriter | null} map
   * @param {SideFile} skipped
   */
  async sync (io, map, skipped) {
    await io.sync()
    await map?.sync()
    await skipped.sync()
  }
}

/** @type {Snapshot} */
const NOTHING_YET = { size: 0, digest: 0, offset: 0, mapSize: 0, skippedSize: 0, extra: { records: 0, bytes: 0, deleted: 0 }, counts: { records: 0, bytes: 0, large: 0, deleted: 0, skipped: 0, corrupt: 0 } }

/**
 * @param {string} name
 * @returns {Promise<string>} tells a log from others: its size, and a checksum of its end
 */
async function endOf (name) {
  const file = await OldFile.open(name)
  try {
    const size = Math.min(file.size, 65536)
    return `${file.size}:${crc32(await file.read(file.size - size, size))}`
  } finally {
    await file.close()
  }
}

/**
 * @param {string} target
 * @param {string} given
 * @throws EEXIST
 */
function allMustBeFree (target, given) {
  mustBeFree(target, given)
  for (const suffix of [SUFFIX, SKIPPED_SUFFIX]) if (fs.existsSync(target + suffix)) throw errors.existsBeside(given, suffix)
}

module.exports = { importLog }
