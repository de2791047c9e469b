'use strict'

// An earlier backup. If all of it is in the log unchanged, what is new is appended to it; otherwise, it is replaced by a full backup. Killed
// at any moment, it is what it was, with some of the new blocks behind that; the next backup truncates these.

const { randomUUID } = require('crypto')
const layout = require('../format/layout')
const { endOfRecords, endOfSame, findProblem } = require('../format/validation')
const errors = require('../errors')
const { openExtent, readExtent } = require('../maintenance/extent')
const { tieAt } = require('../recovery/belonging')
const { recoverEnd } = require('../recovery/recover-end')
const { BACKUP, generationOf, readOwn, readPoint } = require('../recovery/recovery-point')
const { settleMap } = require('../space/offset-map')
const { removeUnfinished } = require('../space/unfinished-files')
const { syncFolder } = require('../storage/directory')
const { pathFile } = require('../storage/path-file')
const { copyBlocks } = require('./copy-blocks')
const { readSummary } = require('./source-log')

/** Blocks whose last bytes are read together. */
const SUMMARIES = 128

/**
 * @typedef {import('./source-log').SourceLog} SourceLog
 * @typedef {ReturnType<ReturnType<import('../work').workFor>>} Work
 * @typedef {import('../storage/metadata-text').Metadata} Metadata
 */

class EarlierBackup {
  /**
   * @param {SourceLog} source
   * @param {string} target as the caller gave it
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('../maintenance/extent').Extent} extent of this file
   * @param {{ own: Metadata | undefined, source: Metadata | undefined }} metadata of the backup and of the log, if there is any
   */
  constructor (source, target, file, extent, metadata) {
    this.source = source
    this.target = target
    this.file = file
    this.extent = extent
    this.io = extent.io
    this.blockSize = source.blockSize
    this.metadataFile = file.metadata
    this.path = file.location.path
    this.generation = generationOf(metadata.source)
    this.log = metadata.source?.log ?? randomUUID()
    /** Whether it was made as a backup of this log, or of one that is a copy of this one, or of which this one is a copy. */
    this.isKnown = this.log === metadata.own?.log
    const own = generationOf(metadata.own)
    /** Whether the log has been compacted since. */
    this.isOutdated = this.isKnown && own.base < this.generation.base
    /** Otherwise, it lacks the offset map of the log: a copy of that may have been compacted to the same. */
    this.hasSameId = own.id === this.generation.id
    /** What the block in which it ends has in the log behind that. */
    this.rest = Buffer.alloc(0)
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
      if (err.code === 'flumelog:locked') throw errors.backupInUse(target)
      throw err.code === 'flumelog:not-a-log' ? errors.notALog(target) : err
    })
    try {
      const [own, sources] = await Promise.all([readOwn(extent.io), readOwn(source.file.io)])
      const earlier = new EarlierBackup(source, target, file, extent, { own: own?.metadata, source: sources?.metadata })
      // a process that was killed may have given it its name, and not durably
      await syncFolder(file.location.folder)
      await removeUnfinished(earlier.path)
      await settleMap(earlier.path, generationOf(own?.metadata).id)
      return earlier
    } catch (err) {
      await extent.io.close()
      throw err
    }
  }

  close () {
    return this.io.close()
  }

  /**
   * Completes what was interrupted, so that it is a log that was closed.
   */
  async recover () {
    const { io, extent } = this
    if (await readPoint(io) === null) return
    await recoverEnd(io, this.path, { blockSize: extent.blockSize, checksum: true, isWhole: () => true })
    this.extent = await readExtent(io, extent.filename, true)
  }

  /**
   * Compares all of it with the log, and changes nothing but to complete what was interrupted.
   * @param {Work} work
   * @returns {Promise<boolean>} whether the log starts with all of it, unchanged, and has the same id
   * @throws flumelog:invalid if it is not a backup of this log
   */
  async compare (work) {
    const { source, isKnown, blockSize, extent: { point } } = this
    // a backup that was interrupted is completed, of whichever log it is: an empty log may have had nothing that tells
    if (point !== null && !isKnown && !point.writer.startsWith(BACKUP)) throw this.isOther('the program that wrote it last did not close it')
    await this.recover()
    const { start, end, blockSize: own } = this.extent
    // less than a block does not tell its size
    if (own !== blockSize && end >= Math.min(blockSize, own)) throw this.isOther(`it has blocks of ${own} bytes, the log of ${blockSize}`)
    if (end > source.end) throw this.isOther(`it has ${end} bytes, the log has ${source.end}`)
    if (this.isOutdated) return false
    const onprogress = work.begin('compare')
    const first = Math.max(source.start, start) / blockSize
    const last = Math.ceil(end / blockSize)
    let isSame = start === source.start
    for (let number = first; number < last; number += SUMMARIES) {
      const count = Math.min(SUMMARIES, last - number)
      const same = await Promise.all(Array.from({ length: count }, (_, i) => this.hasSameChecksum(number + i)))
      for (let i = 0; i < count; i++) if (!same[i] && !await this.isSame(number + i)) isSame = false
      // small reads may have been made at once
      await new Promise(resolve => setImmediate(resolve))
      onprogress(Math.min(end, (number + count) * blockSize) - first * blockSize, end - first * blockSize)
    }
    if (!isKnown && !isSame && end > 0) throw this.isOther(`not all of it is in the log, and ${this.target}.meta does not say that it is one`)
    return isSame && this.hasSameId
  }

  /** @param {string} reason */
  isOther (reason) {
    return errors.notABackup(this.target, this.source.filename, reason)
  }

  /**
   * @param {number} number of a block
   * @returns {Promise<boolean>} whether it is in the log as it is here; false: records in it are deleted in the log, or here
   */
  async isSame (number) {
    const { source, io, target, blockSize } = this
    const offset = number * blockSize
    const isFull = offset + blockSize <= this.extent.end
    const copy = await io.read(offset, isFull ? blockSize : this.extent.end - offset)
    const block = await source.block(number).catch(err => source.skipTrimmed(err))
    if (block === null) return false
    if (copy.equals(block.subarray(0, copy.length))) {
      // a copy: records may be deleted in the block before it is written
      this.rest = Buffer.from(block.subarray(copy.length))
      return true
    }
    const problem = isFull ? findProblem(copy, true) : null
    if (problem !== null) throw errors.corrupt(target, number, blockSize, problem.position, problem.reason)
    const conflict = findConflict(block, copy, isFull ? layout.paddingStart(copy) : copy.length)
    if (conflict !== -1) throw this.isOther(`another record is at offset ${offset + conflict}`)
    return false
  }

  /**
   * @param {number} number of a block
   * @returns {Promise<boolean>} false: all of it has to be compared
   */
  async hasSameChecksum (number) {
    const { source, file, blockSize } = this
    if ((number + 1) * blockSize > this.extent.end) return false
    const [mine, copy] = await Promise.all([source.summary(number), readSummary(file, (number + 1) * blockSize)])
    const last = blockSize - layout.CHECKED_PADDING_SIZE
    // where the last record takes the place of the checksum, there is none
    return mine !== null && mine.checksum !== 0 && mine.start <= last && mine.checksum === copy.checksum && mine.start === copy.start
  }

  /**
   * Appends what is new.
   * @param {Work} work
   * @returns {Promise<import('./types').BackedUp>}
   */
  async update (work) {
    const { source, extent: { start, end } } = this
    // also if nothing is new: that an earlier process has completed it need not be durable
    const copied = await this.append(work, end)
    return { bytes: source.end - start, start, copied, incremental: true }
  }

  /**
   * @param {Work} work
   * @param {number} before where it ends
   * @returns {Promise<number>} bytes that were written, and are durable
   */
  async append (work, before) {
    const { log, source, file, metadataFile } = this
    const onprogress = work.begin('copy')
    try {
      await metadataFile.replace({ log, writer: BACKUP + randomUUID(), closed: false, deletions: [], dropped: 0, clients: {}, next: null, ...await this.place(before) })
      const copied = await copyBlocks(this.newPieces(before), file, (done) => onprogress(done - before, source.end - before))
      metadataFile.append({ ...await this.place(source.end), closed: true })
      // behind the recovery point, recovery would take a deleted record for a torn one
      await metadataFile.sync()
      return copied
    } catch (err) {
      await this.recover().catch(() => {})
      throw err
    }
  }

  /**
   * @param {number} end
   * @returns {Promise<import('../storage/metadata-text').Place>}
   */
  async place (end) {
    const { io, blockSize, extent: { start } } = this
    return { end, tie: await tieAt(io.read, end, blockSize, []), start, freed: start, blockSize, ...this.generation }
  }

  /**
   * @param {number} end of it
   * @returns {AsyncGenerator<import('./source-log').Piece, void, void>} what follows in the log
   */
  async * newPieces (end) {
    const { source, rest } = this
    if (rest.length > 0) yield { offset: end, blocks: [rest] }
    end += rest.length
    if (end === source.end) return
    for await (const piece of source.pieces(end)) {
      // trimmed since: a backup has no gaps
      if (piece.offset > end) throw errors.trimmed(source.filename, end, piece.offset)
      for (const { length } of piece.blocks) end += length
      yield piece
    }
  }
}

/**
 * Whether a block of an earlier backup can be one of the log: both have the same records, but for those that are deleted.
 * @param {Buffer} block of the log
 * @param {Buffer} copy of the block in the backup, which may have fewer records
 * @param {number} end position after the last record of the copy
 * @returns {number} position of the first record that differs; -1: there is none
 */
function findConflict (block, copy, end) {
  const position = endOfSame(copy, block, end)
  // a full block has no more records than its copy
  if (position === end && (end === copy.length || layout.paddingStart(block) === end)) return -1
  // all that it had may have become one deleted record
  const isOneDeleted = layout.livePositions(block, endOfRecords(block, 0, block.length)).length === 0 || layout.livePositions(copy, end).length === 0
  return isOneDeleted ? -1 : position
}

module.exports = { EarlierBackup }
