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
//     state         the file                                           next
//     ------------  -------------------------------------------------  ------------------------------
//     idle          is left alone                                      what `nextStep` says
//     preparing     gets deletions, before their block is sealed;      writing; rollingBack
//                   before it changes at all, FILE.meta says that the
//                   log is open
//     writing       gets packed blocks behind `written`                completing, settling or idle;
//                                                                      rollingBack
//     completing    has atomic batches: gets the length that was       settling or idle; rollingBack
//                   withheld, when all else of the write is durable
//     settling      is fsynced, before what is written is              idle
//                   acknowledged
//     rollingBack   is truncated to `acknowledged`: a write failed     idle
//     operating     is changed by one operation: deletions in up to    idle
//                   64 blocks, a trim, the end of a compaction; see
//                   `exclusively`
//     closing       gets what was deleted and trimmed, and is fsynced  closed
//                   a last time; FILE.meta says that the log is closed
//     failed        is not changed any more: an fsync, or a            closing
//                   truncation after a failed write, failed
//     closed        is not used any more                               -
//
// Each state up to `operating` becomes `failed` if an fsync fails. What is written is
// acknowledged on the way to `idle`.
//
// When a write fails (rollingBack), when an fsync fails (failed) and when the log is closed
// (closed), every caller that still waits is answered, once. All I/O calls back,
// possibly before the call returns; `step` is a loop, so no stack grows.
//
// From preparing to rollingBack, these are the states of the committer.

const { callBack } = require('../callbacks')
const { Durability } = require('./durability')
const { MetadataKeeper } = require('./metadata-keeper')
const { Appender } = require('./appender')
const { NONE } = require('./clients')
const { Committer } = require('./committer')
const { Packer } = require('./packer')
const { finish } = require('./closing')
const { Deleter } = require('./deleter')
const { RecordedDeletions } = require('./recorded-deletions')
const { Trimmer } = require('./trimmer')
const { TRANSITIONS, nextStep } = require('./states')

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {{ run: () => Promise<void>, reject: (err: Error) => void }} Operation
 */

class Writer {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('../read/block-cache').BlockCache} blocks whose tail is where the log ends
   * @param {import('./deleter').DeleterOptions} options
   * @param {number} lastSeq the last record's, -1 if there is none
   * @param {(seq: number) => void} onacknowledged the log's last record is now this one, and readers see it
   * @param {import('../clock').Clock} clock
   * @param {import('./clients').Clients} [clients] default: the log is not shared
   */
  constructor (file, blocks, options, lastSeq, onacknowledged, clock, clients = NONE) {
    this.file = file
    this.blocks = blocks
    this.clock = clock
    this.clients = clients
    this.schedule = this.schedule.bind(this)
    this.packer = new Packer(blocks.tail, blocks.blockSize, blocks.checksum)
    this.appender = new Appender(this.packer, file.filename, lastSeq, this.schedule)
    this.waiters = this.appender.waiters
    this.counts = this.appender.counts

    this.committer = new Committer(this, lastSeq, onacknowledged)

    this.state = 'idle'
    /** In progress; null: none is. @type {import('../space/compaction').Compaction | null} */
    this.compaction = null
    /** What waits until nothing else changes the file. @type {Operation[]} */
    this.operations = []
    /** @type {import('./states').Step} */
    this.lastStep = 'rest'
    /** Why nothing is stored any more. @type {Error | null} */
    this.failure = null
    /** Called when the log is closed; null: `close` was not called. @type {Done | null} */
    this.onclosed = null
    this.isScheduled = false
    this.isStepping = false
    this.mustStep = false

    this.durability = new Durability(this, options)
    this.metadata = new MetadataKeeper(this)
    this.pointStep = options.syncBytes / 4
    this.deletions = new RecordedDeletions(this)
    this.deleter = new Deleter(this, options)
    this.trimmer = new Trimmer(this)
    this.runStep = this.runStep.bind(this)
    this.becomeIdle = this.becomeIdle.bind(this)
    /** Told when blocks were filled, or have become durable; null: the log keeps everything. @type {import('../space/retention').Retention | null} */
    this.retention = null
  }

  get written () {
    return this.committer.written
  }

  get acknowledged () {
    return this.committer.acknowledged
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

  /**
   * @param {((err: Error | null) => void) | undefined} cb called when all appended so far is durable
   * @param {boolean} [takesUnreported] see Waiters
   */
  sync (cb, takesUnreported) {
    this.wait(true, this.deleter.syncFirst(cb), takesUnreported)
  }

  /**
   * @param {boolean} sync
   * @param {((err: Error | null) => void) | undefined} cb
   * @param {boolean} [takesUnreported] see Waiters
   */
  wait (sync, cb, takesUnreported = cb !== undefined) {
    if (this.failure !== null || this.state === 'closed') {
      if (cb !== undefined) process.nextTick(cb, this.failure ?? (takesUnreported ? this.waiters.takeUnreported() : null))
      return
    }
    this.waiters.wait(this.packer.end, sync, cb, takesUnreported)
    this.schedule()
  }

  /**
   * @param {(err: Error) => void} cb called if nothing is accepted any more
   * @returns {boolean} whether that is so
   */
  refuses (cb) {
    const { refusal } = this.appender
    if (refusal === null) return false
    process.nextTick(cb, refusal)
    return true
  }

  /**
   * Deletes a record.
   * @param {number} seq
   * @param {Done} cb
   */
  delete (seq, cb) {
    if (!this.refuses(cb)) this.deleter.request(seq, cb)
  }

  /**
   * Deletes all records that start in a range.
   * @param {number} min the least seq
   * @param {number} max the greatest seq; in the log
   * @param {Done} cb
   */
  deleteRange (min, max, cb) {
    if (!this.refuses(cb)) this.deleter.requestRange(min, max, cb)
  }

  /**
   * Trims blocks at the head of the log.
   * @param {number} start where it is to start, at most
   * @param {import('./trimmer').Trimmed} cb see `Trimmer`
   * @param {number | null} [from] see `Trimmer`
   */
  trim (start, cb, from) {
    if (!this.refuses(cb)) callBack(this.trimmer.trim(start, from), cb)
  }

  /**
   * Runs an operation while nothing else changes the log's file.
   * @template T
   * @param {() => Promise<T>} run
   * @returns {Promise<T>} as `run`; rejects if nothing is stored any more. While the log is closing, operations may lead to others
   */
  exclusively (run) {
    return new Promise((resolve, reject) => {
      const error = this.failure ?? (this.state === 'closed' ? this.appender.refusal : null)
      if (error !== null) return reject(error)
      this.operations.push({ run: () => run().then(resolve, reject), reject })
      this.schedule()
    })
  }

  /**
   * A compaction is in progress: it is told of deletions, and holds the writer when it does not catch up.
   * @template T
   * @param {import('../space/compaction').Compaction} compaction
   * @param {() => Promise<T>} run
   * @returns {Promise<T>} as `run`
   */
  async during (compaction, run) {
    this.compaction = compaction
    try {
      return await run()
    } finally {
      this.compaction = null
      this.schedule()
    }
  }

  /**
   * All that was accepted is stored and made durable, and FILE.meta says that the log is closed.
   * @param {Done} cb
   */
  close (cb) {
    this.appender.close()
    this.deleter.finish(() => {
      this.onclosed = cb
      this.schedule()
    })
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
    this.committer.settleWaiters()
    this.committer.answer()
  }

  stepFromIdle () {
    this.lastStep = nextStep(this.work())
    switch (this.lastStep) {
      case 'fail': return this.becomeIdle()
      case 'operate': return this.operate()
      case 'write': return this.committer.prepare()
      case 'settle': return this.committer.settleEmpty()
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
      hasOperations: this.operations.length > 0,
      isHeld: this.compaction !== null && this.compaction.isBehind,
      hasUnacknowledged: waiters.hasGroups,
      hasUnwritten,
      isClosing: this.onclosed !== null
    }
  }

  /** The operation of this state is over. */
  becomeIdle () {
    const next = this.failure === null ? 'idle' : 'failed'
    // an empty batch is settled while the writer is idle
    if (this.state !== next) this.enter(next)
    this.step()
  }

  /** More is durable. */
  onsynced () {
    this.metadata.considerMove(this.pointStep)
    this.durability.consider()
    this.retention?.consider()
    if (this.isStepping) return
    this.committer.settleWaiters()
    this.committer.answer()
  }

  operate () {
    this.enter('operating')
    const { run } = /** @type {Operation} */ (this.operations.shift())
    run().then(() => process.nextTick(this.becomeIdle))
  }

  /**
   * Another file has taken the log's place, whose blocks readers have already.
   * @param {{ end: number, lastSeq: number }} file all of which is durable
   * @param {import('../space/offset-map').OffsetMap} map
   * @param {number} distance by which records have moved that are not acknowledged
   * @param {(offset: number) => number} moveOffset where an offset is in the new file at which records end
   */
  moveTo ({ end, lastSeq }, map, distance, moveOffset) {
    this.appender.moveTo(this.acknowledged, lastSeq, distance, moveOffset)
    this.committer.moveTo(end, lastSeq)
    this.durability.moveTo(end)
    this.deleter.moveRequests(map)
    this.trimmer.moveFile(map)
  }

  // Failing

  /**
   * An fsync failed, or the truncation after a failed write. Nothing is stored until the log is opened again; the operation in
   * progress, if there is one, only ends.
   * @param {Error} failure
   */
  fail (failure) {
    this.failure = failure
    this.appender.stop(failure)
    this.committer.forgetUnacknowledged()
    this.appender.countFailed(this.waiters.fail(this.acknowledged, failure))
    this.rejectOperations(failure)
    this.step()
  }

  /** @param {Error} error */
  rejectOperations (error) {
    for (const { reject } of this.operations.splice(0)) reject(error)
  }

  // Closing

  finishClosing () {
    this.enter('closing')
    finish(this).then(() => null, err => err).then(err => process.nextTick(() => this.closed(err)))
  }

  /** @param {Error | null} err */
  closed (err) {
    this.enter('closed')
    const { waiters, appender, committer } = this
    committer.settleWaiters()
    appender.countFailed(waiters.fail(this.acknowledged, /** @type {Error} */ (appender.refusal)))
    committer.answer()
    this.rejectOperations(/** @type {Error} */ (appender.refusal))
    const onclosed = /** @type {Done} */ (this.onclosed)
    onclosed(err ?? waiters.takeUnreported())
  }
}

module.exports = { Writer }
