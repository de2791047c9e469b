'use strict'

// The one writer of a log: a state machine. Appends are packed into blocks in memory at
// once; one write after the other stores what has been packed since. A call is
// acknowledged when its bytes are written (or durable, if it asked for that), and only
// then do readers see them. Four offsets:
//
//     synced <= acknowledged <= written <= appended       (synced may be ahead of acknowledged for a moment)
//
//     appended       where the next record goes
//     written        up to here the file has it, in the page cache at least
//     acknowledged   up to here callers were told so; here readers see the log end
//     synced         up to here it is durable (see durability.js)
//
// At most one operation changes the file, and the state says which:
//
//     state         the file                                          next
//     ------------  ------------------------------------------------  ------------------------------------
//     idle          is left alone                                     what `nextStep` says
//     preparing     gets its recovery point, before it is changed, or  writing; rollingBack
//                   deletions, before their block is sealed
//     writing       gets packed blocks behind `written`               completing, settling; rollingBack
//     completing    has atomic batches: gets the length that was      settling; rollingBack, failed
//                   withheld, when all else of the write is durable
//     settling      is fsynced, before what is written is             idle (acknowledged); failed
//                   acknowledged; its recovery point gets the end
//                   that readers elsewhere see, if without blocking
//     rollingBack   is truncated to `acknowledged`: a write failed    idle
//     deleting      gets zeros, in up to 64 blocks, after these       idle; failed
//                   deletions were recorded
//     operating     is left alone for what another part of the log     idle; failed
//                   does with it: see `exclusively`
//     trimming      gets zeros for blocks at its head, after the recovery   idle; failed
//                   point tells of it
//     closing       is truncated and fsynced a last time, and its     closed
//                   recovery point is removed
//     failed        is not changed any more: an fsync failed          closing
//     closed        is not used any more                              -
//
// When a write fails (rollingBack), when an fsync fails (failed) and when the log is closed
// (closed), every caller that still waits is answered, once. All I/O calls back,
// possibly before the call returns; `step` is a loop, so no stack grows.
//
// This file is longer than the others: the states are easier to follow in one place.

const errors = require('../errors')
const { promised } = require('../callbacks')
const { sizeOf } = require('../storage/buffers')
const { Durability } = require('./durability')
const { RecordCount } = require('./record-count')
const { MetadataKeeper } = require('./metadata-keeper')
const { Appender } = require('./appender')
const { NO_LENGTH, Packer } = require('./packer')
const { finish } = require('./closing')
const { Deleter } = require('./deleter')
const { Trimmer } = require('./trimmer')
const { TRANSITIONS, nextStep } = require('./states')
const { generationOf } = require('../recovery/recovery-point')

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {import('../format/block').Block} Block
 * @typedef {import('./commit-group').CommitGroup} CommitGroup
 * @typedef {{ run: () => Promise<void>, reject: (err: Error) => void }} Operation
 * @typedef {{ blockSize: number, checksum: boolean, counted: import('../recovery/count-records').Counted, generation?: import('../storage/metadata-text').Generation, trimBatch?: number, holes?: boolean } &
 *   import('./durability').DurabilityOptions} WriterOptions counted: the log's records. generation: default that of a new log. trimBatch: see `Trimmer`
 */

class Writer {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('../read/block-cache').BlockCache} blocks whose tail is where the log ends
   * @param {WriterOptions} options
   * @param {import('./appender').Limits} limits
   * @param {number} lastSeq the last record's, -1 if there is none
   * @param {(seq: number) => void} onacknowledged the log's last record is now this one, and readers see it
   * @param {import('../clock').Clock} clock
   */
  constructor (file, blocks, options, limits, lastSeq, onacknowledged, clock) {
    this.file = file
    this.blocks = blocks
    this.clock = clock
    this.onacknowledged = onacknowledged
    this.schedule = this.schedule.bind(this)
    this.packer = new Packer(blocks.tail, options.blockSize, options.checksum, file.metadata === null)
    this.appender = new Appender(this.packer, limits, lastSeq, this.schedule)
    this.waiters = this.appender.waiters
    this.counts = this.appender.counts
    this.recordCount = new RecordCount(options.counted, blocks)

    this.state = 'idle'
    this.written = this.acknowledged = blocks.end
    /** The end of the write in progress. */
    this.target = this.written
    /** The seq of the last record that readers were told of. */
    this.toldSeq = lastSeq
    /** Gets to know what other processes have sent before it is in the file. @type {import('../sharing/journal').Journal | null} */
    this.journal = null
    /** Told when blocks were filled, or have become durable, and of deletions. @type {Pick<import('../space/retention').Retention, 'consider' | 'deleted' | 'hold'> | null} */
    this.retention = null
    /** Told of blocks that a deletion has rewritten. @type {(numbers: number[]) => void} */
    this.onrewritten = () => {}
    /** Told that a compaction is about to move the log to another file. @type {(map: import('../space/offset-map').OffsetMap, distance: number) => void} */
    this.onmoving = () => {}
    /** Resolves when all clients of a shared log have followed the last compaction. @type {() => Promise<void>} */
    this.whenFollowed = async () => {}
    /** In progress; null: none is. @type {import('../space/compaction').Compaction | null} */
    this.compaction = null
    /** What waits until nothing else changes the file. @type {Operation[]} */
    this.operations = []
    /** Whether a client may ask the next owner of a shared log for records between two offsets. @type {(start: number, end: number) => boolean} */
    this.isClientWaitingFor = () => false
    this.mustTruncate = false
    /** @type {import('./states').Step} */
    this.lastStep = 'rest'
    /** Why nothing is stored any more. @type {Error | null} */
    this.failure = null
    /** Called when the log is closed; null: `close` was not called. @type {Done | null} */
    this.onclosed = null
    this.isScheduled = false
    this.isStepping = false
    /** Whether readers in other processes have been told what is acknowledged. */
    this.mayAnswer = true
    this.mustStep = false

    this.durability = new Durability(file, options, clock, this, {
      onsynced: () => this.onsynced(),
      onfailure: (failure) => this.fail(failure)
    })
    this.metadata = new MetadataKeeper(file, options.blockSize, { start: blocks.start, generation: options.generation ?? generationOf(null) }, this.durability)
    this.pointStep = options.syncBytes / 4
    this.deleter = new Deleter(this, options, clock)
    this.trimmer = this.metadata.trimmer = new Trimmer(this, options.trimBatch)
    this.runStep = this.runStep.bind(this)
    this.onwrite = this.onwrite.bind(this)
  }

  get synced () {
    return this.durability.synced
  }

  /**
   * Takes over what was appended before the log was open.
   * @param {Appender<Packer>} appender
   */
  takeOver (appender) {
    this.appender.takeOver(appender)
    // of an empty log, it is another one now
    this.blocks.tail = this.packer.tail
  }

  // Waiting

  /** @param {((err: Error | null) => void) | undefined} cb called when all appended so far is written */
  drain (cb) {
    this.wait(false, cb)
  }

  /** @param {((err: Error | null) => void) | undefined} cb called when all appended so far is durable */
  sync (cb) {
    this.wait(true, this.deleter.syncFirst(cb))
  }

  /**
   * The same for another process: the error of an append of this one is none of its business.
   * @param {Done} cb
   */
  syncForeign (cb) {
    this.wait(true, this.deleter.syncFirst(cb), false)
  }

  /**
   * @param {boolean} mustBeSynced
   * @param {((err: Error | null) => void) | undefined} cb
   * @param {boolean} [takesUntold] see Waiters
   */
  wait (mustBeSynced, cb, takesUntold = cb !== undefined) {
    if (this.failure !== null || this.state === 'closed') {
      if (cb !== undefined) process.nextTick(cb, this.failure ?? (takesUntold ? this.waiters.takeUntold() : null))
      return
    }
    this.waiters.wait(this.packer.end, mustBeSynced, cb, takesUntold)
    this.schedule()
  }

  /**
   * @param {number} most
   * @param {() => void} cb called when no more than `most` bytes are in flight
   */
  whenRoom (most, cb) {
    if (this.appender.refusal !== null) return process.nextTick(cb)
    this.waiters.waitForRoom(most, cb)
    this.schedule()
  }

  /**
   * Deletes a record.
   * @param {number} seq
   * @param {Done} cb
   */
  delete (seq, cb) {
    const { refusal } = this.appender
    if (refusal !== null) return process.nextTick(cb, refusal)
    this.deleter.request(seq, cb)
    this.schedule()
  }

  /**
   * Runs what needs the log's file for itself, when nothing else changes it, and nothing else does meanwhile.
   * @template T
   * @param {() => Promise<T>} run
   * @returns {Promise<T>} as `run`
   */
  exclusively (run) {
    return new Promise((resolve, reject) => {
      const { refusal } = this.appender
      if (refusal !== null) return reject(refusal)
      this.operations.push({ run: () => run().then(resolve, reject), reject })
      this.schedule()
    })
  }

  /** @param {number[]} numbers of blocks that a deletion has rewritten */
  rewritten (numbers) {
    this.onrewritten(numbers)
    this.compaction?.rewritten(numbers)
  }

  /**
   * Trims blocks at the head of the log.
   * @param {number} start where it is to start, at most
   * @param {import('./trimmer').Trimmed} cb see `Trimmer`
   * @param {import('./trimmer').Known | null} [known]
   */
  trim (start, cb, known) {
    const { refusal } = this.appender
    if (refusal !== null) return process.nextTick(cb, refusal)
    this.trimmer.request(start, cb, known)
    this.schedule()
  }

  /**
   * Deletes all records that start in a range.
   * @param {number} min the least seq
   * @param {number} max the greatest seq; in the log
   * @param {Done} cb
   */
  deleteRange (min, max, cb) {
    const { refusal } = this.appender
    if (refusal !== null) return process.nextTick(cb, refusal)
    this.deleter.requestRange(min, max, cb)
    this.schedule()
  }

  /** @param {Done} cb called when the space of all blocks that are known to be empty is freed */
  finishHoles (cb) {
    const { refusal } = this.appender
    if (refusal !== null) return process.nextTick(cb, refusal)
    this.deleter.holes.finish(cb)
    this.schedule()
  }

  /**
   * All that was accepted is stored and made durable, and the recovery point is removed.
   * @param {Done} cb
   */
  close (cb) {
    this.onclosed = cb
    this.appender.refusal ??= errors.closed(this.file.filename)
    this.deleter.holes.finishAll()
    this.schedule()
  }

  // Steps

  /** @param {string} state */
  enter (state) {
    if (!TRANSITIONS[this.state].includes(state)) throw new Error(`a writer that is ${this.state} cannot become ${state}`)
    this.state = state
  }

  /** Schedules the next step, for when the caller's own code has run. */
  schedule () {
    if (this.isScheduled) return
    this.isScheduled = true
    process.nextTick(this.runStep)
  }

  runStep () {
    this.isScheduled = false
    this.step()
  }

  /** Starts the next operation, then gives the answers that are due. */
  step () {
    this.mustStep = true
    if (this.isStepping) return
    this.isStepping = true
    while (this.mustStep) {
      this.mustStep = false
      if (this.state === 'idle') this.stepFromIdle()
      else if (this.state === 'failed' && this.onclosed !== null) this.finishClosing()
    }
    this.isStepping = false
    this.settleWaiters()
    this.answer()
  }

  stepFromIdle () {
    this.lastStep = nextStep(this.work())
    switch (this.lastStep) {
      case 'fail': return this.enterFailed()
      case 'delete': return this.deleteSome()
      case 'operate': return this.operate()
      case 'trim': return this.trimSome()
      case 'truncate': return this.truncateFirst()
      case 'write': return this.prepare()
      case 'settle': return this.settleEmpty()
      case 'close': return this.finishClosing()
    }
  }

  /** @returns {import('./states').Work} */
  work () {
    const { packer, waiters } = this
    const hasUnwritten = packer.end > this.written
    return {
      lastStep: this.lastStep,
      hasFailed: this.failure !== null,
      isPartial: hasUnwritten && this.written > this.acknowledged,
      mustTruncate: this.mustTruncate,
      hasOperations: this.operations.length > 0,
      hasDeletions: this.deleter.hasWork,
      isHeld: this.compaction !== null && this.compaction.isBehind,
      hasTrim: this.trimmer.hasWork,
      hasUnacknowledged: waiters.hasGroups,
      hasUnwritten,
      isClosing: this.onclosed !== null
    }
  }

  /** The operation of this state is over. */
  becomeIdle () {
    this.enter(this.failure === null ? 'idle' : 'failed')
    this.step()
  }

  enterFailed () {
    this.enter('failed')
    this.mustStep = true
  }

  /** An empty batch has nothing to be written, but it may ask for a sync. */
  settleEmpty () {
    this.waiters.endGroup()
    this.settle()
  }

  // Writing

  /** Whether the file may be written to. Appends that are made while it is prepared can seal the block with deletions. */
  get isReady () {
    return !this.metadata.mustBeWritten && !this.deleter.mustPrecede() && !this.durability.isTruncated
  }

  prepare () {
    if (this.isReady) return this.write()
    this.enter('preparing')
    this.getReady()
  }

  getReady () {
    this.makeReady().then(() => null, err => err).then(err => process.nextTick(() => this.onready(err)))
  }

  /** A power cut must not mix what a failed write has left with what is written in its place. */
  async makeReady () {
    if (this.deleter.mustPrecede()) await this.deleter.flush()
    if (this.durability.isTruncated) await promised(cb => this.durability.syncAll(cb))
    await this.metadata.write()
  }

  /** @param {Error | null} err */
  onready (err) {
    if (this.failure !== null) return this.becomeIdle()
    if (err !== null) this.rollBack(err)
    else if (this.isReady) this.write()
    else this.getReady()
  }

  write () {
    this.enter('writing')
    const { packer, waiters, written } = this
    const problem = this.journal === null ? null : this.journal.flush()
    if (problem !== null) return this.rollBack(problem)
    if (this.file.metadata?.isLong) this.metadata.considerMove(Infinity)
    // what waits for a moment at which no group is written in part would wait for as long as appends do not pause
    const mustEnd = this.operations.length > 0 || this.trimmer.hasWork
    const buffers = packer.nextWrite(written, mustEnd ? waiters.nextEnd(written) : packer.end)
    this.target = written + sizeOf(buffers)
    if (packer.end <= this.target) waiters.endGroup()
    this.counts.writes++
    if (buffers.length === 1) this.file.write(written, buffers[0], this.onwrite)
    else this.file.writeMany(written, buffers, this.onwrite)
  }

  /** @param {Error | null | undefined} err */
  onwrite (err) {
    if (this.failure !== null) return this.becomeIdle()
    if (err) return this.rollBack(err)
    this.written = this.target
    if (this.packer.withheld === -1) return this.settle()
    this.enter('completing')
    this.durability.syncTo(this.written, (err) => err ? this.becomeIdle() : this.complete())
  }

  /** Writes the length that was withheld, which brings all atomic batches of the write into the log, and makes it durable. */
  complete () {
    const { withheld, withheldLength } = this.packer
    this.file.write(withheld, withheldLength, (err) => {
      if (this.failure !== null) return this.becomeIdle()
      if (err) return this.takeBackLength(err)
      this.durability.syncAll((err) => err ? this.becomeIdle() : this.settle())
    })
  }

  /**
   * The length may be there, though its write has failed. A truncation does not suffice: after a power cut, some of
   * what it truncates may come back.
   * @param {Error} err why the write failed
   */
  takeBackLength (err) {
    this.file.write(this.packer.withheld, NO_LENGTH, (again) => {
      if (this.failure !== null) return this.becomeIdle()
      if (again) return this.rollBack(err)
      this.durability.syncAll((failure) => failure ? this.becomeIdle() : this.rollBack(err))
    })
  }

  /** Acknowledges written records, after making them durable as far as necessary. */
  settle () {
    const end = this.durability.mustBeSynced(this.written, this.appender.forced)
    if (this.synced >= end) return this.acknowledge()
    this.enter('settling')
    this.durability.syncTo(end, (err) => err ? this.becomeIdle() : this.acknowledge())
  }

  /** Moves the end of the log, as callers and readers see it, up to `written`. */
  acknowledge () {
    const { counts, recordCount } = this
    const before = counts.written.records
    const groups = this.waiters.acknowledge(this.written)
    this.appender.countAcknowledged(groups)
    if (groups.length > 0) this.reveal(groups[groups.length - 1])
    recordCount.add(counts.written.records - before + this.packer.takeParts(this.acknowledged))
    if (this.synced >= this.acknowledged) {
      counts.synced = { ...counts.written }
      recordCount.allSynced()
    }
    this.durability.consider()
    const publication = groups.length > 0 ? this.metadata.publish() : null
    if (publication !== null) this.waitForReaders(publication)
    else if (this.state === 'idle') this.mustStep = true
    else this.becomeIdle()
  }

  /** @param {Promise<void>} publication that tells readers in other processes what is acknowledged, before callers are told */
  waitForReaders (publication) {
    if (this.state !== 'settling') this.enter('settling')
    this.mayAnswer = false
    publication.then(() => process.nextTick(() => {
      this.mayAnswer = true
      this.becomeIdle()
    }))
  }

  /** @param {CommitGroup} group the last one that is acknowledged */
  reveal ({ end, lastSeq }) {
    this.acknowledged = end
    this.appender.lastSeq = lastSeq
    const filled = this.packer.reveal(end)
    for (const block of filled) this.keepOrRecycle(block)
    this.blocks.tail = this.packer.tail
    if (filled.length > 0) this.retention?.consider()
  }

  /**
   * Blocks that nobody has read do not take the place of those that somebody has.
   * @param {Block} block that is full and acknowledged
   */
  keepOrRecycle (block) {
    const { blocks, packer } = this
    if (block.wasRead || blocks.hasRoom(blocks.sequentialShare)) blocks.add(block)
    else packer.recycle(block)
  }

  /** Answers the callers whose offset is reached; starts the fsync that others wait for. */
  settleWaiters () {
    const { waiters, appender, acknowledged, synced, written } = this
    waiters.settle({ acknowledged, synced, inFlight: appender.ownBytes })
    if (waiters.syncWanted(Math.min(acknowledged, written)) > synced) this.durability.start()
  }

  /** Readers see the new end before callers are told of it. */
  answer () {
    if (!this.mayAnswer) return
    const { lastSeq } = this.appender
    if (this.toldSeq !== lastSeq) {
      this.toldSeq = lastSeq
      this.onacknowledged(lastSeq)
    }
    this.waiters.answer()
  }

  onsynced () {
    this.metadata.considerMove(this.pointStep)
    this.durability.consider()
    this.retention?.consider()
    if (this.isStepping) return
    this.settleWaiters()
    this.answer()
  }

  // Deleting

  deleteSome () {
    this.enter('deleting')
    this.deleter.run(() => this.becomeIdle())
  }

  /** One of those that others have asked for. */
  operate () {
    this.enter('operating')
    const { run } = /** @type {Operation} */ (this.operations.shift())
    run().then(() => process.nextTick(() => this.becomeIdle()))
  }

  // Trimming

  trimSome () {
    this.enter('trimming')
    this.trimmer.run(() => this.becomeIdle())
  }

  // Failing

  /**
   * A write failed: the file is truncated to `acknowledged`, and unacknowledged appends get the error. They get
   * it after the truncation, so that a record whose append failed is not there if the process is killed then.
   * Appends made in between fail as well: they would follow a gap.
   * @param {Error} err
   */
  rollBack (err) {
    this.enter('rollingBack')
    if (errors.isNoRoom(err)) this.makeRoom()
    // of a batch that takes several writes, some may be in the file already
    const isExtended = this.target > this.acknowledged
    this.written = this.target = this.acknowledged
    this.durability.rollBack(this.acknowledged)
    const finish = () => {
      if (this.failure === null) this.dropUnwritten(err)
      this.becomeIdle()
    }
    if (isExtended) this.truncate(finish)
    else finish()
  }

  /** The disk is full: what has been trimmed is freed at once, and what retention does not keep is trimmed. */
  makeRoom () {
    this.trimmer.freeSoon()
    this.retention?.consider(true)
  }

  /** A truncation that failed is tried again before the next write. */
  truncateFirst () {
    this.enter('rollingBack')
    this.truncate((err) => {
      if (err && this.failure === null) this.dropUnwritten(err)
      this.becomeIdle()
    })
  }

  /** @param {Done} cb */
  truncate (cb) {
    this.file.truncate(this.acknowledged, (err) => {
      this.mustTruncate = !!err
      this.durability.truncated()
      this.deleter.truncated()
      cb(err)
    })
  }

  /**
   * Nothing that is not acknowledged will be stored; its callers get the error.
   * @param {Error} err
   */
  dropUnwritten (err) {
    this.forgetUnacknowledged()
    this.appender.countFailed(this.waiters.rollBack(this.acknowledged, err))
    this.settleWaiters()
    this.answer()
  }

  forgetUnacknowledged () {
    this.packer.rollBack()
    this.journal?.voidFrom(this.acknowledged)
    this.written = this.target = this.acknowledged
    this.durability.rollBack(this.acknowledged)
    this.appender.forced = -1
  }

  /**
   * An fsync failed. Nothing is stored until the log is opened again; the operation in
   * progress, if there is one, only ends.
   * @param {Error} failure
   */
  fail (failure) {
    this.failure = this.appender.refusal = failure
    this.forgetUnacknowledged()
    this.appender.countFailed(this.waiters.fail(this.acknowledged, failure))
    this.deleter.end(failure)
    for (const { reject } of this.operations.splice(0)) reject(failure)
    this.trimmer.end(failure)
    this.step()
  }

  // Closing

  finishClosing () {
    this.enter('closing')
    finish(this).then(() => null, err => err).then(err => process.nextTick(() => this.closed(err)))
  }

  /** @param {Error | null} err */
  closed (err) {
    this.enter('closed')
    const { waiters, appender } = this
    this.settleWaiters()
    appender.countFailed(waiters.fail(this.acknowledged, /** @type {Error} */ (appender.refusal)))
    this.answer()
    this.deleter.end(err)
    this.trimmer.end(err)
    const onclosed = /** @type {Done} */ (this.onclosed)
    onclosed(err ?? waiters.takeUntold())
  }
}

module.exports = { Writer }
