'use strict'

// What readers see of a log that another process writes: as far as that process has acknowledged it, without what it has deleted. All of it is in
// the file and in FILE.meta. As long as only the acknowledged end has changed, what is new is read; otherwise the end of the log is found again, as
// when it was opened, and the blocks that may have been rewritten are forgotten.

const { isDeepStrictEqual } = require('util')
const { Block } = require('../format/block')
const { applyPatches } = require('../format/deletions')
const { endOfRecords, endOfSame, frameProblem } = require('../format/validation')
const { promised } = require('../callbacks')
const errors = require('../errors')
const { ownPatches } = require('../recovery/own-patches')
const { openPoint, readOwn } = require('../recovery/recovery-point')
const { lastRecord } = require('../recovery/whole-records')
const { findVisibleEnd } = require('./visible-end')

/**
 * @typedef {import('../recovery/recovery-point').RecoveryPoint} RecoveryPoint
 * @typedef {import('../storage/path-file').Io} Io
 * @typedef {import('./visible-end').VisibleEnd & { state: string }} FollowedEnd state: another one when blocks may have been rewritten
 */

class FollowedLog {
  /** @param {import('./follower').Follower} follower */
  constructor (follower) {
    const { file, io, blocks, options } = follower
    this.follower = follower
    this.file = file
    this.io = io
    this.blocks = blocks
    this.options = options
    /** The last record's, -1 if there is none. */
    this.lastSeq = -1
    /** As it was read last; null: the log was closed. @type {RecoveryPoint | null} */
    this.point = null
    /** Another one when blocks may have been rewritten. */
    this.state = ''
  }

  /**
   * @param {Io} io of the file that it is in
   * @param {number} [shown] the offset up to which records in there are shown already
   */
  find (io, shown = 0) {
    const { file, blocks: { checksum, large }, options: { blockSize, isWhole }, follower: { told } } = this
    return findFollowed(file, io, { blockSize, checksum, large, isWhole, shown, told })
  }

  /**
   * Most often, a live writer has only acknowledged more.
   * @returns {Promise<boolean>} whether that is all that has changed
   */
  async grow () {
    const { blocks, point } = this
    const { tail, blockSize } = blocks
    const canGrow = point !== null && point.isHeld && blockSize === point.blockSize && tail.error === null && tail.number * blockSize >= blocks.start
    if (!canGrow) return false
    // what was acknowledged to this process is in the file
    const { told } = this.follower
    const end = told > blocks.end ? told : await this.publishedEnd(point)
    if (end === null || end <= blocks.end || end % blockSize === 0) return false
    return await this.growTo(point, end).catch(ifTruncated) ?? false
  }

  /**
   * @param {RecoveryPoint} point
   * @param {number} end offset up to which the writer has acknowledged appends
   * @returns {Promise<boolean>} false: more has changed meanwhile
   */
  async growTo (point, end) {
    const { blocks, follower } = this
    const { tail, blockSize } = blocks
    const number = Math.floor(end / blockSize)
    const completed = number === tail.number ? null : await this.read(tail)
    const next = completed === null ? tail : new Block(number, Buffer.allocUnsafeSlow(blockSize), 0, false)
    await this.readInto(next, end)
    const published = await this.publishedEnd(point)
    // a deletion may have changed what was read
    if (published === null || follower.isOver) return false
    if (completed !== null) this.startBlock(completed, next)
    this.showRead(next, end - number * blockSize)
    if (published > end) follower.again = true
    return published <= end || end !== follower.told || await this.grow()
  }

  /**
   * @param {RecoveryPoint} point
   * @returns {Promise<number | null>} up to where the live writer has acknowledged appends; null: more has changed
   */
  async publishedEnd (point) {
    const { version, published } = await this.file.metadata.peek()
    return version === point.version ? published : null
  }

  /**
   * Behind what readers see of a block.
   * @param {Block} block
   * @param {number} end offset
   */
  async readInto (block, end) {
    const { blocks: { blockSize }, file } = this
    const from = block.end
    const start = block.number * blockSize
    await promised(cb => file.readSmall(start + from, end - start - from, true, (err, bytes) => {
      // valid only until the next read
      bytes?.copy(block.buffer, from, 0, end - start - from)
      cb(err)
    }))
  }

  /**
   * @param {Block} tail
   * @param {number} end position up to which it was read
   */
  showRead (tail, end) {
    const { blocks: { blockSize, large, overrides } } = this
    const from = tail.end
    applyPatches(tail.buffer.subarray(from, end), tail.number * blockSize + from, overrides.get(tail.number) ?? [])
    tail.end = endOfRecords(tail.buffer, from, end)
    const last = lastRecord(tail.buffer, tail.end, large)
    if (last !== -1) this.lastSeq = Math.max(this.lastSeq, tail.number * blockSize + last)
  }

  /** Finds the end of the log again: a writer has opened or closed it, deletes, or trims, or there is none that can be seen. */
  async reopen () {
    const { blocks, io, file, follower } = this
    const { tail } = blocks
    for (;;) {
      const size = await io.size()
      if (size < blocks.end) throw errors.shrunk(file.filename, blocks.end, size)
      const end = await this.find(io, blocks.end)
      if (follower.isOver) return
      const { found, point } = end
      if (point !== null && point.generation !== blocks.id) {
        // FILE.meta may be that of the file to which a compaction has moved the log
        if (!await io.checkPath().then(() => true, () => false)) return follower.repeat()
        blocks.id = point.generation
      }
      if (found.kept < blocks.end) throw this.changed(found.kept)
      if (end.blockSize !== blocks.blockSize) this.resize(end.blockSize)
      if (found.start > blocks.start) blocks.trim(found.start)
      this.override(point)
      const next = this.tailOf(found)
      if (next.number === tail.number) return this.show(end, next)
      const completed = await this.read(tail).catch(ifTruncated)
      if (follower.isOver) return
      if (completed !== null && await this.isUnchanged(end.state)) return this.show(end, next, completed)
    }
  }

  /**
   * @param {FollowedEnd} end
   * @param {Block} next the block in which the log ends
   * @param {Block | null} [completed] the tail, if the log goes on in another block
   */
  show ({ found, point, state }, next, completed = null) {
    const { blocks } = this
    const hasMissed = this.mayHaveMissed(point, state)
    // of a log that is closed, too: a writer may have come and gone
    const mayBeReplaced = state !== this.state
    this.point = point
    this.state = state
    if (hasMissed) blocks.forget()
    this.lastSeq = Math.max(this.lastSeq, found.lastSeq)
    if (completed !== null) this.startBlock(completed, next)
    else this.extendTo(next)
    if (mayBeReplaced) this.follower.metadataReplaced()
  }

  /** @param {Block} next the tail as it is now */
  extendTo (next) {
    const { blocks, blocks: { tail, tail: { buffer, end } } } = this
    this.assertStillThere(tail, next)
    const isRewritten = end > 0 && buffer.compare(next.buffer, 0, end, 0, end) !== 0
    tail.setBuffer(next.buffer)
    tail.error = next.error
    tail.end = Math.max(end, next.end)
    if (isRewritten) blocks.generation++
  }

  /**
   * @param {Block} completed the tail: readers that are in it find all of it
   * @param {Block} next in which the log ends
   */
  startBlock (completed, next) {
    const { blocks, blocks: { tail } } = this
    // or it was trimmed before all of it was shown
    if (completed.error === null) this.assertStillThere(tail, completed)
    const isRewritten = tail.end > 0 && tail.buffer.compare(completed.buffer, 0, tail.end, 0, tail.end) !== 0
    tail.complete(completed)
    if (tail.error === null) blocks.add(tail)
    blocks.tail = next
    if (isRewritten) blocks.generation++
  }

  /**
   * @param {Block} tail
   * @returns {Promise<Block>} the same as it is in the file, complete
   */
  async read ({ number }) {
    const { blocks: { blockSize, loader }, io } = this
    return loader.parse(number, await io.read(number * blockSize, blockSize), 0, false)
  }

  /**
   * @param {import('../recovery/find-end').Found} found
   * @returns {Block} the block in which the log ends; of one that is corrupt in its middle, nothing is shown
   */
  tailOf ({ tail, damagedTail }) {
    if (damagedTail === null) return tail
    const { number, buffer, end } = damagedTail
    const position = endOfRecords(buffer, 0, end)
    const reason = /** @type {string} */ (frameProblem(buffer, position, end))
    const error = errors.corrupt(this.file.filename, number, this.blocks.blockSize, position, reason)
    return new Block(number, buffer.subarray(0, end), 0, false, error)
  }

  /** @param {number} blockSize of the file; until now it was a guess */
  resize (blockSize) {
    this.blocks.resize(blockSize)
    this.options.onblocksize(blockSize)
  }

  /**
   * @param {Block} shown
   * @param {Block} now the same block
   * @throws flumelog:corrupt
   */
  assertStillThere ({ number, buffer, end }, now) {
    if (now.isHole || isStillThere(buffer, now.buffer, end)) return
    throw this.changed(number * this.blocks.blockSize + endOfRecords(now.buffer, 0, Math.min(end, now.buffer.length)))
  }

  /** @param {number} offset from which on records that were shown have changed */
  changed (offset) {
    const { blockSize } = this.blocks
    const position = offset % blockSize
    return errors.corrupt(this.file.filename, (offset - position) / blockSize, blockSize, position,
      'records that were read before were overwritten or rolled back; open the log again')
  }

  /**
   * Blocks that are read from now on are without what is deleted, which the file may have still; those with other patches than before are read again.
   * @param {RecoveryPoint | null} point
   */
  override (point) {
    const { blocks, blocks: { blockSize, overrides } } = this
    const known = new Map(overrides)
    overrides.clear()
    for (const patch of ownPatches(point, blockSize).patches) {
      const number = Math.floor(patch.offset / blockSize)
      const patches = overrides.get(number)
      if (patches === undefined) overrides.set(number, [patch])
      else patches.push(patch)
    }
    for (const number of new Set([...known.keys(), ...overrides.keys()])) {
      if (!isDeepStrictEqual(overrides.get(number), known.get(number))) blocks.invalidate(number)
    }
  }

  /**
   * A deletion can be recorded, done and dropped between two reads of FILE.meta, when this process is busy.
   * @param {RecoveryPoint | null} point
   * @param {string} state
   * @returns {boolean} whether blocks may have been rewritten of which it does not tell
   */
  mayHaveMissed (point, state) {
    const { point: before } = this
    // closed all the time, or written by a program that has no FILE.meta
    if (point === null && before === null) return state !== this.state
    if (point === null || before === null) return true
    return point.writer !== before.writer || point.dropped > lastNumber(before)
  }

  /** @returns {Promise<boolean>} whether all is shown that can be shown */
  async isUpToDate () {
    const { point, state, blocks, file, io } = this
    // who cannot be seen to write may write
    if (point !== null && !point.isHeld) return false
    const fileState = stateOfFile(file)
    const own = await readOwn(io)
    const now = openPoint(own)
    return stateOf(own, fileState) === state && now?.isHeld === point?.isHeld && Number(now?.acknowledged ?? 0) <= blocks.end
  }

  /**
   * @param {string} state
   * @returns {Promise<boolean>} whether it is that still: nothing has changed what was read since
   */
  async isUnchanged (state) {
    const { file, io } = this
    // one small read, as long as a writer has the log open
    if ((await file.metadata.peek()).version === state) return true
    const fileState = stateOfFile(file)
    return stateOf(await readOwn(io), fileState) === state
  }

  /**
   * The log is another file now, and blocks have moved there.
   * @param {FollowedEnd} end
   */
  moveTo ({ found, point, state }) {
    this.point = point?.generation === this.blocks.id ? point : null
    this.state = state
    this.lastSeq = found.lastSeq
    this.override(this.point)
  }
}

/**
 * A writer can truncate the file while it is read.
 * @param {any} err
 * @returns {null}
 * @throws any other error
 */
function ifTruncated (err) {
  if (err.code === 'EPARTIALREAD') return null
  throw err
}

/**
 * @param {import('../storage/path-file').LogFile} file
 * @param {Io} io
 * @param {import('./visible-end').VisibleEndOptions} options
 * @returns {Promise<FollowedEnd>} where a log ends that another process may write
 */
async function findFollowed (file, io, options) {
  const fileState = stateOfFile(file)
  const end = await findVisibleEnd(io, io.read, file.filename, options)
  return { ...end, state: stateOf(end.own, fileState) }
}

/**
 * @param {import('./visible-end').Own | null} own
 * @param {string} fileState
 * @returns {string} another one when blocks may have been rewritten
 */
function stateOf (own, fileState) {
  // any program may change a log that is closed
  return own !== null && !own.metadata.closed ? own.version : `${own?.version ?? ''} ${fileState}`
}

/**
 * @param {import('../storage/path-file').LogFile} file
 * @returns {string} another one after another program has changed the file
 */
function stateOfFile (file) {
  const { size, mtimeMs, ctimeMs } = file.status()
  return `${size} ${mtimeMs} ${ctimeMs}`
}

/**
 * @param {RecoveryPoint} point
 * @returns {number} of the last deletion that its writer had recorded
 */
function lastNumber ({ dropped, deletions }) {
  return Math.max(dropped, ...deletions.map(({ number = 0 }) => number))
}

/**
 * @param {Buffer} before
 * @param {Buffer} now
 * @param {number} end of the records that were shown
 * @returns {boolean} whether they are what they were, or deleted, or not deleted after all: a deletion that could not be made durable is
 *   taken back
 */
function isStillThere (before, now, end) {
  return end <= now.length && (before.compare(now, 0, end, 0, end) === 0 || endOfSame(before, now, end) === end)
}

module.exports = { FollowedLog, findFollowed, isStillThere }
