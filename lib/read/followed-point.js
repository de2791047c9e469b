'use strict'

// The recovery point beside a log that another process writes, as it was last read, and the
// deletions in it that the log's file may not have yet.

const { isDeepStrictEqual } = require('util')
const { isHoleLength } = require('../format/hole')
const layout = require('../format/layout')
const { isZeros } = require('../format/zeros')
const { findEnd } = require('../recovery/find-end')
const { ownPatches } = require('../recovery/own-patches')
const { openPoint, readOwn } = require('../recovery/recovery-point')

/**
 * @typedef {import('../recovery/recovery-point').RecoveryPoint} RecoveryPoint
 * @typedef {import('../format/deletions').Patch} Patch
 * @typedef {ReturnType<typeof ownPatches>} OwnPatches
 */

class FollowedPoint {
  /**
   * @param {import('../storage/promisified-file').Io} io
   * @param {import('./block-cache').BlockCache} blocks its `overrides` are kept up to date
   * @param {RecoveryPoint | null} point that was there when the log was opened, perhaps of another file
   * @param {string | null} generation of the log in the file that is open; null: not known
   * @param {() => void} onreplace called when another one is there, or none
   */
  constructor (io, blocks, point, generation, onreplace) {
    this.io = io
    this.blocks = blocks
    this.onreplace = onreplace
    this.generation = generation ?? point?.generation
    /** What was read last. */
    this.current = point !== null && point.generation === this.generation ? point : null
    /** What the file may not have yet. @type {Patch[]} */
    this.patches = []
    /** Seqs of the records that these delete. @type {Set<number>} */
    this.deleted = new Set()
    /** The id of the point that they are from; undefined: they have to be looked at again. @type {string | undefined} */
    this.patchedId = undefined
    /** The block size with which they were made. */
    this.patchedSize = 0
    /** The log's file when there was no recovery point; undefined: not known. @type {string | undefined} */
    this.knownState = undefined
    /** How often the tail may have lost records since it was read, and how often it had when what is shown of it was read. */
    this.tailChanges = this.shownTailChanges = 0
    /** Settled when it is not being read. @type {Promise<unknown>} */
    this.reading = Promise.resolve()
    /** The read that starts then. @type {Promise<RecoveryPoint | null> | null} */
    this.next = null
  }

  /** Whether the tail may have deleted records that it had not when it was read. */
  get isTailOutdated () {
    return this.tailChanges !== this.shownTailChanges
  }

  /**
   * One at a time: of two, the one that ends last might have read an older point, and take back what it has learned since.
   * @returns {Promise<RecoveryPoint | null>} as it is after this call
   */
  read () {
    if (this.next === null) {
      this.next = this.reading.then(() => {
        this.next = null
        return this.readOnce()
      })
      this.reading = this.next.catch(() => {})
    }
    return this.next
  }

  /** @returns {Promise<RecoveryPoint | null>} */
  async readOnce () {
    const found = await readOwn(this.io)
    const own = found !== null && await this.isOfSuccessor(found.metadata) ? null : found
    const point = openPoint(own)
    const { blockSize } = this.blocks
    const state = point === null ? this.stateOfLog() : undefined
    // most of the time, all that has changed is what is acknowledged
    if (point === null || point.id === undefined || point.id !== this.patchedId || blockSize !== this.patchedSize) {
      // this process writes the log by now
      if (this.blocks.followedPoint !== this) return point
      this.patch(point, ownPatches(point, point?.blockSize ?? blockSize), blockSize)
    }
    const hasMissed = this.mayHaveMissed(point, state)
    const start = own?.metadata.start ?? await this.findStart(hasMissed)
    // as above
    if (this.blocks.followedPoint !== this) return point
    if (start > this.blocks.start) this.blocks.trim(start)
    if (hasMissed) {
      this.blocks.forget()
      this.tailChanges++
    }
    const before = this.current
    this.knownState = state
    this.current = point
    if (point?.id !== before?.id) this.onreplace()
    return point
  }

  /**
   * @param {RecoveryPoint | null} point
   * @param {OwnPatches} own what the file may not have yet of it
   * @param {number} blockSize with which that was made
   */
  patch (point, { patches, deleted }, blockSize) {
    this.patches = patches
    this.deleted = deleted
    this.patchedId = point?.id
    this.patchedSize = blockSize
    this.override()
  }

  /**
   * FILE.meta does not say it.
   * @param {boolean} hasMissed whether blocks may have been trimmed since it was asked for last
   * @returns {Promise<number>} where the log starts
   */
  async findStart (hasMissed) {
    const { io, blocks } = this
    if (!hasMissed) return blocks.start
    try {
      const size = await io.size()
      const known = Math.min(blocks.start, size)
      // a start stays where it is as long as there is a block
      if (known > 0 && !isZeros(await io.read(known, Math.min(blocks.blockSize, size - known)))) return known
      // two bytes tell it of nearly every log that was not trimmed
      if (size < 2 * blocks.blockSize || !isHoleLength(layout.readLength(await io.read(0, layout.LENGTH_SIZE), 0), blocks.blockSize)) return 0
      const options = { blockSize: blocks.blockSize, checksum: true, isWhole: () => true, canHavePoint: io.hasMetadata, lastNonZero: io.lastNonZero }
      return (await findEnd(io.read, size, null, options)).start
    } catch (err) {
      // a writer has truncated the file since its size was read
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EPARTIALREAD') throw err
      return blocks.start
    }
  }

  /**
   * @param {import('../storage/metadata-text').Generation} generation
   * @returns {Promise<boolean>} whether it is that of the file to which a compaction has moved the log: of this one it says nothing
   */
  async isOfSuccessor ({ id }) {
    if (id !== this.generation && await this.io.checkPath().then(() => false, () => true)) return true
    this.generation = id
    return false
  }

  /**
   * A deletion can be recorded, done and dropped between two reads of the point, when this process is busy.
   * @param {RecoveryPoint | null} point
   * @param {string | undefined} state of the log's file, if there is no point
   * @returns {boolean} whether blocks may have been rewritten of which it does not tell
   */
  mayHaveMissed (point, state) {
    // closed all the time, or written by a program that leaves no recovery points
    const { current } = this
    if (point === null && current === null) return state !== this.knownState
    if (point === null || current === null) return true
    return point.writer !== current.writer || point.dropped > lastNumber(current)
  }

  /** @returns {string} another one after another program has changed the file */
  stateOfLog () {
    const { file } = this.blocks
    if (!file.location) return ''
    const { size, mtimeMs, ctimeMs } = file.status()
    return `${size} ${mtimeMs} ${ctimeMs}`
  }

  /** Blocks that are read from now on get the patches; those with others than before are read again. */
  override () {
    const { blocks } = this
    const { overrides } = blocks
    const known = new Map(overrides)
    overrides.clear()
    for (const patch of this.patches) {
      const number = Math.floor(patch.offset / blocks.blockSize)
      const patches = overrides.get(number)
      if (patches === undefined) overrides.set(number, [patch])
      else patches.push(patch)
    }
    for (const number of new Set([...known.keys(), ...overrides.keys()])) {
      if (isDeepStrictEqual(overrides.get(number), known.get(number))) continue
      blocks.invalidate(number)
      if (number === blocks.tail.number) this.tailChanges++
    }
  }

  /**
   * Most often, a writer that is alive has only acknowledged more.
   * @param {number} end of what is shown
   * @returns {Promise<RecoveryPoint | null>} as it is then; null: it is to be read
   */
  async readGrown (end) {
    const { current, blocks: { file: { metadata } } } = this
    if (current === null || !current.isHeld || current.id !== this.patchedId || !metadata) return null
    const { version, published } = await metadata.peek()
    // nothing in it is of another file, since it is the one that was there before
    if (this.current !== current || version !== current.version || published === null || published <= end) return null
    this.current = { ...current, acknowledged: published }
    return this.current
  }

  /**
   * @param {RecoveryPoint | null} point
   * @returns {Promise<boolean>} whether it is there still: then nothing has changed what was read since
   */
  async isStill (point) {
    const { metadata } = this.blocks.file
    if (point !== null && metadata && (await metadata.peek()).version === point.version) return true
    return (await this.read())?.id === point?.id
  }

  /**
   * For blocks that were read while `point` was there.
   * @param {RecoveryPoint | null} point
   * @param {(isSame: boolean) => void} cb whether it still is, so that nothing was rewritten in between
   */
  compare (point, cb) {
    // another file has the log since, or this process writes it
    const isOver = () => this.blocks.followedPoint !== this
    this.isStill(point).then(
      (isSame) => process.nextTick(cb, isSame && !isOver()),
      // if it cannot be read, the blocks are as they were found
      () => process.nextTick(cb, !isOver())
    )
  }
}

/**
 * @param {RecoveryPoint} point
 * @returns {number} of the last deletion that its writer had recorded
 */
function lastNumber ({ dropped, deletions }) {
  return Math.max(dropped, ...deletions.map(({ number = 0 }) => number))
}

/**
 * @param {RecoveryPoint | null} point
 * @param {number} shown the offset up to which records are shown already
 * @returns {number | null} the offset up to which the log's writer has acknowledged appends; null: no live writer can be seen
 */
function acknowledgedBy (point, shown) {
  if (point === null || !point.isHeld) return null
  return point.acknowledged ?? shown
}

module.exports = { FollowedPoint, acknowledgedBy }
