'use strict'

// An earlier backup, which is brought up to date in place, as a writer changes a log: what is to be deleted and trimmed is in its FILE.meta
// before the file is changed, and new blocks are appended behind it. Killed at any moment, it is what it was, or without what was
// deleted since, or this and some of the new blocks; the next backup recovers it first, which truncates these.

const { randomUUID } = require('crypto')
const { storedChecksum, writeChecksum } = require('../format/checksum')
const { deletionOf, patchesOf, wholeDeletionOf } = require('../format/deletions')
const layout = require('../format/layout')
const { findProblem } = require('../format/validation')
const errors = require('../errors')
const { openExtent, readExtent } = require('../maintenance/extent')
const { tieAt } = require('../recovery/belonging')
const { pagesOf, punchHead } = require('../recovery/punch-head')
const { recoverEnd } = require('../recovery/recover-end')
const { generationOf, readOwn, readPoint } = require('../recovery/recovery-point')
const { settleMap } = require('../space/offset-map')
const { removeUnfinished } = require('../space/unfinished-files')
const { pathFile } = require('../storage/path-file')
const { promises } = require('../storage/promisified-file')
const { compareBlocks } = require('./compare-blocks')
const { copyBlocks } = require('./copy-blocks')
const { readSummary } = require('./source-log')

/** Blocks whose last bytes are read together. */
const SUMMARIES = 128
/** Blocks of which records are deleted with one recovery point: its size is up to an eighth of theirs. */
const MAX_BLOCKS = 256
/** FILE.meta names a backup in progress as the writer: what follows the recovery point is an incomplete copy then. */
const WRITER = 'backup '

/**
 * @typedef {import('./source-log').SourceLog} SourceLog
 * @typedef {ReturnType<ReturnType<import('../work').workFor>>} Work
 * @typedef {import('../format/deletions').Deletion} Deletion
 * @typedef {import('../storage/metadata-text').Metadata} Metadata
 *
 * @typedef {object} Compared
 * @property {number} offset of the block
 * @property {Buffer} block of the log
 * @property {Buffer} copy of it in the backup
 * @property {import('./compare-blocks').Difference} difference
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
    this.metadataFile = /** @type {import('../storage/metadata-file').MetadataFile} */ (file.metadata)
    this.path = /** @type {import('../storage/location').Location} */ (file.location).path
    this.generation = generationOf(metadata.source)
    this.log = metadata.source?.log ?? randomUUID()
    /** Whether it was made as a backup of this log, or of one that is a copy of this one, or of which this one is a copy. */
    this.isKnown = this.log === metadata.own?.log
    /** Whether the log has been compacted since. */
    this.isOutdated = this.isKnown && generationOf(metadata.own).base < this.generation.base
    /** Numbers of blocks in which records have to be deleted. @type {number[]} */
    this.changed = []
    /** Where it starts and ends while it is changed. */
    this.start = this.end = 0
    /** Whether FILE.meta says that it is being changed. */
    this.isChanging = false
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
    try {
      const [own, sources] = await Promise.all([readOwn(extent.io), readOwn(promises(source.file))])
      const earlier = new EarlierBackup(source, target, file, extent, { own: own?.metadata, source: sources?.metadata })
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
    const point = await readPoint(io)
    if (point === null) return
    if (point.writer.startsWith(WRITER)) await io.truncate(point.offset)
    await recoverEnd(io, this.path, { blockSize: extent.blockSize, checksum: true, isWhole: () => true })
    this.extent = await readExtent(io, extent.filename, true)
  }

  // Comparing

  /**
   * Compares all of it with the log, and changes nothing but to complete what was interrupted.
   * @param {Work} work
   * @returns {Promise<boolean>} whether it can be brought up to date; otherwise, it has to be replaced
   * @throws flumelog:invalid if it is not a backup of this log
   */
  async compare (work) {
    const { source, changed, blockSize } = this
    const { point } = this.extent
    if (point !== null && !this.isKnown && !point.writer.startsWith(WRITER)) throw this.isOther('the program that wrote it last did not close it')
    await this.recover()
    const { extent } = this
    // less than a block does not tell its size
    if (extent.blockSize !== blockSize && extent.end >= Math.min(blockSize, extent.blockSize)) throw this.isOther(`it has blocks of ${extent.blockSize} bytes, the log of ${blockSize}`)
    if (extent.end > source.end) throw this.isOther(`it has ${extent.end} bytes, the log has ${source.end}`)
    if (this.isOutdated) return false
    Object.assign(this, { start: extent.start, end: extent.end })
    const onprogress = work.begin('compare')
    const first = Math.max(source.start, extent.start) / blockSize
    const last = Math.ceil(extent.end / blockSize)
    let isRelated = this.isKnown || extent.end === 0
    let isOlder = false
    for (let number = first; number < last; number += SUMMARIES) {
      const count = Math.min(SUMMARIES, last - number)
      const equal = await Promise.all(Array.from({ length: count }, (_, i) => this.isEqual(number + i)))
      isRelated ||= equal.includes('related')
      for (let i = 0; i < count; i++) {
        const compared = equal[i] !== null ? null : await this.compareBlock(number + i)
        if (compared === null) continue
        const { offset, difference } = compared
        if (difference.conflict !== -1) throw this.isOther(`another record is at offset ${offset + difference.conflict}`)
        isRelated ||= difference.isRelated
        isOlder ||= difference.isOlder
        if (difference.deleted.length > 0 || difference.isMerged) changed.push(number + i)
      }
      // small reads may have been made at once
      await new Promise(resolve => setImmediate(resolve))
      onprogress(Math.min(extent.end, (number + count) * blockSize) - first * blockSize, extent.end - first * blockSize)
    }
    if (!isRelated) throw this.isOther('nothing in it is in the log any more, and there is no file beside it that says that it is one')
    return !isOlder && extent.start <= source.start && !this.isTrimmed
  }

  /** Whether the log has been trimmed further than to the last block of the backup. */
  get isTrimmed () {
    return this.source.start > 0 && this.source.start >= this.end
  }

  /** @param {string} reason */
  isOther (reason) {
    return errors.notABackup(this.target, this.source.filename, reason)
  }

  /**
   * @param {number} number of a block
   * @returns {Promise<'related' | 'equal' | null>} whether its checksum is the same in both. Holes are the same in all logs; others show that it is of this one
   */
  async isEqual (number) {
    const { source, file, blockSize } = this
    if ((number + 1) * blockSize > this.end) return null
    const [mine, copy] = await Promise.all([source.summary(number), readSummary(file, (number + 1) * blockSize)])
    const last = blockSize - layout.CHECKED_PADDING_SIZE
    // where the last record takes the place of the checksum, there is none
    if (mine === null || mine.checksum === 0 || mine.start > last || mine.checksum !== copy.checksum || mine.start !== copy.start) return null
    return mine.start === last ? 'equal' : 'related'
  }

  /**
   * @param {number} number of a block
   * @returns {Promise<Compared | null>} null: it has been trimmed in the log, and the start of that is behind it
   */
  async compareBlock (number) {
    const { source, io, end, target, blockSize } = this
    const offset = number * blockSize
    const [block, copy] = await Promise.all([
      source.block(number).catch(err => source.skipTrimmed(err)),
      io.read(offset, Math.min(blockSize, end - offset))
    ])
    if (block === null) return null
    const isFull = copy.length === blockSize
    const problem = isFull ? findProblem(copy, true) : null
    if (problem !== null) throw errors.corrupt(target, number, blockSize, problem.position, problem.reason)
    return { offset, block, copy, difference: compareBlocks(block, copy, isFull ? layout.paddingStart(copy) : copy.length) }
  }

  // Changing

  /**
   * Brings it up to date.
   * @param {Work} work
   * @returns {Promise<import('./types').BackedUp>}
   */
  async update (work) {
    const { source, start: before } = this
    try {
      const deleted = await this.deleteAll(work)
      const copied = this.end < source.end ? await this.append(work) : 0
      if (this.isChanging) await this.closeMetadata()
      return { bytes: source.end - this.start, start: this.start, copied, deleted, trimmed: this.start - before, incremental: true }
    } catch (err) {
      await this.recover().catch(() => {})
      throw err
    }
  }

  /**
   * @param {Work} work
   * @returns {Promise<number>} records that were deleted
   */
  async deleteAll (work) {
    const { source, changed, blockSize } = this
    const onprogress = work.begin('delete')
    let count = 0
    /** @type {Deletion[]} */
    let deletions = []
    for (const [i, number] of changed.entries()) {
      if (i % MAX_BLOCKS === 0) onprogress(i * blockSize, changed.length * blockSize)
      const compared = await this.compareBlock(number)
      if (compared === null) continue
      deletions.push(deletionFor(compared, blockSize))
      count += compared.difference.deleted.length
      if (deletions.length < MAX_BLOCKS) continue
      await this.commit(deletions, this.start)
      deletions = []
    }
    // all blocks that are kept have been compared
    if (this.isTrimmed) throw errors.trimmed(source.filename, this.end, source.start)
    if (deletions.length > 0 || source.start > this.start) await this.commit(deletions, source.start)
    return count
  }

  /**
   * Deletes and trims: all of it, whenever that is interrupted, once the recovery point is written.
   * @param {Deletion[]} deletions
   * @param {number} start where it starts afterwards
   */
  async commit (deletions, start) {
    const { io, blockSize, start: from } = this
    this.start = start
    await this.openMetadata(deletions, from)
    for (const { offset, data } of patchesOf(deletions, blockSize)) await io.write(offset, data)
    if (start > from) await punchHead(io, from, start, blockSize)
    await io.sync()
    for (const { block, isHole } of deletions) {
      const { offset, length } = pagesOf(block / blockSize, blockSize)
      if (isHole && length > 0 && block >= start) await io.punch(offset, length)
    }
  }

  /**
   * Before the file is changed.
   * @param {Deletion[]} deletions
   * @param {number} freed up to here the blocks before the start are zeros
   */
  async openMetadata (deletions, freed) {
    deletions.forEach((deletion, i) => { deletion.number = i + 1 })
    this.isChanging = true
    const place = await this.place(deletions, freed)
    await this.metadataFile.replace({ log: this.log, writer: WRITER + randomUUID(), closed: false, deletions, dropped: 0, clients: {}, next: null, ...place })
  }

  /** All that was written is durable. */
  async closeMetadata () {
    this.end = await this.io.size()
    this.metadataFile.append({ ...await this.place([], this.start), closed: true, dropped: Number.MAX_SAFE_INTEGER })
    // behind the recovery point, recovery would take a deleted record for a torn one
    await this.metadataFile.sync()
  }

  /**
   * @param {Deletion[]} deletions
   * @param {number} freed
   * @returns {Promise<import('../storage/metadata-text').Place>}
   */
  async place (deletions, freed) {
    const { end, start, io, blockSize } = this
    return { end, tie: await tieAt(io.read, end, blockSize, deletions), start, freed, blockSize, ...this.generation }
  }

  /**
   * @param {Work} work
   * @returns {Promise<number>} bytes that were written, and are durable
   */
  async append (work) {
    const { source, end: before } = this
    const onprogress = work.begin('copy')
    const rest = await this.restOfBlock()
    this.end = rest.offset
    await this.openMetadata([], this.start)
    if (this.end < before) await this.io.truncate(this.end)
    return copyBlocks(this.piecesAfter(rest), this.file, (done) => onprogress(Math.max(0, done - before), source.end - before))
  }

  /** @returns {Promise<import('./source-log').Piece>} the rest of the block in which it ends */
  async restOfBlock () {
    const { source, end, blockSize } = this
    if (end % blockSize === 0) return { offset: end, blocks: [] }
    const compared = await this.compareBlock(Math.floor(end / blockSize))
    if (compared === null) throw errors.trimmed(source.filename, end, source.start)
    const { offset, block, difference } = compared
    // since it was compared: the checksum of the block is without them
    if (difference.deleted.length > 0) await this.commit([deletionFor(compared, blockSize)], this.start)
    // the deleted record that the block has become reaches behind the end
    return difference.isMerged ? { offset, blocks: [block] } : { offset: end, blocks: [block.subarray(end - offset)] }
  }

  /** @param {import('./source-log').Piece} rest */
  async * piecesAfter (rest) {
    const { source } = this
    let end = rest.offset
    if (rest.blocks.length > 0) {
      end += rest.blocks[0].length
      yield rest
    }
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
 * @param {Compared} compared
 * @param {number} blockSize
 * @returns {Deletion}
 */
function deletionFor ({ offset, copy, difference: { deleted, isMerged } }, blockSize) {
  if (isMerged && copy.length === blockSize) return wholeDeletionOf(offset, copy)
  if (copy.length < blockSize || storedChecksum(copy) === 0) return deletionOf(offset, copy, deleted, null)
  const after = Buffer.from(copy)
  for (const position of deleted) layout.zeroRecord(after, position)
  writeChecksum(after)
  return deletionOf(offset, copy, deleted, storedChecksum(after))
}

module.exports = { EarlierBackup }
