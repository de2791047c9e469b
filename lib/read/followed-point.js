'use strict'

// The recovery point beside a log that another process writes, as it was last read, and the
// interrupted deletions in it that belong to this log.

const { ownRewrites } = require('../recovery/rewrites')

/**
 * @typedef {import('../storage/recovery-point').RecoveryPoint} RecoveryPoint
 * @typedef {import('../storage/recovery-point').Rewrite} Rewrite
 */

class FollowedPoint {
  /**
   * @param {import('../storage/promisified-file').Io} io
   * @param {import('./block-cache').BlockCache} blocks its `overrides` are kept up to date
   * @param {RecoveryPoint | null} point that was there when the log was opened
   * @param {() => void} onreplace called when another one is there, or none
   */
  constructor (io, blocks, point, onreplace) {
    this.io = io
    this.blocks = blocks
    this.onreplace = onreplace
    /** What was read last. */
    this.current = point
    /** The id that `onreplace` was last called for. */
    this.knownId = point?.id
    /** Deletions that have not been completed in the file, or may not have been. @type {Rewrite[]} */
    this.rewrites = []
    /** The id of a point whose rewrites are all known to belong to this log. @type {string | undefined} */
    this.verifiedId = undefined
  }

  /** @returns {Promise<RecoveryPoint | null>} */
  async read () {
    const { blocks } = this
    const point = await this.io.readPoint()
    this.rewrites = point === null ? [] : await this.ownRewrites(point)
    this.current = point
    if (point?.id !== this.knownId) {
      this.knownId = point?.id
      this.onreplace()
    }
    blocks.overrides.clear()
    for (const { offset, data } of this.rewrites) {
      if (data.length === blocks.blockSize) blocks.overrides.set(offset / blocks.blockSize, data)
    }
    return point
  }

  /**
   * @param {RecoveryPoint} point
   * @returns {Promise<Rewrite[]>} its rewrites, without those of another log: the file may have been restored from elsewhere
   */
  async ownRewrites ({ id, rewrites, isHeld }) {
    // a live writer made them for the log that it has open
    if (rewrites.length === 0 || isHeld || (id !== undefined && id === this.verifiedId)) return rewrites
    for (;;) {
      try {
        const own = await ownRewrites(this.io.read, await this.io.size(), rewrites, this.blocks.blockSize)
        // while the block size is a guess, the others may prove to be its own later
        if (own.length === rewrites.length) this.verifiedId = id
        return own
      } catch (err) {
        // a writer has truncated the file since its size was read
        if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EPARTIALREAD') throw err
      }
    }
  }

  /**
   * For blocks that were read while `point` was there.
   * @param {RecoveryPoint | null} point
   * @param {(isSame: boolean) => void} cb whether it still is, so that nothing was rewritten in between
   */
  compare (point, cb) {
    this.read().then(
      (after) => process.nextTick(cb, after?.id === point?.id),
      // if it cannot be read, the blocks are as they were found
      () => process.nextTick(cb, true)
    )
  }
}

/**
 * Up to where the log's writer has acknowledged appends, by its recovery point. A follower
 * can be given another function, for logs where that is known in another way.
 * @param {RecoveryPoint | null} point
 * @param {number} shown the offset up to which records are shown already
 * @returns {number | null} null: no live writer can be seen
 */
function acknowledgedByPoint (point, shown) {
  if (point === null || !point.isHeld) return null
  return point.acknowledged ?? shown
}

module.exports = { FollowedPoint, acknowledgedByPoint }
