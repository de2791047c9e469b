'use strict'

// Where the log ends for a client: the owner says so. The block with the end is read from
// the file when somebody wants to read it, not before: what others append costs a client
// that only appends nothing.

const errors = require('../errors')
const { callAll } = require('../callbacks')
const { endOfRecords, findProblem } = require('../format/validation')
const { isHole } = require('../format/hole')
const { Block } = require('../format/block')
const { FollowedPoint } = require('../read/followed-point')
const { applyPatches } = require('../format/deletions')

/** Milliseconds after which a read that has failed is tried again for streams that wait. */
const RETRY_DELAY = 50

/**
 * @typedef {object} Listeners
 * @property {(isFresh: boolean) => void} onfresh blocks have all that the owner has told of, or do not any more
 * @property {() => void} onread blocks have more than when readers were told of the end
 * @property {(awaitsOwner: boolean) => void} onwait calls wait for what the owner is about to tell, or do not any more
 * @property {(err: Error) => void} onfailure the file cannot be read, or is not what the owner says
 */

class ClientEnd {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('../storage/promisified-file').Io} io
   * @param {import('../read/block-cache').BlockCache} blocks
   * @param {import('../clock').Clock} clock
   * @param {Listeners} listeners
   */
  constructor (file, io, blocks, clock, listeners) {
    this.clock = clock
    this.file = file
    this.io = io
    this.blocks = blocks
    this.listeners = listeners
    this.point = new FollowedPoint(io, blocks, null, () => {})
    blocks.followedPoint = this.point
    /** What `peek` said of the recovery point when the tail was read last; it says something else after a deletion. */
    this.seenPoint = ''
    /** What the owner has told. */
    this.end = 0
    this.lastSeq = -1
    this.isFresh = true
    /** How often the tail was rewritten: until now, and before it was read. */
    this.tailChanges = 0
    this.knownTailChanges = 0
    /** The log's start may be another one than when the point was read last. */
    this.mayBeTrimmed = false
    this.isReading = false
    /** Callers wait for what the owner is about to tell. */
    this.awaitsOwner = false
    /** Readers are told when this is over. */
    this.isTelling = false
    this.isHeld = false
    /** Nothing is read: this process is about to become the owner. */
    this.isStopped = false
    this.isClosed = false
    /** @type {Array<(err: Error | null) => void>} */
    this.waiting = []
    /** @type {((value: null) => void) | null} */
    this.onpause = null
  }

  /** Whether the tail was rewritten since it was read. It stays so until what was read is shown. */
  get isTailOutdated () {
    return this.tailChanges !== this.knownTailChanges
  }

  /** Whether the recovery point has to be read because only that tells where the log starts now; not while nothing is read. */
  get isStartOutdated () {
    return this.mayBeTrimmed && this.point.isOutdated && !this.isStopped
  }

  /** Whether the owner has trimmed the tail, so that it has told, or is about to tell, that the log ends in a later block. */
  get isTailTrimmed () {
    const { tail, blockSize, start } = this.blocks
    return tail.number * blockSize < start
  }

  /**
   * @param {number} end
   * @param {number} lastSeq
   */
  tell (end, lastSeq) {
    if (end < this.end) return this.listeners.onfailure(errors.shrunk(this.file.filename, this.end, end))
    this.end = end
    this.lastSeq = lastSeq
    this.isTelling = true
    this.considerReading()
    this.isTelling = false
  }

  /**
   * Blocks were rewritten by a deletion.
   * @param {number[]} numbers none: any of them may have been
   */
  rewritten (numbers) {
    const { blocks } = this
    // the file may have old bytes, of which only the recovery point tells
    this.point.outdate()
    if (numbers.length === 0) blocks.forget()
    else for (const number of numbers) blocks.invalidate(number)
    if (numbers.length === 0 || numbers.includes(blocks.tail.number)) this.tailChanges++
    // as it is told of a trim
    if (numbers.length === 0 || numbers.includes(0)) this.mayBeTrimmed = true
    this.considerReading()
  }

  /** @param {number} start where the log starts now, at least */
  trimmed (start) {
    if (start > this.blocks.start) this.blocks.trim(start)
  }

  /** Reads only if a reader waits. */
  considerReading () {
    if (!this.point.isOutdated) this.mayBeTrimmed = false
    const isFresh = this.blocks.end === this.end && !this.isTailOutdated && !this.isStartOutdated
    if (isFresh !== this.isFresh) this.listeners.onfresh(this.isFresh = isFresh)
    if (this.waiting.length > 0 || (!isFresh && this.isHeld)) this.read()
  }

  /** @param {boolean} isHeld whether readers wait for more */
  hold (isHeld) {
    this.isHeld = isHeld
    // not on the stack of the reader, who has only just begun to wait
    if (isHeld) process.nextTick(() => this.considerReading())
  }

  /** @param {(err: Error | null) => void} cb called when blocks have all that the owner has told of until now; at once, if they do, unless
   *   the log was trimmed further than that: it would seem empty */
  whenFresh (cb) {
    if (this.isClosed) return process.nextTick(cb, errors.closed(this.file.filename))
    if (this.isFresh && !this.blocks.isOvertaken) return cb(null)
    this.waiting.push(cb)
    this.read()
  }

  read () {
    if (this.isReading || this.isClosed) return
    this.isReading = !this.isStopped
    this.updateWait()
    if (!this.isReading) return
    this.step()
  }

  /** Reads what is missing, one block after the other. */
  step () {
    const { blocks, end } = this
    if (this.isClosed) return this.finish(errors.closed(this.file.filename))
    if (this.isStopped) return this.pause()
    const { tail, blockSize } = blocks
    const number = Math.floor(end / blockSize)
    if (number > tail.number) this.completeTail(tail, number)
    // the owner is about to tell what came since
    else if (this.isTailTrimmed) this.pause()
    else if (this.isTailOutdated) this.rereadTail(end % blockSize)
    else if (blocks.end < end) this.extendTail(end % blockSize)
    else if (this.isStartOutdated) this.lookForStart()
    // the same
    else if (blocks.isOvertaken) this.pause()
    else this.finish(null)
  }

  /**
   * The log ends in a later block: cursors in this one find it complete.
   * @param {Block} tail
   * @param {number} next number of the block in which the log ends
   */
  completeTail (tail, next) {
    const { blocks } = this
    blocks.load(tail.number, 1, { cacheShare: 1, isSingle: true }, ([block]) => {
      tail.complete(block)
      this.knownTailChanges = this.tailChanges
      blocks.tail = new Block(next, Buffer.allocUnsafeSlow(blocks.blockSize), 0, false)
      this.step()
    })
  }

  /** @param {number} end position up to which the tail has records */
  extendTail (end) {
    const { blocks, file } = this
    const { tail, blockSize } = blocks
    const from = tail.end
    file.readSmall(tail.number * blockSize + from, end - from, true, (err, bytes) => {
      if (err) return this.finish(err)
      const { buffer } = tail
      // a block that was found at opening may be a copy of what there was of it
      if (buffer.length < blockSize) tail.setBuffer(withRoom(buffer, blockSize))
      const seen = file.metadata?.peek() ?? null
      if (seen === null || seen !== this.seenPoint) return this.rereadTail(end)
      // what was deleted there before this process was told that the log has it
      const added = applyPatches(/** @type {Buffer} */ (bytes), tail.number * blockSize + from, this.point.patches)
      added.copy(tail.buffer, from, 0, end - from)
      const framed = endOfRecords(tail.buffer, from, end)
      if (framed !== end) return this.explain(tail, framed)
      tail.end = end
      this.step()
    })
  }

  /** Blocks that readers have may be trimmed: they would not be read again. */
  lookForStart () {
    this.point.read().then(() => process.nextTick(() => this.step()), (err) => process.nextTick(() => this.finish(err)))
  }

  /**
   * Reads all of the tail, in a way that a deletion in progress does not disturb.
   * @param {number} end
   */
  rereadTail (end) {
    const { tail, blockSize } = this.blocks
    const { tailChanges } = this
    this.readStable(tail.number * blockSize, end).then((bytes) => process.nextTick(() => {
      // read before or after it was trimmed: readers that are in it have what they have read of it
      if (this.isTailTrimmed) return this.step()
      const framed = endOfRecords(bytes, 0, end)
      if (framed !== end) return this.explain(tail, framed)
      tail.setBuffer(withRoom(bytes, blockSize))
      this.blocks.generation++
      this.knownTailChanges = tailChanges
      tail.end = end
      this.step()
    }), (err) => process.nextTick(() => this.finish(err)))
  }

  /**
   * @param {number} offset
   * @param {number} size
   * @returns {Promise<Buffer>}
   */
  async readStable (offset, size) {
    for (;;) {
      this.seenPoint = this.file.metadata?.peek() ?? ''
      const before = await this.point.read()
      const bytes = await this.io.read(offset, size)
      const after = await this.point.read()
      if (before?.id === after?.id) return applyPatches(bytes, offset, this.point.patches)
    }
  }

  /**
   * The tail is not as the owner told of it: it may have been trimmed since, or all of its records deleted, which happens only to a block
   * that the log does not end in any more. The owner has told that, or is about to tell.
   * @param {Block} tail
   * @param {number} position at which no record starts
   */
  explain (tail, position) {
    const { blocks, file } = this
    this.isTailHole().then((isHole) => process.nextTick(() => {
      if (this.isTailTrimmed || this.end >= (tail.number + 1) * blocks.blockSize) return this.step()
      if (isHole) return this.pause()
      this.finish(errors.corrupt(file.filename, tail.number, blocks.blockSize, position, 'the owner of the log says that a record starts here, but none does'))
    }), (err) => process.nextTick(() => this.finish(err)))
  }

  async isTailHole () {
    const { tail, blockSize } = this.blocks
    const start = tail.number * blockSize
    // what was trimmed is looked up in any case
    await this.point.read()
    if (await this.io.size() < start + blockSize) return false
    const bytes = await this.readStable(start, blockSize)
    return findProblem(bytes, true) === null && isHole(bytes)
  }

  /** @param {Error | null} err */
  finish (err) {
    if (this.isStopped && !this.isClosed) return this.pause()
    this.isReading = false
    const waiting = this.waiting.splice(0)
    // a read may say something else of a file that is closed
    if (err !== null && this.isClosed) err = errors.closed(this.file.filename)
    else if (err !== null) this.fail(err)
    else {
      if (!this.isTelling) this.listeners.onread()
      this.considerReading()
    }
    callAll(waiting, err)
  }

  /** @param {Error} err */
  fail (err) {
    if (String(/** @type {any} */ (err).code).startsWith('flumelog:')) return this.listeners.onfailure(err)
    // no more file descriptors, for example: callers get the error, streams that wait go on later
    if (this.isHeld) this.clock.setTimeout(() => this.considerReading(), RETRY_DELAY)
  }

  /**
   * The log is another file now: blocks are those of that file already. Nothing is read until `resume`.
   * @param {number} end of the log, as far as it was copied
   * @param {number} lastSeq
   */
  moved (end, lastSeq) {
    this.end = end
    this.lastSeq = lastSeq
    this.seenPoint = ''
    // what was deleted there since
    this.tailChanges++
    // streams go on before `resume`
    this.point = this.blocks.followedPoint = new FollowedPoint(this.io, this.blocks, null, () => {})
  }

  // While this process becomes the owner, or moves to another file

  /** @returns {Promise<void>} resolves when the tail is not being read any more; readers that wait for it go on waiting */
  async stop () {
    this.isStopped = true
    this.considerReading()
    if (this.isReading) await new Promise(resolve => { this.onpause = resolve })
  }

  pause () {
    this.isReading = false
    this.updateWait()
    const { onpause } = this
    this.onpause = null
    if (onpause !== null) onpause(null)
  }

  updateWait () {
    const awaitsOwner = this.waiting.length > 0 && !this.isReading
    if (awaitsOwner !== this.awaitsOwner) this.listeners.onwait(this.awaitsOwner = awaitsOwner)
  }

  /** @param {Error | null} err */
  answer (err) {
    const waiting = this.waiting.splice(0)
    this.updateWait()
    callAll(waiting, err)
  }

  /** @param {Error} err why callers need not wait for the owner any longer */
  giveUp (err) {
    if (!this.isReading) this.answer(err)
  }

  /** It has not become the owner. */
  resume () {
    this.isStopped = false
    this.blocks.followedPoint = this.point
    // its patches may have been dropped
    this.point.patchedId = undefined
    this.point.outdate()
    this.considerReading()
    if (this.waiting.length > 0 || this.isHeld) this.read()
  }

  /** It is the owner: blocks have everything. */
  release () {
    this.isClosed = true
    this.answer(null)
  }

  close () {
    this.isClosed = true
    this.giveUp(errors.closed(this.file.filename))
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} size
 * @returns {Buffer} one of this size that starts with them
 */
function withRoom (bytes, size) {
  const whole = Buffer.allocUnsafeSlow(size)
  bytes.copy(whole)
  return whole
}

module.exports = { ClientEnd }
