'use strict'

// What stands in the writer's place in a log that is opened read-only: it follows
// the file as another process appends to it. Whole records only are shown.

const layout = require('../format/layout')
const { storedChecksum } = require('../format/checksum')
const { endOfRecords, findProblem, frameProblem } = require('../format/validation')
const errors = require('../errors')
const { Block } = require('./block')
const { detectBlockSize } = require('../format/block-size')
const { withRewrites } = require('../recovery/rewrites')

/** How often a block that looks damaged is looked at again: another process may be rewriting it. */
const MOST_DOUBTS = 5
/** Milliseconds between these looks. */
const DOUBT_TIME = 5

/**
 * @typedef {object} Listeners
 * @property {(seq: number) => void} onadvance there is more; the last record's seq is this
 * @property {(blockSize: number) => void} onblocksize the block size had been a guess; it is this
 * @property {(err: Error) => void} onfailure what was read before cannot be relied on
 */

class Follower {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('../storage/promisified-file').Io} io
   * @param {import('./block-cache').BlockCache} blocks
   * @param {import('../recovery/find-end').Found} found where the log ended when it was opened
   * @param {import('../storage/recovery-point').RecoveryPoint | null} point that was there then
   * @param {Listeners & { blockSize: number | undefined }} options `blockSize`: what the caller asked for
   */
  constructor (file, io, blocks, found, point, options) {
    this.file = file
    this.io = io
    this.blocks = blocks
    this.found = found
    this.lastSeq = found.lastSeq
    this.options = options
    this.firstPoint = point
    /** The recovery point when it was last looked at. */
    this.point = point
    /** How often the block at hand looked damaged. */
    this.doubts = 0
    this.running = false
    this.again = false
    this.closed = false
    /** @type {import('../storage/watch').Watch | null} */
    this.watch = null
  }

  /** Reads the tail, and watches it from now on. */
  async begin () {
    const { blocks, file } = this
    const { damagedTail } = this.found
    // a sound one is read again: it may have been read in the middle of a deletion
    blocks.tail = damagedTail === null ? new Block(blocks.tail.number, Buffer.alloc(0), 0, false) : this.damaged(damagedTail)
    blocks.follower = this
    this.running = true
    this.watch = file.watch === null ? null : file.watch(() => this.look())
    await this.advance()
    this.running = false
    if (this.again) this.look()
  }

  /**
   * @param {Block} tail which is damaged in its middle
   * @returns {Block} one of which nothing is shown
   */
  damaged ({ number, buffer, end }) {
    const block = new Block(number, buffer.subarray(0, end), 0, false)
    const position = endOfRecords(buffer, 0, end)
    const reason = /** @type {string} */ (frameProblem(buffer, position, end))
    block.error = errors.corrupt(this.file.filename, number, this.blocks.blockSize, position, reason)
    return block
  }

  /** Looks whether the file has grown; one look at a time. */
  look () {
    if (this.closed) return
    this.again = true
    if (this.running) return
    this.running = true
    this.lookAgain().catch(err => {
      if (this.closed) return
      this.close()
      process.nextTick(this.options.onfailure, err)
    })
  }

  async lookAgain () {
    while (this.again && !this.closed) {
      this.again = false
      const { end } = this.blocks
      await this.advance()
      if (this.blocks.end !== end && !this.closed) process.nextTick(this.options.onadvance, this.lastSeq)
    }
    this.running = false
  }

  async advance () {
    const { blocks, io } = this
    const size = await io.size()
    if (size < blocks.end) throw errors.shrunk(this.file.filename, blocks.end, size)
    await this.readPoint()
    try {
      const end = this.isLeftover(size) ? this.found.kept : size
      while (!this.closed && await this.readTail(end));
    } catch (err) {
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EPARTIALREAD') throw err
      // a writer has cut the file off since it was measured: measure it again
      this.again = true
    }
  }

  /**
   * @param {number} size the file's, in bytes
   * @returns {boolean} whether all is as a crash may have left it: then what recovery would cut off is not shown
   */
  isLeftover (size) {
    const { kept, cut } = this.found
    return size === kept + cut && this.point?.id === this.firstPoint?.id
  }

  /**
   * Shows what is whole of the tail block.
   * @param {number} size of the file, as far as it is looked at
   * @returns {Promise<boolean>} whether there is more to read
   */
  async readTail (size) {
    const { blocks, file } = this
    const { tail, blockSize } = blocks
    const start = tail.number * blockSize
    const available = Math.min(blockSize, size - start)
    if (available <= tail.end) return false
    const bytes = await this.read(start, available)
    const problem = available < blockSize ? null : findProblem(bytes, blocks.checksum)
    const isSealed = available === blockSize && problem === null
    const end = isSealed ? layout.paddingStart(bytes) : endOfRecords(bytes, 0, Math.min(available, blockSize - layout.paddingSize(false)))
    if (end < available && tail.number === 0 && !isSealed && await this.correctBlockSize(size)) return true
    if (endOfRecords(bytes, 0, tail.end) !== tail.end || end < tail.end) {
      throw errors.corrupt(file.filename, tail.number, blockSize, Math.min(end, tail.end),
        'it is not what was read of it before; was the file replaced?')
    }
    if (problem !== null && size > start + blockSize) return this.doubt(tail, problem)
    // a damaged tail stays as it is until a writer goes on behind it
    if (tail.error !== null && !isSealed && end < available) return false
    tail.error = null
    this.show(tail, bytes, end)
    if (isSealed) this.turn(tail)
    return isSealed
  }

  /**
   * Reads bytes that no deletion is changing just then: a block with a checksum says
   * so itself; for others, the recovery point tells, which a writer replaces before
   * and after it rewrites a block, and which holds what will be in it.
   * @param {number} offset
   * @param {number} size
   */
  async read (offset, size) {
    const { blocks, io } = this
    for (;;) {
      const { point } = this
      const bytes = await io.read(offset, size)
      const isChecked = blocks.checksum && size === blocks.blockSize && storedChecksum(bytes) !== 0
      if (isChecked && findProblem(bytes, true) === null) return bytes
      if (await this.isStill(point)) {
        return withRewrites(async () => bytes, this.point?.rewrites ?? [])(offset, size)
      }
    }
  }

  /**
   * @param {import('../storage/recovery-point').RecoveryPoint | null} point that was there before something was read
   * @returns {Promise<boolean>} whether it still is, so that nothing was rewritten in between
   */
  async isStill (point) {
    await this.readPoint()
    return this.point?.id === point?.id || this.closed
  }

  /**
   * For blocks that were read while `point` was there.
   * @param {import('../storage/recovery-point').RecoveryPoint | null | undefined} point
   * @param {(isSame: boolean) => void} cb
   */
  compare (point, cb) {
    // if that cannot be read, the blocks are as they were found
    this.isStill(point ?? null).catch(() => true).then(isSame => process.nextTick(cb, isSame))
  }

  async readPoint () {
    const { blocks } = this
    this.point = await this.io.readPoint()
    blocks.overrides.clear()
    for (const { offset, data } of this.point?.rewrites ?? []) {
      if (data.length === blocks.blockSize) blocks.overrides.set(offset / blocks.blockSize, data)
    }
  }

  /**
   * With less than a block in the file its block size is a guess, until its first padding comes.
   * @param {number} size the file's, in bytes
   * @returns {Promise<boolean>} whether it was wrong
   */
  async correctBlockSize (size) {
    const { blocks, io, file, options } = this
    const found = detectBlockSize(await io.read(0, Math.min(size, 2 * layout.MAX_BLOCK_SIZE)))
    if (found === undefined || found === blocks.blockSize) return false
    if (options.blockSize !== undefined) {
      throw errors.blockSize(file.filename, options.blockSize, `the file has blocks of ${found} bytes`, found)
    }
    blocks.resize(found)
    options.onblocksize(found)
    return true
  }

  /**
   * @param {Block} tail
   * @param {Buffer} bytes
   * @param {number} end
   */
  show (tail, bytes, end) {
    if (end === tail.end) return
    this.lastSeq = tail.number * this.blocks.blockSize + layout.previousPosition(bytes, end)
    tail.setBuffer(bytes)
    tail.end = end
  }

  /** @param {Block} tail which is full */
  turn (tail) {
    const { blocks } = this
    tail.sealed = true
    if (tail.error === null) blocks.add(tail)
    blocks.tail = new Block(tail.number + 1, Buffer.alloc(0), 0, false)
    this.doubts = 0
  }

  /**
   * A block is not sound, and others follow it. It is looked at again, in case it is
   * being written after all; then it counts as damaged.
   * @param {Block} tail
   * @param {import('../format/validation').Problem} problem
   * @returns {boolean} whether to go on behind it
   */
  doubt (tail, { position, reason }) {
    if (this.doubts++ < MOST_DOUBTS) {
      setTimeout(() => this.look(), DOUBT_TIME)
      return false
    }
    tail.error = errors.corrupt(this.file.filename, tail.number, this.blocks.blockSize, position, reason)
    this.turn(tail)
    return true
  }

  close () {
    this.closed = true
    this.watch?.stop()
  }
}

module.exports = { Follower }
