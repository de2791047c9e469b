'use strict'

// Appended records are put into blocks in memory at once; one write after the
// other takes all that has gathered. A call is acknowledged when its bytes are
// written (or synced, if it asked for that), and only then do readers see them.
//
// Four offsets into the file, each at most the one before:
//
//     appended       where the next record goes
//     written        up to here the operating system has it
//     acknowledged   up to here callers were told so; here readers see the log end
//     synced         up to here it is on the disk

const layout = require('../format/layout')
const { writeChecksum } = require('../format/checksum')
const errors = require('../errors')
const { Block } = require('../read/block')
const { sizeOf } = require('../storage/path-file')
const { CommitGroup } = require('./commit-group')

/** The most bytes of one write; a longer queue is served in several, so none waits long. */
const MAX_WRITE = 1024 * 1024
/** What stands in the file for the first length of an atomic batch, until the rest is on the disk. */
const NO_LENGTH = Buffer.alloc(layout.LENGTH_SIZE)

/**
 * @typedef {import('./commit-group').Appended} Appended
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {object} WriterOptions
 * @property {number} blockSize in bytes
 * @property {boolean} checksum
 * @property {'always' | 'interval' | 'never'} sync
 * @property {number} syncInterval in milliseconds
 * @property {number} syncBytes
 * @property {number} highWaterMark bytes of data in flight
 * @property {'queue' | 'reject'} overflow
 */

class Writer {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('../read/block-cache').BlockCache} blocks whose tail is where the log ends
   * @param {WriterOptions} options
   * @param {number} lastSeq the last record's, -1 if there is none
   * @param {(seq: number) => void} onacknowledged the log's last record is now this one, and readers see it
   */
  constructor (file, blocks, options, lastSeq, onacknowledged) {
    this.file = file
    this.blocks = blocks
    this.options = options
    this.blockSize = options.blockSize
    this.checksum = options.checksum
    this.onacknowledged = onacknowledged

    /** From the block in which the log ends for readers to the one that is being filled. */
    this.pending = [blocks.tail]
    /** The last of them, the one that is being filled. */
    this.filling = blocks.tail
    /** Where the next record starts in it. */
    this.position = blocks.tail.end

    /** The calls that were made since a block or a write began. */
    this.newest = new CommitGroup(0)
    /** Those before, which are not stored; oldest first. @type {CommitGroup[]} */
    this.queue = []
    /** Those that are stored, but not called back. @type {CommitGroup[]} */
    this.stored = []
    this.lastSeq = lastSeq
    this.written = this.acknowledged = this.synced = blocks.end
    /** The end of the write that is under way. */
    this.target = this.written

    /** The one operation that changes the file: no two at a time. */
    this.busy = false
    this.scheduled = false
    this.mustTruncate = false
    /** The log takes no more appends. @type {Error | null} */
    this.failure = null
    /** the offset after the last append that asked to be synced */
    this.forced = 0
    /** Blocks of atomic batches that are not written, by number. @type {number[]} */
    this.atomic = []
    this.highWaterMark = options.highWaterMark
    this.overflow = options.overflow

    /** Work that must not run beside a write, such as deletion. @type {Array<(done: () => void) => void>} */
    this.jobs = []
    /** @type {Array<{ end: number, cb: Done }>} */
    this.drainWaiting = []
    /** @type {Array<{ end: number, cb: Done }>} */
    this.syncWaiting = []
    /** Those who wait until no more than so many bytes are in flight. @type {Array<{ most: number, cb: () => void }>} */
    this.roomWaiting = []
    this.syncing = false
    /** @type {NodeJS.Timeout | null} */
    this.syncTimer = null

    /** What the recovery point beside the file says; -1: there is none. */
    this.pointOffset = -1
    this.writingPoint = false
    /** @type {Done[]} */
    this.pointWaiting = []
    /** Deletions that are under way, by the bytes that will be in the file. @type {import('../storage/recovery-point').Rewrite[]} */
    this.rewrites = []

    this.counts = {
      appended: { records: 0, bytes: 0 },
      written: { records: 0, bytes: 0 },
      synced: { records: 0, bytes: 0 },
      rejected: { records: 0, bytes: 0 },
      inFlight: { records: 0, bytes: 0 },
      writes: 0,
      syncs: 0
    }
    this.onwrite = this.onwrite.bind(this)
    this.run = this.run.bind(this)
    this.callBack = this.callBack.bind(this)
  }

  get appended () {
    return this.filling.number * this.blockSize + this.position
  }

  // Taking records in

  /**
   * @param {Uint8Array} data a record; the caller has made sure it is storable and not too large
   * @param {boolean} forced acknowledge it only when it is on the disk
   * @param {Appended | undefined} cb
   */
  append (data, forced, cb) {
    if (!this.hasRoom(data.length)) return this.refuse(1, data.length, cb)
    this.accept(this.place(data), 1, data.length, forced, cb)
  }

  /**
   * For who waits for room of his own accord.
   * @param {Uint8Array} data
   * @param {Appended} cb
   */
  appendUnlimited (data, cb) {
    if (this.failure !== null) return this.refuse(1, data.length, cb)
    this.accept(this.place(data), 1, data.length, false, cb)
  }

  /**
   * @param {Uint8Array[]} batch as for append; they are stored one after the other
   * @param {boolean} forced
   * @param {Appended | undefined} cb
   */
  appendBatch (batch, forced, cb) {
    const bytes = sizeOf(batch)
    if (!this.hasRoom(bytes)) return this.refuse(batch.length, bytes, cb)
    let seq = this.newestSeq
    for (const data of batch) seq = this.place(data)
    this.accept(seq, batch.length, bytes, forced, cb)
  }

  /**
   * A batch of which all or nothing survives a crash: in a block of its own, whose
   * first length is written last, when all the rest is on the disk. Without it the
   * block begins with a length of 0, which is no record, and is cut off.
   * @param {Uint8Array[]} batch as for append; the caller has made sure that it fits a block
   * @param {boolean} forced
   * @param {(err: Error | null, seqs?: number[]) => void} cb
   */
  appendAtomic (batch, forced, cb) {
    const bytes = sizeOf(batch)
    if (!this.hasRoom(bytes)) return this.refuse(batch.length, bytes, cb)
    if (batch.length === 0) return this.appendBatch(batch, forced, (err) => err ? cb(err) : cb(null, []))
    if (this.position > 0) this.turn()
    this.atomic.push(this.filling.number)
    const seqs = batch.map(data => this.place(data))
    this.turn()
    this.accept(seqs[seqs.length - 1], batch.length, bytes, forced, (err) => err ? cb(err) : cb(null, seqs))
    this.endGroup()
  }

  /** The last record that was taken in, acknowledged or not. */
  get newestSeq () {
    if (!this.newest.isEmpty) return this.newest.lastSeq
    return this.queue.length > 0 ? this.queue[this.queue.length - 1].lastSeq : this.lastSeq
  }

  /**
   * @param {number} bytes
   * @returns {boolean} whether so much more is taken in
   */
  hasRoom (bytes) {
    if (this.failure !== null) return false
    if (this.overflow === 'queue') return true
    const { inFlight } = this.counts
    // what is larger than the mark is taken alone, rather than never
    return inFlight.bytes + bytes <= this.highWaterMark || inFlight.records === 0
  }

  /**
   * @param {Uint8Array} data
   * @returns {number} the seq of the record
   */
  place (data) {
    if (!layout.fits(this.blockSize, this.checksum, this.position, data.length)) this.turn()
    const block = this.filling
    const seq = block.number * this.blockSize + this.position
    this.position = layout.writeRecord(block.buffer, this.position, data)
    return seq
  }

  /** Ends the block that is being filled, and begins the next one. */
  turn () {
    const { buffer } = this.filling
    layout.seal(buffer, this.position)
    // now, while the processor has the block at hand
    if (this.checksum) writeChecksum(buffer)
    this.filling = new Block(this.filling.number + 1, Buffer.allocUnsafe(this.blockSize), 0, false)
    this.pending.push(this.filling)
    this.position = 0
    this.endGroup()
  }

  /** What is appended from now on may be stored by another write than what was before. */
  endGroup () {
    if (this.newest.isEmpty) return
    this.queue.push(this.newest)
    this.newest = new CommitGroup(this.newest.count)
  }

  /**
   * @param {number} seq
   * @param {number} records
   * @param {number} bytes
   * @param {boolean} forced
   * @param {Appended | undefined} cb
   */
  accept (seq, records, bytes, forced, cb) {
    this.newest.push(cb, seq, this.appended, records, bytes)
    this.counts.appended.records += records
    this.counts.appended.bytes += bytes
    this.counts.inFlight.records += records
    this.counts.inFlight.bytes += bytes
    if (forced) this.forced = this.appended
    this.schedule()
  }

  /**
   * @param {number} records
   * @param {number} bytes
   * @param {((err: Error) => void) | undefined} cb
   */
  refuse (records, bytes, cb) {
    this.reject({ records, bytes })
    if (cb === undefined) return
    process.nextTick(cb, this.failure ?? errors.overflow(bytes, this.counts.inFlight.bytes, this.highWaterMark))
  }

  /** @param {import('../log').Count} count of what gets an error */
  reject ({ records, bytes }) {
    this.counts.rejected.records += records
    this.counts.rejected.bytes += bytes
  }

  // Writing

  /** Sees to it that what has to be done is done, once the caller's own code has run. */
  schedule () {
    if (this.busy || this.scheduled) return
    this.scheduled = true
    process.nextTick(this.run)
  }

  run () {
    this.scheduled = false
    if (this.busy) return
    if (this.failure !== null) return this.fail(this.failure)
    const job = this.jobs.shift()
    if (job !== undefined) {
      this.busy = true
      return job(() => {
        this.busy = false
        this.run()
      })
    }
    if (this.appended > this.written) return this.prepare()
    if (!this.newest.isEmpty) {
      // an empty batch has nothing to be written, but it may have asked for a sync
      this.endGroup()
      this.busy = true
      return this.onwritten()
    }
    this.settleWaiting()
  }

  /** What has to be true before bytes go into the file. */
  prepare () {
    if (this.failure !== null) return this.fail(this.failure)
    this.busy = true
    const { written, synced, options } = this
    if (this.mustTruncate) return this.truncate((err) => err ? this.onwritefailed(err) : this.prepare())
    if (this.pointOffset === -1 && this.file.point !== null) {
      return this.writePoint((err) => err ? this.onwritefailed(err) : this.prepare())
    }
    const unsyncedAfter = Math.min(this.appended, written + MAX_WRITE) - synced
    if (options.sync === 'interval' && unsyncedAfter > options.syncBytes && written > synced) {
      return this.syncTo(written, (err) => err ? this.fail(/** @type {Error} */ (this.failure)) : this.prepare())
    }
    this.write()
  }

  write () {
    const pieces = this.gather()
    this.target = this.written + sizeOf(pieces)
    if (this.newest.end <= this.target) this.endGroup()
    this.counts.writes++
    if (pieces.length === 1) this.file.write(this.written, pieces[0], this.onwrite)
    else this.file.writeMany(this.written, pieces, this.onwrite)
  }

  /** @returns {Buffer[]} what is to be written next, one after the other */
  gather () {
    const { pending, blockSize, written } = this
    const pieces = []
    let index = Math.floor(written / blockSize) - pending[0].number
    let position = written % blockSize
    let left = Math.min(this.appended - written, Math.max(blockSize, MAX_WRITE - MAX_WRITE % blockSize) - position)
    while (left > 0) {
      const { number, buffer } = pending[index++]
      const end = Math.min(blockSize, position + left)
      left -= end - position
      if (this.atomic.includes(number)) {
        pieces.push(NO_LENGTH)
        position += NO_LENGTH.length
      }
      pieces.push(buffer.subarray(position, end))
      position = 0
    }
    return pieces
  }

  /** @param {Error | null | undefined} err */
  onwrite (err) {
    if (err) return this.onwritefailed(err)
    this.written = this.target
    if (this.atomic.length > 0 && this.atomic[0] * this.blockSize < this.written) return this.completeAtomic()
    this.onwritten()
  }

  /** Writes the first lengths of atomic batches: after all the rest is on the disk, and onto the disk at once. */
  completeAtomic () {
    const failed = () => this.fail(/** @type {Error} */ (this.failure))
    const next = () => {
      const number = this.atomic[0]
      if (number === undefined || number * this.blockSize >= this.written) {
        return this.forceSync((err) => err ? failed() : this.onwritten())
      }
      const first = this.pending[number - this.pending[0].number].buffer.subarray(0, layout.LENGTH_SIZE)
      this.file.write(number * this.blockSize, first, (err) => {
        if (err) return this.onwritefailed(err)
        this.atomic.shift()
        next()
      })
    }
    this.syncTo(this.written, (err) => err ? failed() : next())
  }

  onwritten () {
    const mustSync = this.options.sync === 'always' || this.forced > this.synced
    if (mustSync) {
      return this.syncTo(this.written, (err) => {
        if (err) return this.fail(/** @type {Error} */ (this.failure))
        this.busy = false
        this.acknowledge()
      })
    }
    this.considerSync()
    this.busy = false
    this.acknowledge()
  }

  /** Lets readers and callers know what has been stored. */
  acknowledge () {
    const { queue, stored, counts } = this
    let count = 0
    for (; count < queue.length && queue[count].end <= this.written; count++) {
      const group = queue[count]
      counts.written.records += group.records
      counts.written.bytes += group.bytes
      counts.inFlight.records -= group.records
      counts.inFlight.bytes -= group.bytes
      this.acknowledged = group.end
      stored.push(group)
    }
    if (count > 0) {
      queue.splice(0, count)
      this.reveal()
      if (this.synced >= this.acknowledged) counts.synced = { ...counts.written }
    }
    // the next write runs while callers are told of this one
    if (!this.scheduled && this.jobs.length === 0 && this.appended > this.written) this.prepare()
    this.tell()
  }

  /** Moves the log's end, as readers see it, up to what is acknowledged. */
  reveal () {
    const { pending, blocks, blockSize } = this
    let done = 0
    while (this.acknowledged >= (pending[done].number + 1) * blockSize) done++
    for (let i = 0; i < done; i++) {
      pending[i].end = layout.paddingStart(pending[i].buffer)
      pending[i].sealed = true
      blocks.add(pending[i])
    }
    if (done > 0) pending.splice(0, done)
    pending[0].end = this.acknowledged - pending[0].number * blockSize
    blocks.tail = pending[0]
  }

  tell () {
    const { stored } = this
    const seq = stored.length > 0 ? stored[stored.length - 1].lastSeq : this.lastSeq
    try {
      if (seq !== this.lastSeq) {
        this.lastSeq = seq
        this.onacknowledged(seq)
      }
    } finally {
      this.callBack()
    }
  }

  callBack () {
    const { stored } = this
    try {
      while (stored.length > 0) {
        const group = stored[0]
        group.callBack()
        // a storage that answers at once may have brought us here again meanwhile
        if (stored[0] === group) stored.shift()
      }
      this.settleWaiting()
    } finally {
      // if a callback threw, that is the caller's affair, but the others get their turn
      if (stored.length > 0) process.nextTick(this.callBack)
      this.schedule()
    }
  }

  // Failing

  /**
   * The file is brought back to what was acknowledged; the calls get the error.
   * @param {Error} err
   */
  onwritefailed (err) {
    this.busy = true
    const groups = this.rollBack()
    this.truncate(() => {
      // what was appended meanwhile, by callers who do not know yet, would come after a gap
      const later = this.rollBack()
      this.busy = false
      this.giveError(groups, err)
      this.giveError(later, err)
      this.schedule()
    })
  }

  /** @returns {CommitGroup[]} the calls that will not be stored */
  rollBack () {
    this.endGroup()
    const groups = this.queue
    this.queue = []
    this.pending.length = 1
    this.filling = this.pending[0]
    this.position = this.filling.end
    this.written = this.acknowledged
    this.synced = Math.min(this.synced, this.written)
    this.forced = 0
    this.atomic = []
    for (const waiting of this.drainWaiting) waiting.end = Math.min(waiting.end, this.acknowledged)
    return groups
  }

  /** @param {Done} cb */
  truncate (cb) {
    this.file.truncate(this.acknowledged, (err) => {
      this.mustTruncate = !!err
      cb(err)
    })
  }

  /**
   * Forcing data to the disk failed: nothing more is stored until the log is reopened.
   * @param {Error} failure
   */
  fail (failure) {
    this.busy = false
    const groups = this.rollBack()
    const jobs = this.jobs.splice(0)
    for (const job of jobs) job(() => {})
    this.giveError(groups, failure)
    this.settleWaiting()
  }

  /**
   * @param {CommitGroup[]} groups
   * @param {Error} err
   */
  giveError (groups, err) {
    const { inFlight } = this.counts
    for (const group of groups) {
      this.reject(group)
      inFlight.records -= group.records
      inFlight.bytes -= group.bytes
      group.fail(err)
    }
  }

  // Syncing

  /** After a write that was acknowledged without being synced. */
  considerSync () {
    const { options } = this
    if (options.sync !== 'interval') return
    if (this.written - this.synced >= options.syncBytes / 2) this.syncTo(this.written)
    else this.startTimer()
  }

  startTimer () {
    if (this.syncTimer !== null || this.syncing || this.options.sync !== 'interval') return
    this.syncTimer = setTimeout(() => {
      this.syncTimer = null
      this.syncTo(this.written)
    }, this.options.syncInterval)
    this.syncTimer.unref()
  }

  /**
   * @param {number} end
   * @param {Done} [cb] called when all up to `end` is on the disk
   */
  syncTo (end, cb) {
    if (this.failure !== null) return cb && cb(this.failure)
    if (this.synced >= end) return cb && cb(null)
    if (cb) this.syncWaiting.push({ end, cb })
    if (!this.syncing) this.startSync()
  }

  /**
   * For bytes that were rewritten in place: all in the file is on the disk.
   * @param {Done} cb
   */
  forceSync (cb) {
    this.counts.syncs++
    this.file.sync((err) => {
      if (err) this.failure ??= errors.failed(this.file.filename, err)
      cb(this.failure)
    })
  }

  startSync () {
    const target = this.written
    const covered = { ...this.counts.written }
    this.syncing = true
    this.counts.syncs++
    if (this.syncTimer !== null) clearTimeout(this.syncTimer)
    this.syncTimer = null
    this.file.sync((err) => {
      this.syncing = false
      if (err) {
        this.failure = errors.failed(this.file.filename, err)
        const waiting = this.syncWaiting.splice(0)
        for (const { cb } of waiting) cb(this.failure)
        if (!this.busy) this.fail(this.failure)
        return
      }
      this.synced = Math.max(this.synced, Math.min(target, this.written))
      if (covered.records > this.counts.synced.records) this.counts.synced = covered
      this.considerPoint()
      const done = this.syncWaiting.filter(({ end }) => end <= this.synced)
      this.syncWaiting = this.syncWaiting.filter(({ end }) => end > this.synced)
      for (const { cb } of done) cb(null)
      if (this.syncing) return
      if (this.syncWaiting.length > 0) this.startSync()
      else if (this.written > this.synced) this.startTimer()
    })
  }

  // The recovery point

  /** Moves it up after a sync, so that not much more than `syncBytes` is ever beyond it. */
  considerPoint () {
    if (this.pointOffset === -1 || this.writingPoint) return
    if (this.safeOffset - this.pointOffset < this.options.syncBytes / 4) return
    // should it fail, the one that is there still holds
    this.writePoint(() => {})
  }

  /** Never taken back: on the disk, and acknowledged. */
  get safeOffset () {
    return Math.min(this.synced, this.acknowledged)
  }

  /**
   * Writes the recovery point as things stand; one at a time.
   * @param {Done} cb
   */
  writePoint (cb) {
    const { point } = this.file
    if (point === null) return cb(null)
    if (this.writingPoint) {
      this.pointWaiting.push(cb)
      return
    }
    const offset = this.safeOffset
    this.writingPoint = true
    point.write({ offset, rewrites: this.rewrites }, (err) => {
      this.writingPoint = false
      if (!err) this.pointOffset = offset
      const waiting = this.pointWaiting.splice(0)
      cb(err)
      if (waiting.length > 0) this.writePoint((err) => { for (const cb of waiting) cb(err) })
    })
  }

  // Waiting, and the end

  /** @param {Done} cb called when all appended so far is written */
  drain (cb) {
    this.drainWaiting.push({ end: this.appended, cb })
    this.schedule()
  }

  settleWaiting () {
    while (this.drainWaiting.length > 0) {
      const { end, cb } = this.drainWaiting[0]
      if (this.failure === null && end > this.acknowledged) return
      this.drainWaiting.shift()
      cb(this.failure)
    }
    for (const waiting of this.roomWaiting.filter(({ most }) => this.counts.inFlight.bytes <= most)) {
      this.roomWaiting.splice(this.roomWaiting.indexOf(waiting), 1)
      waiting.cb()
    }
  }

  /**
   * @param {number} most
   * @param {() => void} cb called when no more than so many bytes are in flight
   */
  whenRoom (most, cb) {
    this.roomWaiting.push({ most, cb })
    this.schedule()
  }

  /** @param {Done} cb called when all appended so far is on the disk */
  sync (cb) {
    this.drain((err) => err ? cb(err) : this.syncTo(this.written, cb))
  }

  /**
   * Runs work while nothing else changes the file.
   * @param {(done: () => void) => void} job
   */
  exclusively (job) {
    this.jobs.push(job)
    this.schedule()
  }

  /**
   * Everything appended and deleted is on the disk, and no trace is left that says
   * otherwise. The caller makes no further calls.
   * @param {Done} cb
   */
  close (cb) {
    const finish = (/** @type {Error | null | undefined} */ err) => {
      if (this.syncTimer !== null) clearTimeout(this.syncTimer)
      const { point } = this.file
      // after a failure it stays, so that opening looks at what the disk holds
      if (err || point === null || this.pointOffset === -1) return cb(err)
      point.remove(cb)
    }
    const leave = (/** @type {Error | null | undefined} */ err) => {
      // a recovery point on its way must not come after its removal
      if (this.writingPoint) this.pointWaiting.push(() => finish(err))
      else finish(err)
    }
    this.drain(() => this.exclusively(() => {
      if (this.mustTruncate) this.truncate((err) => err ? leave(err) : this.syncTo(this.written, leave))
      else this.syncTo(this.written, leave)
    }))
  }
}

module.exports = { Writer, MAX_WRITE }
