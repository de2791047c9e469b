'use strict'

// An earlier backup, which is brought up to date in place, as a writer changes a log: what is to be deleted and trimmed is in a recovery
// point before the file is changed, and what is new is appended behind it. Killed at any moment, it is what it was, or without what was
// deleted since, or this and a part of what is new; the next backup truncates that part, and starts again.

const { storedChecksum, writeChecksum } = require('../format/checksum')
const layout = require('../format/layout')
const { findProblem } = require('../format/validation')
const errors = require('../errors')
const { openExtent } = require('../maintenance/extent')
const { randomUUID } = require('crypto')
const { deletionOf, patchesOf, wholeDeletionOf } = require('../format/deletions')
const { tieAt } = require('../recovery/belonging')
const { generationOf, readOwn } = require('../recovery/recovery-point')
const { removeUnfinished } = require('../space/unfinished-files')
const { pagesOf, punchHead } = require('../recovery/punch-head')
const { recoverEnd } = require('../recovery/recover-end')
const { pathFile } = require('../storage/path-file')
const { promises } = require('../storage/promisified-file')
const { compareBlocks } = require('./compare-blocks')
const { copyBlocks } = require('./copy-blocks')
const { isKnownSource, isOfEarlierGeneration } = require('./relation')
const { readSummary } = require('./source-log')

/** Blocks whose last bytes are read together. */
const SUMMARIES = 128
/** Blocks of which records are deleted with one recovery point: its size is up to an eighth of theirs. */
const MAX_BLOCKS = 256

/**
 * @typedef {import('./source-log').SourceLog} SourceLog
 * @typedef {ReturnType<ReturnType<import('../maintenance/work').workFor>>} Work
 * @typedef {import('../format/deletions').Deletion} Deletion
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
   */
  constructor (source, target, file, extent) {
    this.source = source
    this.target = target
    this.file = file
    this.extent = extent
    this.io = extent.io
    this.blockSize = source.blockSize
    this.metadata = /** @type {import('../storage/metadata-file').MetadataFile} */ (file.metadata)
    this.path = /** @type {import('../storage/location').Location} */ (file.location).path
    /** Its end. What is after the recovery point of a backup that was killed may be incomplete, and is written again. */
    this.end = Math.min(extent.end, extent.point?.offset ?? Infinity)
    /** The same with what is after the recovery point. */
    this.size = extent.end
    /** As if what was interrupted were complete. */
    this.read = extent.read
    /** Where it starts. */
    this.start = extent.start
    /** Whether there is a recovery point, before which all is durable. */
    this.hasPoint = extent.point !== null
    /** As those of the log. */
    this.generation = generationOf(null)
    this.log = ''
    /** Numbers of blocks in which records have to be deleted. @type {number[]} */
    this.changed = []
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
    const own = (await readOwn(promises(source.file)))?.metadata
    earlier.generation = generationOf(own)
    earlier.log = own?.log ?? randomUUID()
    await removeUnfinished(earlier.path)
    return earlier
  }

  close () {
    return this.io.close()
  }

  // Comparing

  /**
   * Compares all of it with the log, and changes nothing.
   * @param {Work} work
   * @returns {Promise<boolean>} whether it can be brought up to date; otherwise, it has to be replaced
   * @throws flumelog:invalid if it is not a backup of this log
   */
  async compare (work) {
    const { source, extent, changed } = this
    const { blockSize } = source
    if (extent.end > 0 && await isOfEarlierGeneration(source, extent)) return false
    // less than a block does not tell its size
    if (extent.blockSize !== blockSize && extent.end >= Math.min(blockSize, extent.blockSize)) throw this.isOther(`it has blocks of ${extent.blockSize} bytes, the log of ${blockSize}`)
    if (extent.end > source.end) throw this.isOther(`it has ${extent.end} bytes, the log has ${source.end}`)
    const onprogress = work.begin('compare')
    const first = Math.max(source.start, extent.start) / blockSize
    const last = Math.ceil(extent.end / blockSize)
    let isRelated = extent.end === 0
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
        if (offset < this.end && (difference.deleted.length > 0 || difference.isMerged)) changed.push(number + i)
      }
      // small reads may have been made at once
      await new Promise(resolve => setImmediate(resolve))
      onprogress(Math.min(extent.end, (number + count) * blockSize) - first * blockSize, extent.end - first * blockSize)
    }
    if (!isRelated && !await isKnownSource(source, extent)) throw this.isOther('nothing in it is in the log any more: all of it was trimmed, or it is from before two compactions, or of another log')
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
    const { source, file, extent } = this
    const { blockSize } = source
    // it may not have all of a deletion that was interrupted
    const isChanging = extent.patches.some(({ offset }) => Math.floor(offset / blockSize) === number)
    if ((number + 1) * blockSize > extent.end || isChanging) return null
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
    const { source, size, target } = this
    const { blockSize } = source
    const offset = number * blockSize
    const [block, copy] = await Promise.all([
      source.block(number).catch(err => source.skipTrimmed(err)),
      this.read(offset, Math.min(blockSize, size - offset))
    ])
    if (block === null) return null
    const isFull = copy.length === blockSize
    const problem = isFull ? findProblem(copy, true) : null
    if (problem !== null) throw errors.corrupt(target, number, blockSize, problem.position, problem.reason)
    const end = isFull ? layout.paddingStart(copy) : copy.length
    return { offset, block, copy, difference: compareBlocks(block, copy, end, this.end - offset) }
  }

  // Changing

  /**
   * Brings it up to date.
   * @param {Work} work
   * @returns {Promise<import('./types').BackedUp>}
   */
  async update (work) {
    const { source, start: before } = this
    await this.recover(this.end)
    Object.assign(this, { size: this.end, read: this.io.read })
    try {
      const deleted = await this.deleteAll(work)
      const copied = this.end < source.end ? await this.append(work) : 0
      await this.closeMetadata()
      return { bytes: source.end - this.start, start: this.start, copied, deleted, trimmed: this.start - before, incremental: true }
    } catch (err) {
      await this.recover(this.end).catch(() => {})
      throw err
    }
  }

  /**
   * Completes what was interrupted, so that it is a log that was closed.
   * @param {number} end what is behind it is removed. Recovery would keep it, as what it truncates
   */
  async recover (end) {
    const { io, extent, hasPoint } = this
    if (hasPoint || await io.size() > end) {
      if (hasPoint && await io.size() > end) await io.truncate(end)
      await recoverEnd(io, this.path, { blockSize: extent.blockSize, checksum: true, isWhole: () => true, smallLog: Infinity })
      // a corrupt tail, which recovery keeps
      if (await io.size() > end) await io.truncate(end)
    }
    this.hasPoint = false
  }

  /**
   * @param {Work} work
   * @returns {Promise<number>} records that were deleted
   */
  async deleteAll (work) {
    const { source, changed } = this
    const { blockSize } = source
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
    const { io, source: { blockSize }, start: from } = this
    this.start = start
    await this.open(deletions, from)
    for (const { offset, data } of patchesOf(deletions, blockSize)) await io.write(offset, data)
    if (start > from) await punchHead(io, from, start, blockSize)
    await io.sync()
    for (const { block, live } of deletions) {
      const { offset, length } = pagesOf(block / blockSize, blockSize)
      if (live !== undefined && length > 0 && block >= start) await io.punch(offset, length)
    }
  }

  /**
   * Before the file is changed.
   * @param {Deletion[]} deletions
   * @param {number} freed up to here the blocks before the start are zeros
   */
  async open (deletions, freed) {
    deletions.forEach((deletion, i) => { deletion.number = i + 1 })
    const { metadata } = this
    this.hasPoint = true
    const place = await this.place(deletions, freed)
    await metadata.replace({ log: this.log, writer: randomUUID(), closed: false, deletions, dropped: 0, clients: [], next: null, ...place })
  }

  /** All that was written is durable. */
  async closeMetadata () {
    if (!this.hasPoint) return
    this.end = await this.io.size()
    this.metadata.append({ ...await this.place([], this.start), closed: true, dropped: Number.MAX_SAFE_INTEGER })
    // behind the recovery point, recovery would take a deleted record for a torn one
    await this.metadata.sync()
    this.hasPoint = false
  }

  /**
   * @param {Deletion[]} deletions
   * @param {number} freed
   * @returns {Promise<import('../storage/metadata-text').Place>}
   */
  async place (deletions, freed) {
    const { end, start, io, blockSize } = this
    return { end, tie: await tieAt(io.read, end, blockSize, deletions), records: null, start, freed, blockSize, ...this.generation }
  }

  /**
   * @param {Work} work
   * @returns {Promise<number>} bytes that were written, and are durable
   */
  async append (work) {
    const { source, end: before } = this
    const onprogress = work.begin('copy')
    const rest = await this.restOfBlock()
    const from = this.end = rest.offset
    await this.open([], this.start)
    if (from < before) await this.io.truncate(from)
    return copyBlocks(this.piecesAfter(rest), this.file, (done) => onprogress(Math.max(0, done - before), source.end - before))
  }

  /** @returns {Promise<import('./source-log').Piece>} the rest of the block in which it ends */
  async restOfBlock () {
    const { source, end } = this
    const { blockSize } = source
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
  if (isMerged && copy.length === blockSize) return wholeDeletionOf(offset, copy, deleted.length)
  if (copy.length < blockSize || storedChecksum(copy) === 0) return deletionOf(offset, copy, deleted, null)
  const after = Buffer.from(copy)
  for (const position of deleted) layout.zeroRecord(after, position)
  writeChecksum(after)
  return deletionOf(offset, copy, deleted, storedChecksum(after))
}

module.exports = { EarlierBackup }
