'use strict'

// Takes the writer's place in a client: appends, deletions and syncs go to the owner of
// the log, and their callers are answered when it has answered. Nothing is forgotten
// until then: what a connection loses is sent again on the next one. No I/O: what is to
// be sent is handed to a connection.
//
// Where a writer has offsets, there are numbers of records here; see frame-packer.js.

const layout = require('../format/layout')
const { LAST, PART, headerSize, kindAt } = require('../format/chunk')
const errors = require('../errors')
const { Appender } = require('../write/appender')
const { FramePacker } = require('./frame-packer')
const { MAX_APPENDS } = require('./frames')
const { Requests } = require('./requests')

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {import('./frame-packer').Frame} Frame
 * @typedef {import('./frames').Run} Run
 * @typedef {import('./frames').Welcome} Welcome
 *
 * @typedef {object} Listeners
 * @property {() => void} onpending something begins to wait for the owner, or nothing does any more
 * @property {(end: number, seq: number) => void} onacknowledged records of this process are acknowledged, the last of which has this seq and ends
 *   at `end`. Their callers are not answered yet
 * @property {(cb: () => void) => void} whenSeen calls back when readers of this process see what the owner has done by now
 */

/** @type {import('./requests').Ask} */
const SYNC = { op: 'sync' }

/** @extends {Appender<FramePacker>} */
class RemoteAppender extends Appender {
  /**
   * @param {RemoteWriter} writer
   * @param {import('../write/appender').Limits} limits
   * @param {FramePacker} packer
   */
  constructor (writer, limits, packer) {
    super(packer, limits, 0, () => writer.flushSoon())
    this.writer = writer
  }

  /**
   * @param {Uint8Array[]} batch
   * @param {boolean} isForced
   * @param {import('../write/commit-group').Appended | undefined} cb
   */
  appendBatch (batch, isForced, cb) {
    const { writer } = this
    if (batch.length > 0 || !isForced || this.refusal !== null) return super.appendBatch(batch, isForced, cb)
    // nothing to send, but to be fsynced
    writer.sync(err => { if (cb !== undefined) err ? cb(err) : cb(null, writer.lastSeq) })
  }
}

class RemoteWriter {
  /**
   * @param {string | null} filename
   * @param {import('../write/appender').Limits} limits
   * @param {boolean} isAlwaysForced whether every append has to be durable before it is acknowledged
   * @param {Listeners} listeners
   * @param {boolean} [large] whether records are sent as chunks that do not fit into a block
   */
  constructor (filename, limits, isAlwaysForced, listeners, large = false) {
    this.large = large
    this.filename = filename
    this.isAlwaysForced = isAlwaysForced
    this.listeners = listeners
    this.flush = this.flush.bind(this)
    this.appender = new RemoteAppender(this, limits, new FramePacker())
    this.packer = this.appender.packer
    this.waiters = this.appender.waiters
    this.counts = this.appender.counts
    /** Sends to the owner; null: there is no connection. @type {((buffers: Buffer[]) => void) | null} */
    this.send = null
    /** What the owner has said last. @type {Welcome | null} */
    this.welcome = null
    this.epoch = 0
    /** The highest number whose call was answered, in whatever way. */
    this.acknowledged = 0
    /** The highest number that was ever sent. */
    this.sent = 0
    /** Of the last record in the log, as far as this process knows. */
    this.lastSeq = -1
    /** Where the last record that was acknowledged to this process ends, and what `onacknowledged` was told of it. */
    this.end = this.toldEnd = 0
    /** Bytes and number of the frames that are sent and not acknowledged. */
    this.bytesOnTheWay = 0
    this.framesOnTheWay = 0
    /** The call whose record is to be acknowledged next: its group, and its index there. */
    this.nextGroup = 0
    this.nextCall = 0
    /** Seqs of atomic batches that are stored, and whose group is not. @type {number[][]} */
    this.batches = []
    /** What is stored of the oldest group. */
    this.partStored = { records: 0, bytes: 0 }
    this.requests = new Requests()
    /** Requests that the owner has answered, though readers of this process do not see that yet. */
    this.unseen = 0
    /** Of the last compaction: an owner may acknowledge with seqs from before. @type {import('../space/offset-map').OffsetMap | null} */
    this.map = null
    this.isScheduled = false
    this.isPending = false
    /** Up to this number all is durable, or was refused. */
    this.synced = 0
    /** Why nothing will be sent any more. @type {Error | null} */
    this.failure = null
    /** Called when the log is closed; null: `close` was not called. @type {Done | null} */
    this.onclosed = null
    this.isSyncingToClose = false
    /** Callers get no answer now: what they append then must come behind what is being handed over. */
    this.isHolding = false
    /** Whether it is closed. */
    this.isOver = false
    /** Whether this process is the owner: its writer has what waits here, and makes it durable when it is closed. */
    this.isAdopted = false
  }

  // Calls: as those of a Writer

  /** @param {((err: Error | null) => void) | undefined} cb */
  drain (cb) {
    this.waiters.wait(this.packer.end, false, cb)
    this.flushSoon()
  }

  /** @param {((err: Error | null) => void) | undefined} cb */
  sync (cb) {
    const { end } = this.packer
    if (this.isOver) {
      if (cb !== undefined) process.nextTick(cb, this.waiters.takeUntold())
      return
    }
    this.request(SYNC, (err) => {
      if (err && cb !== undefined) cb(err)
      // the error of an append before it that had no callback goes to this one
      else if (!err) {
        this.waiters.wait(Math.min(end, this.acknowledged), false, cb)
        this.flushSoon()
      }
    })
  }

  /**
   * @param {number} most
   * @param {() => void} cb
   */
  whenRoom (most, cb) {
    if (this.appender.refusal !== null) return process.nextTick(cb)
    this.waiters.waitForRoom(most, cb)
    this.flushSoon()
  }

  /**
   * @param {number} seq
   * @param {Done} cb
   */
  delete (seq, cb) {
    this.ask({ op: 'delete', seq }, cb)
  }

  /**
   * @param {number} first
   * @param {number} last
   * @param {Done} cb
   */
  deleteRange (first, last, cb) {
    this.ask({ op: 'deleteRange', first, last }, cb)
  }

  /**
   * @param {number} start
   * @param {import('../write/trimmer').Trimmed} cb
   */
  trim (start, cb) {
    this.ask({ op: 'trim', offset: Math.min(Math.max(start, 0), Number.MAX_SAFE_INTEGER) }, (err, start) => err ? cb(err) : cb(null, start))
  }

  /** @param {import('../space/reclaim').ReclaimCallback} cb */
  reclaim (cb) {
    this.ask({ op: 'reclaim' }, (err, reclaimed) => cb(err ?? null, reclaimed))
  }

  /**
   * @param {(err: Error | null, compacted?: import('../space/types').Compacted) => void} cb
   * @returns {() => void} has nobody wait for it any more; the owner may go on
   */
  compact (cb) {
    /** @type {import('./requests').Ask} */
    const ask = { op: 'compact' }
    this.ask(ask, (err, compacted) => cb(err ?? null, compacted))
    return () => {
      this.requests.giveUp(ask)
      this.settle()
    }
  }

  /**
   * @param {import('./requests').Ask} ask
   * @param {import('./requests').Request['cb']} cb
   */
  ask (ask, cb) {
    const { refusal } = this.appender
    if (refusal !== null) return process.nextTick(cb, refusal)
    this.request(ask, cb)
  }

  /** @param {Done} cb */
  close (cb) {
    this.onclosed = cb
    this.appender.refusal ??= errors.closed(this.filename)
    this.flushSoon()
  }

  /**
   * @param {import('./requests').Ask} ask
   * @param {import('./requests').Request['cb']} cb
   */
  request (ask, cb) {
    if (this.failure !== null) return process.nextTick(cb, this.failure)
    this.requests.add(ask, this.packer.end, cb)
    this.flushSoon()
  }

  // Sending

  /** Once the caller's own code has run, so that everything of a turn goes together. */
  flushSoon () {
    if (this.isScheduled) return
    this.isScheduled = true
    process.nextTick(this.flush)
  }

  flush () {
    const { packer, waiters, appender } = this
    this.isScheduled = false
    if (this.isAlwaysForced) packer.force(packer.end)
    else if (appender.forced > this.acknowledged) packer.force(appender.forced)
    packer.closeFrame()
    waiters.endGroup()
    // an empty batch
    if (this.acknowledged === packer.end) this.acknowledge(packer.end)
    if (this.send !== null) this.sendAll(this.send)
    this.settle()
  }

  /** @param {(buffers: Buffer[]) => void} send */
  sendAll (send) {
    const frames = this.unsentFrames()
    const next = this.packer.frames[this.framesOnTheWay]
    const buffers = frames.concat(this.requests.takeUnsent(next === undefined ? Infinity : next.first))
    if (buffers.length === 0) return
    this.counts.writes++
    send(buffers)
  }

  /** @returns {Buffer[]} the frames that may be sent now */
  unsentFrames () {
    const buffers = []
    const { window } = /** @type {Welcome} */ (this.welcome)
    const list = this.packer.frames
    for (let i = this.framesOnTheWay; i < list.length; i++) {
      const frame = list[i]
      const isFull = this.framesOnTheWay >= MAX_APPENDS || (this.bytesOnTheWay > 0 && this.bytesOnTheWay + frame.size > window)
      if (isFull) break
      frame.isSent = true
      this.framesOnTheWay++
      this.bytesOnTheWay += frame.size
      this.sent = Math.max(this.sent, frame.last)
      buffers.push(frame.bytes(this.epoch, this.acknowledged))
    }
    return buffers
  }

  // Answers of the owner

  /**
   * A connection is there.
   * @param {Welcome} welcome
   * @param {(buffers: Buffer[]) => void} send
   * @throws flumelog:protocol
   */
  connected (welcome, send) {
    this.welcome = welcome
    if (this.large) this.packer.most = layout.maxRecordSize(welcome.blockSize, welcome.checksum)
    this.epoch = welcome.epoch
    // what was given up since HELLO needs no answer
    for (const run of welcome.runs) if (run.first > this.acknowledged) this.onack(run)
    const first = this.packer.frames[0]
    // what the owner has forgotten of this client might be stored, or not
    const isLost = first !== undefined && (welcome.isUnknown ? first.first <= this.sent : first.last <= welcome.stored)
    if (isLost) this.giveUp(errors.forgotten(this.filename))
    this.send = send
    this.flush()
  }

  /** The connection is gone: what was on its way is sent again on the next one. */
  disconnected () {
    this.send = null
    const { packer } = this
    packer.frames = packer.frames.filter(frame => !frame.isGivenUp)
    for (const frame of packer.frames) frame.isSent = false
    this.framesOnTheWay = 0
    this.bytesOnTheWay = 0
    this.requests.forgetSent()
  }

  /**
   * Records are stored. Their callers are answered by `settle`.
   * @param {Run} run
   * @param {{ blockSize: number, checksum: boolean }} [rules] by which the log is packed; default: those of the owner
   * @throws flumelog:protocol if it acknowledges what was not sent
   */
  onack ({ first, count, seq }, { blockSize, checksum } = /** @type {Welcome} */ (this.welcome)) {
    const most = blockSize - layout.paddingSize(checksum)
    let position = seq % blockSize
    let base = seq - position
    for (let number = first; number < first + count; number++) {
      const frame = this.frameOf(number)
      const size = layout.readLength(frame.buffer, frame.position) + layout.FRAME_SIZE
      if (position + size > most) {
        base += blockSize
        position = 0
      }
      const now = this.map === null ? base + position : this.seqNow(base + position)
      this.resolve(number, now)
      if (frame.seqs !== null) frame.seqs[frame.acknowledged] = now
      if (!frame.isGivenUp) this.countStored(frame, size)
      this.end = now + size
      this.lastSeq = Math.max(this.lastSeq, now)
      position += size
      frame.position += size
      frame.acknowledged++
      if (frame.acknowledged < frame.count) continue
      if (frame.seqs !== null) this.batches.push(frame.seqs)
      this.removeFirst()
    }
    this.acknowledge(first + count - 1)
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   * @param {number} lastSeq of the last record in it
   */
  moved (map, lastSeq) {
    this.map = map
    this.lastSeq = lastSeq
    this.end = this.toldEnd = 0
    this.requests.move(map)
    // those that are stored, and not told yet, because others of their groups are not
    const { waiters: { groups }, nextGroup, nextCall, batches } = this
    const known = groups.slice(0, nextGroup + 1).map(({ seqs, count }, i) => ({ seqs, count: i < nextGroup ? count : nextCall }))
    for (const seqs of batches) known.push({ seqs, count: seqs.length })
    for (const { seqs, count } of known) for (let i = 0; i < count; i++) seqs[i] = this.seqNow(seqs[i])
  }

  /**
   * @param {number} seq that may be from before the last compaction
   * @returns {number} the same since, unless the record is gone
   */
  seqNow (seq) {
    const map = /** @type {import('../space/offset-map').OffsetMap} */ (this.map)
    return seq >= map.base || map.fd === -1 ? seq : map.at(seq) ?? seq
  }

  /**
   * @param {Frame} frame
   * @param {number} size of its next record, with the lengths
   */
  countStored ({ buffer, position }, size) {
    const { partStored } = this
    const start = position + layout.LENGTH_SIZE
    const end = position + size - layout.LENGTH_SIZE
    const kind = this.large ? kindAt(buffer, start, end) : 0
    // a large record counts once, with its own bytes
    if (kind !== PART) partStored.records++
    partStored.bytes += end - start - (kind === PART || kind === LAST ? headerSize(kind) : 0)
  }

  /**
   * @param {number} number
   * @returns {Frame} the oldest one, in which it is the next record
   */
  frameOf (number) {
    const frame = this.packer.frames[0]
    const expected = frame === undefined || frame === this.packer.filling ? 0 : frame.first + frame.acknowledged
    if (expected === number) return frame
    throw errors.protocol(`record ${number} was acknowledged, but ${expected === 0 ? 'none is in flight' : `${expected} is the next`}`)
  }

  removeFirst () {
    const frame = /** @type {Frame} */ (this.packer.frames.shift())
    if (!frame.isSent) return
    this.framesOnTheWay--
    this.bytesOnTheWay -= frame.size
  }

  /**
   * The calls that end with a record, and the empty batches behind it, get its seq.
   * @param {number} number of the record
   * @param {number} seq
   */
  resolve (number, seq) {
    const { groups } = this.waiters
    for (; this.nextGroup < groups.length; this.nextGroup++, this.nextCall = 0) {
      const { seqs, count } = groups[this.nextGroup]
      // calls from here on still have numbers
      while (this.nextCall < count && seqs[this.nextCall] <= number) seqs[this.nextCall++] = seq
      if (this.nextCall < count) return
    }
  }

  /** @param {number} number up to this one all are stored */
  acknowledge (number) {
    const { waiters, appender } = this
    this.resolve(number, this.lastSeq)
    this.acknowledged = Math.max(this.acknowledged, number)
    appender.lastSeq = this.acknowledged
    const stored = waiters.acknowledge(number)
    appender.countAcknowledged(stored)
    this.nextGroup -= stored.length
    if (stored.length > 0) this.batches = []
    for (const { records, bytes } of stored) {
      this.partStored.records -= records
      this.partStored.bytes -= bytes
    }
  }

  /**
   * Appends have failed, and with them all that were made since.
   * @param {number} epoch
   * @param {Error} error
   */
  onnack (epoch, error) {
    this.epoch = epoch
    this.framesOnTheWay = 0
    this.bytesOnTheWay = 0
    this.rollBack(error)
    this.packer.rollBack()
  }

  /**
   * The outcome of everything that waits is unknown. What was sent may still be acknowledged, and is not sent again.
   * @param {Error} error
   */
  giveUp (error) {
    const { packer } = this
    this.rollBack(error)
    const sent = packer.frames.filter(frame => frame.isSent)
    packer.rollBack()
    packer.frames = sent
    for (const frame of sent) frame.isGivenUp = true
    const requests = this.requests.takeAll()
    for (const { cb } of requests) this.waiters.ready.push({ answer: () => cb(error) })
    // an owner that is silent syncs nothing
    if (this.onclosed !== null && !this.isSyncingToClose) {
      this.isSyncingToClose = true
      this.waiters.ready.push({ answer: () => this.closed(error) })
    }
    this.settle()
  }

  /** @param {Error} failure */
  fail (failure) {
    this.failure = this.appender.refusal = failure
    this.giveUp(failure)
  }

  /** @param {Error} error */
  rollBack (error) {
    const { waiters, appender, packer, partStored } = this
    // an owner may have died when it had stored a part of a frame: the calls of that part have not failed
    if (partStored.records > 0) appender.countAcknowledged([waiters.acknowledgePart(this.nextCall, partStored.records, partStored.bytes)])
    this.partStored = { records: 0, bytes: 0 }
    appender.countFailed(waiters.rollBack(this.acknowledged, error))
    appender.forced = -1
    this.nextGroup = 0
    this.nextCall = 0
    this.batches = []
    // nothing of this has to be made durable
    if (this.synced === this.acknowledged) this.synced = packer.end
    this.acknowledged = appender.lastSeq = packer.end
  }

  /**
   * @param {number} id
   * @param {Error | null} error
   * @param {import('./requests').Result} [result]
   */
  onreply (id, error, result) {
    const request = this.requests.take(id)
    // given up
    if (request === undefined) return
    if (request.ask.op === 'sync' && error === null) this.onsynced(request.end)
    this.unseen++
    this.listeners.whenSeen(() => {
      this.unseen--
      this.waiters.ready.push({ answer: () => request.cb(error, result) })
      this.settle()
    })
  }

  /** @param {number} end the number of the last record that is durable for certain */
  onsynced (end) {
    this.synced = Math.max(this.synced, end)
    if (this.synced === this.acknowledged) this.counts.synced = { ...this.counts.written }
  }

  // Answers to callers

  /** What the owner has said is dealt with: answers callers, then sends what they and others have appended. */
  inputDone () {
    this.settle()
    this.flush()
  }

  /** Answers everybody whose answer has come. */
  settle () {
    const { waiters, appender, acknowledged, end } = this
    if (end !== this.toldEnd) this.listeners.onacknowledged(this.toldEnd = end, this.lastSeq)
    waiters.settle({ acknowledged, synced: acknowledged, inFlight: appender.ownBytes })
    if (this.isHolding) return
    waiters.answer()
    this.considerClosing()
    this.updatePending()
  }

  /** Whether something waits for the owner. */
  get waits () {
    return this.packer.end > this.acknowledged || this.requests.size > 0 || this.unseen > 0
  }

  updatePending () {
    if (this.waits === this.isPending) return
    this.isPending = this.waits
    this.listeners.onpending()
  }

  considerClosing () {
    if (this.onclosed === null || this.waits || this.isSyncingToClose) return
    this.isSyncingToClose = true
    if (this.synced >= this.acknowledged || this.isAdopted) return this.closed(null)
    this.request(SYNC, (err) => this.closed(err ?? null))
  }

  /** @param {Error | null} err */
  closed (err) {
    const onclosed = /** @type {Done} */ (this.onclosed)
    this.isOver = true
    onclosed(err ?? this.waiters.takeUntold())
  }
}

module.exports = { RemoteWriter }
