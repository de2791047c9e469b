'use strict'

// Deletion: a record's data is zeroed in place. Whatever moment the machine stops at, the
// block must not be left half old, half new. So a deletion is first recorded in FILE.meta,
// as what to zero; from then on it is done, as far as callers and readers can tell. The
// log's file gets the zeros later (see recorded-deletions.js). Recovery repeats what is recorded.
//
//     sync        acknowledged when recorded, and    in the log's file
//     ----------  ---------------------------------  -------------------------------
//     'always'    fdatasynced                        before it is acknowledged
//     'interval'  -                                  within `syncInterval`; `sync`, `close`
//     'never'     -                                  `sync`, `close`
//
// Of a block in which no other record is left, all is deleted: it becomes a hole (see hole-maker.js).

const layout = require('../format/layout')
const { storedChecksum, writeChecksum } = require('../format/checksum')
const { holeOf } = require('../format/hole')
const errors = require('../errors')
const { SingleTimer } = require('../clock')
const { Block } = require('../format/block')
const { deletionOf, wholeDeletionOf } = require('../format/deletions')
const { callBack, promised } = require('../callbacks')
const { HoleMaker } = require('./hole-maker')
const { RangeDeletion } = require('./range-deletion')

/** The most blocks changed at a time, so that appends do not wait long. */
const MAX_BLOCKS = 64
/** Records, after which no further block is started: each takes some microseconds of the event loop. */
const MAX_RECORDS = 1000
/** Bytes of blocks of ranges that are changed at a time. */
const MAX_RANGE_BYTES = 1024 * 1024

/**
 * @typedef {(err: Error | null) => void} Done
 * @typedef {{ seq: number, cb: Done } | import('./range-deletion').RangeRequest} Request
 * @typedef {import('../format/deletions').Deletion} Deletion
 * @typedef {import('./durability').DurabilityOptions & { holes?: boolean }} DeleterOptions holes: whether empty blocks become holes, default true
 *
 * @typedef {object} Change a block of which records are being deleted
 * @property {Block} block as readers have it
 * @property {Buffer | null} after its bytes, without these records; null: more may be packed into it until they are needed
 * @property {Done[]} callbacks of the requests
 * @property {Deletion} deletion
 */

class Deleter {
  /**
   * @param {import('./writer').Writer} writer
   * @param {DeleterOptions} options
   */
  constructor (writer, options) {
    this.writer = writer
    this.file = writer.file
    this.blocks = writer.blocks
    this.options = options
    /** Deletions that were asked for and not started, by block. @type {Map<number, Request[]>} */
    this.requests = new Map()
    /** Ranges that are not deleted yet, the first one first. @type {RangeDeletion[]} */
    this.ranges = []
    /** The next operation, for what was asked for. @type {Promise<void> | null} */
    this.next = null
    /** The next operation that makes deletions durable. @type {Promise<void> | null} */
    this.flushing = null
    this.timer = new SingleTimer(writer.clock, () => this.ontimer())
    this.holes = new HoleMaker(this)
  }

  get hasRequests () {
    return this.requests.size > 0 || this.ranges.length > 0
  }

  /** Whether a power cut may undo deletions. */
  get hasUnsynced () {
    return this.writer.metadata.hasUnsynced
  }

  /**
   * @param {number} seq
   * @param {Done} cb
   */
  request (seq, cb) {
    this.add(Math.floor(seq / this.blocks.blockSize), { seq, cb: (err) => process.nextTick(cb, err) })
  }

  /**
   * @param {number} min the least seq
   * @param {number} max the greatest seq; in the log
   * @param {Done} cb
   */
  requestRange (min, max, cb) {
    const { blocks } = this
    const first = Math.max(min, blocks.start)
    const done = (/** @type {Error | null} */ err) => {
      if (err || min >= blocks.start) cb(err)
      else this.whenTrimIsDurable(cb)
    }
    if (first > max) return process.nextTick(done, null)
    this.ranges.push(new RangeDeletion(first, max, blocks.blockSize, done))
    this.start()
  }

  /** @param {Done} cb called when what was trimmed is as durable as what was deleted has to be */
  whenTrimIsDurable (cb) {
    if (this.options.sync === 'always') callBack(this.writer.metadata.sync(), cb)
    else cb(null)
  }

  /**
   * @param {number} number of a block that becomes a hole if nothing is left in it
   * @param {Done} cb
   */
  requestHole (number, cb) {
    this.add(number, { min: Infinity, max: -Infinity, cb })
  }

  /**
   * @param {number} number of a block
   * @param {Request} request
   */
  add (number, request) {
    const requests = this.requests.get(number)
    if (requests === undefined) this.requests.set(number, [request])
    else requests.push(request)
    this.start()
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  moveRequests (map) {
    const all = [...this.requests.values()].flat()
    this.requests.clear()
    for (const request of all) {
      // a block that was to become a hole is gone
      const now = 'seq' in request ? map.at(request.seq) : null
      if (now === null) answer([request.cb], null)
      else this.request(now, request.cb)
    }
    for (const range of this.ranges) range.move(map)
    this.holes.moved()
  }

  // Operations

  /** @returns {Promise<void>} resolves when the next one is over; others follow while there are requests */
  start () {
    if (this.next === null) {
      const next = this.next = this.writer.exclusively(() => {
        this.next = null
        return this.step()
      })
      next.then(() => { if (this.hasRequests) this.start() }, err => this.fail(err))
    }
    return this.next
  }

  /** @param {Error} err the writer has failed */
  fail (err) {
    this.next = null
    for (const requests of this.requests.values()) answer(requests.map(({ cb }) => cb), err)
    this.requests.clear()
    for (const range of this.ranges) range.fail(err)
    this.answerRanges()
  }

  /** Deletes what was asked for in the first blocks. */
  async step () {
    const [range] = this.ranges
    if (range !== undefined && this.holes.mustSettle(range)) await this.writer.deletions.settle().catch(err => range.fail(err))
    const changes = await this.load()
    if (changes.length > 0) await this.commit(changes)
    this.answerRanges()
  }

  answerRanges () {
    for (const { cb, failure } of this.ranges.filter(({ isOver }) => isOver)) process.nextTick(cb, failure)
    this.ranges = this.ranges.filter(({ isOver }) => !isOver)
  }

  /**
   * For `sync`: makes durable what was deleted before.
   * @param {((err: Error | null) => void) | undefined} cb
   * @returns {((err: Error | null) => void) | undefined} what to call when all else is durable
   */
  syncFirst (cb) {
    if (this.writer.state === 'closed' || (!this.hasUnsynced && !this.hasRequests)) return cb
    const flushed = this.flush()
    flushed.catch(() => {})
    return cb === undefined ? cb : (err) => err ? cb(err) : callBack(flushed, cb)
  }

  /** @returns {Promise<void>} resolves when all that was deleted is durable */
  flush () {
    if (this.flushing === null) {
      this.flushing = this.writer.exclusively(async () => {
        this.flushing = null
        const { deletions } = this.writer
        await deletions.makeDurable()
        // what is recorded and durable is done; only the zeros are tried again, later
        await deletions.writeZeros().catch(() => {})
      })
      this.flushing.then(() => this.considerHoles()).catch(() => {}).then(() => this.startTimer())
    }
    return this.flushing
  }

  /** There is no timer that makes them. */
  async considerHoles () {
    if (this.options.sync === 'never' && this.holes.hasSome) await this.holes.make()
  }

  /** @param {() => void} cb called when nothing is left to be done before the log is closed */
  finish (cb) {
    if (this.writer.failure !== null || !(this.hasRequests || this.holes.hasSome)) return cb()
    this.holes.make().catch(() => {}).then(cb)
  }

  /** @returns {Promise<Change[]>} */
  async load () {
    /** @type {Change[]} */
    const changes = []
    await Promise.all([...this.takeRequests()].map(([number, requests]) => new Promise((resolve) => {
      this.blocks.get(number, requests.some(request => 'seq' in request), (err, block) => {
        if (err) this.refuse(number, requests, err)
        else this.prepare(/** @type {Block} */ (block), requests, changes)
        resolve(null)
      })
    })))
    return changes
  }

  /**
   * @param {number} number of a block that cannot be read
   * @param {Request[]} requests
   * @param {Error} err
   */
  refuse (number, requests, err) {
    const { blocks } = this
    const isTrimmed = number * blocks.blockSize < blocks.start
    for (const request of requests) {
      if (!isTrimmed) answer([request.cb], err)
      // nothing of the range is left in this block
      else if (!('seq' in request)) answer([request.cb], null)
      else this.whenTrimIsDurable(failure => answer([request.cb], failure ?? blocks.trimmedAt(request.seq)))
    }
  }

  /** @returns {Map<number, Request[]>} what to do next, by block */
  takeRequests () {
    /** @type {Map<number, Request[]>} */
    const taken = new Map()
    let records = 0
    for (const [number, requests] of this.requests) {
      if (taken.size === MAX_BLOCKS || records > MAX_RECORDS) break
      taken.set(number, requests)
      records += requests.length
      this.requests.delete(number)
    }
    const most = Math.min(MAX_BLOCKS, Math.max(1, Math.floor(MAX_RANGE_BYTES / this.blocks.blockSize)))
    for (const range of this.ranges) {
      while (!range.isOver && taken.size < most) {
        const [number, request] = range.take()
        const requests = taken.get(number)
        if (requests === undefined) taken.set(number, [request])
        else requests.push(request)
      }
    }
    return taken
  }

  /**
   * Makes a changed copy of a block: readers that hold records of the old one keep them.
   * @param {Block} block
   * @param {Request[]} requests
   * @param {Change[]} changes gets one if there is something to change
   */
  prepare (block, requests, changes) {
    const { blocks: { blockSize } } = this
    const start = block.number * blockSize
    /** @type {Set<number>} */
    const positions = new Set()
    const callbacks = []
    const { isHole } = block
    for (const request of requests) {
      if (!('seq' in request)) {
        for (const position of layout.livePositions(block.buffer, block.end)) {
          if (position > request.max - start) break
          if (position >= request.min - start) positions.add(position)
        }
      } else if (!isHole && !block.startsAt(request.seq - start)) {
        answer([request.cb], errors.noRecordStarts(this.file.filename, request.seq))
        continue
      } else if (!isHole && !layout.isDeleted(block.buffer, request.seq - start)) positions.add(request.seq - start)
      callbacks.push(request.cb)
    }
    const isWhole = this.writer.written >= start + blockSize
    const isEmptied = isWhole && !isHole && !hasOthers(block, positions)
    if (isEmptied && this.holes.canBecomeHole(block.number)) {
      const deletion = wholeDeletionOf(start, block.buffer)
      changes.push({ block, after: holeOf(blockSize, deletion.checksum !== null), callbacks, deletion })
      return
    }
    if (positions.size === 0) return answer(callbacks, null)
    if (isEmptied || !isWhole) this.holes.consider(block.number)
    const hasChecksum = isWhole && storedChecksum(block.buffer) !== 0
    const after = isWhole ? copyWithout(block.buffer, positions) : null
    if (after !== null && hasChecksum) writeChecksum(after)
    const checksum = after !== null && hasChecksum ? storedChecksum(after) : null
    const deletion = deletionOf(start, block.buffer, [...positions].sort((a, b) => a - b), checksum)
    changes.push({ block, after, callbacks, deletion })
  }

  /** @param {Change[]} changes */
  async commit (changes) {
    const { writer } = this
    const { metadata, durability, deletions: recorded } = writer
    const deletions = changes.map(({ deletion }) => deletion)
    const isAlways = this.options.sync === 'always'
    /** @type {Error | null} */
    let failure = null
    try {
      if (metadata.isLong) await recorded.settle()
      await metadata.record(deletions)
      try {
        if (isAlways) await Promise.all([metadata.sync(), promised(cb => durability.confirmPath(cb))])
      } catch (err) {
        metadata.withdraw(deletions)
        // other processes read it; if that fails, too, the next operation tries again
        await metadata.write().catch(() => {})
        throw err
      }
      for (const change of changes) this.take(change)
      // it is done without that: readers of the file get it patched until this succeeds
      if (isAlways) await recorded.writeZeros().catch(() => {})
    } catch (err) {
      failure = /** @type {Error} */ (err)
    }
    if (failure === null) {
      writer.clients.rewritten()
      writer.compaction?.rewritten(changes.map(({ block }) => block.number))
    }
    for (const { callbacks } of changes) answer(callbacks, failure)
    this.startTimer()
  }

  /**
   * Readers of this process see a block without its deleted records.
   * @param {Change} change
   */
  take ({ block, after, deletion }) {
    const { blocks } = this
    const { number } = block
    this.writer.deletions.add(number)
    const whole = after ?? copyWithout(block.buffer, deletion.records.map(({ seq }) => seq - deletion.block))
    // a hole has nothing that anybody reads
    if (deletion.isHole) return
    if (block !== blocks.tail) return blocks.add(new Block(number, whole, block.end, true))
    const isFull = block !== this.writer.packer.filling
    if (isFull && after === null && blocks.checksum) writeChecksum(whole)
    block.setBuffer(whole)
  }

  /**
   * Blocks were trimmed: nothing in them is left to be deleted.
   * @param {number} first number of the first that is not
   */
  trim (first) {
    for (const range of this.ranges) range.skipTo(first)
    this.holes.trim(first)
  }

  /** Whether deletions wait for the timer. */
  get mustFlush () {
    return this.options.sync === 'interval' && (this.hasUnsynced || this.writer.deletions.hasPending)
  }

  startTimer () {
    const { options: { sync, syncInterval }, timer, writer } = this
    if (sync === 'never' || timer.isRunning || writer.failure !== null || writer.state === 'closed') return
    if (this.mustFlush || this.holes.hasSome) timer.start(syncInterval)
  }

  ontimer () {
    if (this.mustFlush) this.flush().catch(() => {})
    if (this.holes.hasSome) this.holes.make().catch(() => {})
  }
}

/**
 * @param {Buffer} block
 * @param {Iterable<number>} positions of records to be deleted
 */
function copyWithout (block, positions) {
  const copy = Buffer.allocUnsafeSlow(block.length)
  block.copy(copy)
  for (const position of positions) layout.zeroRecord(copy, position)
  return copy
}

/**
 * @param {Block} block
 * @param {Set<number>} positions
 * @returns {boolean} whether records are in it that are neither deleted nor at these positions
 */
function hasOthers ({ buffer, end }, positions) {
  for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) {
    if (!positions.has(position) && !layout.isDeleted(buffer, position)) return true
  }
  return false
}

/**
 * @param {Done[]} callbacks
 * @param {Error | null} err
 */
function answer (callbacks, err) {
  for (const cb of callbacks) cb(err)
}

module.exports = { Deleter }
