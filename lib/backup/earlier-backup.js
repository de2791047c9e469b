'use strict'

// An earlier backup, which is brought up to date in place, as a writer would do it: with a recovery point beside it. So it is a valid log
// at every moment, and what is left of a backup that was killed is completed by the next one. What was trimmed or deleted in the log
// is trimmed and deleted first; then what is new is appended.

const fs = require('fs')
const { storedChecksum, writeChecksum } = require('../format/checksum')
const { holeOf } = require('../format/hole')
const layout = require('../format/layout')
const errors = require('../errors')
const { openExtent } = require('../maintenance/extent')
const { deletionOf, wholeDeletionOf } = require('../recovery/deletions')
const { promised } = require('../callbacks')
const { punchHead } = require('../recovery/punch-head')
const { PAGE_SIZE } = require('../storage/holes')
const { pathFile } = require('../storage/path-file')
const { BlockWriter } = require('./block-writer')
const { Comparison } = require('./comparison')
const { isKnownSource } = require('./known-source')
const { isOfEarlierGeneration } = require('./earlier-generation')

/** Added to the name of a full backup while it is not complete. */
const UNFINISHED = '.unfinished'
/** Added to that for a clone of the log's file: a clone that fails removes the file that was there. */
const CLONE = '.clone'
/** Blocks of which records are deleted with one fsync. */
const MAX_BLOCKS = 64
/** Bytes appended with one fsync. */
const SYNC_SIZE = 256 * 1024 * 1024

/**
 * @typedef {import('./source-log').SourceLog} SourceLog
 * @typedef {ReturnType<ReturnType<import('../maintenance/work').workFor>>} Work
 * @typedef {import('../recovery/deletions').Deletion} Deletion
 *
 * @typedef {object} Change of a block in the backup
 * @property {Deletion} deletion
 * @property {Buffer} after its bytes without these records
 */

class EarlierBackup {
  /**
   * @param {SourceLog} source
   * @param {string} target as the caller gave it
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('../maintenance/extent').Extent} extent of this file
   */
  constructor (source, target, file, extent) {
    this.source = source
    this.target = target
    this.file = file
    this.extent = extent
    this.io = extent.io
    this.path = /** @type {import('../storage/location').Location} */ (file.location).path
    /** Its end. What is after the recovery point of a backup that was killed may be incomplete, and is written again. */
    this.end = Math.min(extent.end, extent.point?.offset ?? Infinity)
    /** Where it starts. */
    this.start = extent.start
    this.hasPoint = !extent.closed
    /** Whether it is valid only with its recovery point. */
    this.needsPoint = this.hasPoint
    this.mustDelete = false
    this.comparison = new Comparison(source, target, file, extent, this.end)
  }

  /**
   * @param {SourceLog} source
   * @param {string} name absolute
   * @param {string} target the same as the caller gave it
   * @returns {Promise<EarlierBackup>} locked until it is closed
   */
  static async open (source, name, target) {
    const file = pathFile(name, { readOnly: false, lock: true })
    const extent = await openExtent(file, true).catch((err) => {
      throw err.code === 'flumelog:locked' ? errors.backupInUse(target) : err
    })
    const earlier = new EarlierBackup(source, target, file, extent)
    // of a backup that was killed, since this one has the lock
    for (const suffix of [UNFINISHED, UNFINISHED + CLONE, '.recovery-point.new']) fs.rmSync(earlier.path + suffix, { force: true })
    return earlier
  }

  close () {
    return this.io.close()
  }

  // Comparing

  /**
   * Compares all of it with the log, and changes nothing.
   * @param {Work} work
   * @returns {Promise<boolean>} whether it cannot be brought up to date
   * @throws flumelog:invalid if it is not a backup of this log
   */
  async mustBeReplaced (work) {
    const { source, extent } = this
    const { blockSize } = source
    if (extent.end > 0 && await isOfEarlierGeneration(source, this.path, extent)) return true
    // less than a block does not tell its size
    if (extent.blockSize !== blockSize && extent.end >= Math.min(blockSize, extent.blockSize)) throw this.isOther(`it has blocks of ${extent.blockSize} bytes, the log of ${blockSize}`)
    if (extent.end > source.end) throw this.isOther(`it has ${extent.end} bytes, the log has ${source.end}`)
    const onprogress = work.begin('compare')
    let isRelated = extent.end === 0
    let isOlder = false
    for await (const { number, difference } of this.comparison.differences(extent.end, onprogress)) {
      if (difference === null) isRelated = true
      else if (difference.conflict !== -1) throw this.isOther(`another record is at offset ${number * blockSize + difference.conflict}`)
      else {
        isRelated ||= difference.isRelated
        isOlder ||= difference.isOlder
        this.mustDelete ||= difference.deleted.length > 0 || difference.isHole
      }
    }
    if (!isRelated && !await isKnownSource(source, this.path)) throw this.isOther('nothing in it is in the log any more: all of it was trimmed, or it is from before two compactions, or of another log')
    return isOlder || extent.start > source.start || source.start > this.end
  }

  /** @param {string} reason */
  isOther (reason) {
    return errors.notABackup(this.target, this.source.filename, reason)
  }

  // Changing

  /**
   * Brings it up to date.
   * @param {Work} work
   * @returns {Promise<import('./backup').BackedUp>}
   */
  async update (work) {
    const { source } = this
    const { start: before } = this
    await this.settle()
    try {
      if (source.start > this.start) await this.trim()
      const deleted = this.mustDelete ? await this.deleteAll(work) : 0
      const copied = this.end < source.end ? await this.append(work) : 0
      await this.removePoint()
      return { bytes: source.end - this.start, start: this.start, copied, deleted, trimmed: this.start - before, incremental: true }
    } catch (err) {
      await this.undo().catch(() => {})
      throw err
    }
  }

  /** Removes what was appended. */
  async undo () {
    const { io, end } = this
    if (await io.size() > end) {
      await io.truncate(end)
      await io.sync()
    }
    if (!this.needsPoint) await this.removePoint()
  }

  /** Completes what a backup that was killed has left, as opening it would. It is valid without its recovery point afterwards. */
  async settle () {
    const { io, extent, end } = this
    const { size, rewrites, trim, blockSize } = extent
    if (rewrites.length > 0 || trim !== null) {
      await io.sync()
      await io.syncPoint()
    }
    for (const { offset, data } of rewrites) if (offset < end) await io.write(offset, data)
    if (trim !== null) await punchHead(io, trim.from, trim.start, blockSize)
    if (size > end) {
      // another program has left that
      if (extent.point === null) await io.keepCut(end, size)
      await io.truncate(end)
    }
    if (rewrites.length > 0 || trim !== null || size > end) await io.sync()
    this.needsPoint = false
  }

  /**
   * Before the file is changed.
   * @param {number} offset up to here, all is durable
   * @param {Deletion[]} deletions that are about to be made
   * @param {import('../storage/recovery-point').Trimming} [trimming]
   */
  async writePoint (offset, deletions, trimming) {
    const point = /** @type {import('../storage/recovery-point').PointFile} */ (this.file.point)
    const start = this.start > 0 ? this.start : undefined
    await promised(cb => point.write({ offset, deletions, acknowledged: offset, start, trimming }, cb))
    this.hasPoint = true
  }

  /** Frees the blocks that have been trimmed in the log. */
  async trim () {
    const { source, io, extent, end, start: from } = this
    const { blockSize } = source
    const start = Math.min(source.start, Math.floor((end - 1) / blockSize) * blockSize)
    if (start <= from) return
    const [tie] = deletionOf(start, await extent.read(start, Math.min(blockSize, end - start)), [0], null).records
    this.start = start
    await this.writePoint(end, [], { from, tie })
    this.needsPoint = true
    await punchHead(io, from, start, blockSize)
    await io.sync()
    this.needsPoint = false
  }

  /** All that was written is durable. */
  async removePoint () {
    if (!this.hasPoint) return
    await this.io.writeCount(null)
    await this.io.removePoint()
    this.hasPoint = false
  }

  /**
   * @param {Work} work
   * @returns {Promise<number>} records that were deleted
   */
  async deleteAll (work) {
    const { source, end } = this
    const onprogress = work.begin('delete')
    let deleted = 0
    /** @type {Change[]} */
    const changes = []
    for await (const { number, copy, difference } of this.comparison.differences(end, onprogress)) {
      if (difference === null || (difference.deleted.length === 0 && !difference.isHole)) continue
      changes.push(difference.isHole
        ? holeFor(number * source.blockSize, copy, difference.deleted.length)
        : changeOf(number * source.blockSize, copy, difference.deleted, source.blockSize))
      deleted += difference.deleted.length
      if (changes.length === MAX_BLOCKS) await this.makeDurable(changes.splice(0))
    }
    if (changes.length > 0) await this.makeDurable(changes)
    return deleted
  }

  /** @param {Change[]} changes */
  async makeDurable (changes) {
    await this.writePoint(this.end, changes.map(({ deletion }) => deletion))
    this.needsPoint = true
    for (const { deletion, after } of changes) await this.io.write(deletion.block, after)
    await this.io.sync()
    this.needsPoint = false
    for (const { deletion, after } of changes) if (deletion.whole !== undefined) await this.punch(deletion.block, after.length)
  }

  /**
   * Frees the pages of a hole, all but the first and the last one.
   * @param {number} offset
   * @param {number} blockSize
   */
  async punch (offset, blockSize) {
    const first = Math.floor(offset / PAGE_SIZE + 1) * PAGE_SIZE
    const last = Math.floor((offset + blockSize - 1) / PAGE_SIZE) * PAGE_SIZE
    // the last record's length, and the padding, may reach into the page before
    const end = offset + blockSize - layout.CHECKED_PADDING_SIZE - layout.LENGTH_SIZE < last ? last - PAGE_SIZE : last
    if (end > first) await this.io.punch(first, end - first)
  }

  /**
   * @param {Work} work
   * @returns {Promise<number>} bytes that were written, and are durable
   */
  async append (work) {
    const { source, file, io } = this
    const { blockSize } = source
    const from = this.end
    const onprogress = work.begin('copy')
    const part = await this.firstPart()
    await this.writePoint(part.offset, [])
    if (part.offset < from) await io.truncate(this.end = part.offset)
    let end = part.offset + part.bytes.length
    let synced = part.offset
    const writer = new BlockWriter(file)
    try {
      if (part.bytes.length > 0) await writer.write({ offset: part.offset, blocks: [part.bytes] })
      for await (const piece of end < source.end ? source.pieces(end) : []) {
        // trimmed since: a backup has no gaps
        if (piece.offset > end) throw errors.trimmed(source.filename, end, piece.offset)
        await writer.write(piece)
        end = Math.min(source.end, piece.offset + piece.blocks.length * blockSize)
        onprogress(end - from, source.end - from)
        if (end - synced < SYNC_SIZE || end === source.end) continue
        await writer.finish()
        await this.writePoint(synced = end, [])
      }
      await writer.finish()
    } finally {
      await writer.syncing
    }
    this.end = end
    return writer.written
  }

  /** @returns {Promise<{ offset: number, bytes: Buffer }>} what comes first: the rest of the block in which it ends */
  async firstPart () {
    const { source, end } = this
    const { blockSize } = source
    const position = end % blockSize
    if (position === 0) return { offset: end, bytes: Buffer.alloc(0) }
    for (;;) {
      const { number, block, copy, difference } = await this.comparison.compare(Math.floor(end / blockSize), end)
      const offset = number * blockSize
      // a block that has become one deleted record
      if (difference.conflict === -1 && !difference.isRelated) return { offset, bytes: block }
      if (difference.deleted.length === 0) return { offset: end, bytes: block.subarray(position) }
      // it has been deleted since
      await this.makeDurable([changeOf(offset, copy, difference.deleted, blockSize)])
    }
  }
}

/**
 * @param {number} offset of the block
 * @param {Buffer} copy of the block, as the backup has it
 * @param {number[]} positions of records to be deleted
 * @param {number} blockSize
 * @returns {Change}
 */
function changeOf (offset, copy, positions, blockSize) {
  const after = Buffer.from(copy)
  for (const position of positions) layout.zeroRecord(after, position)
  const hasChecksum = copy.length === blockSize && storedChecksum(copy) !== 0
  if (hasChecksum) writeChecksum(after)
  return { deletion: deletionOf(offset, copy, positions, hasChecksum ? storedChecksum(after) : null), after }
}

/**
 * @param {number} offset of the block
 * @param {Buffer} copy of the block, as the backup has it
 * @param {number} live number of records in it that are not deleted
 * @returns {Change}
 */
function holeFor (offset, copy, live) {
  return { deletion: wholeDeletionOf(offset, copy, live), after: holeOf(copy.length, storedChecksum(copy) !== 0) }
}

module.exports = { EarlierBackup, CLONE, UNFINISHED }
