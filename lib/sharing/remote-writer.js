'use strict'

// Takes the writer's place in a client: appends, deletions and syncs go to the owner of
// the log, and their callers are answered when it has answered. Nothing is forgotten
// until then: what a connection loses is sent again on the next one. No I/O: what is to
// be sent is handed to a channel: a connection, or the writer of this process when that becomes the owner.
//
// Where a writer has offsets, there are numbers of records here; see frame-packer.js.

const layout = require('../format/layout')
const errors = require('../errors')
const { Appender } = require('../write/appender')
const { Frame, FramePacker } = require('./frame-packer')
const { ACK, APPEND_SIZE, CONDITION_SIZE, CONFLICT, MAX_APPEND, NACK, REPLY, REQUEST_COST } = require('./frames')

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {import('./frame-packer').Request} Request
 * @typedef {import('./frames').Run} Run
 * @typedef {import('./frames').Conflict} Conflict
 * @typedef {Pick<import('./frames').Welcome, 'blockSize' | 'checksum' | 'window' | 'isUnknown' | 'runs'>} Greeting
 * @typedef {{ send: (items: Array<Frame | Request>, answered: number) => void }} Channel
 *
 * @typedef {object} Listeners
 * @property {() => void} onsettled callers are answered: `isPending` says whether others wait for the owner
 * @property {(end: number, seq: number) => void} onacknowledged records of this process are acknowledged, the last of which has this seq and ends
 *   at `end`. Their callers are not answered yet
 * @property {(cb: () => void) => void} whenSeen calls back when readers of this process see what the owner has done by now
 */

/** @type {import('./frames').Ask} */
const SYNC = { op: 'sync' }
/** What an owner can do again, also after a compaction. */
const REPEATABLE = new Set(['sync', 'compact'])

/** @extends {Appender<FramePacker>} */
class RemoteAppender extends Appender {
  /**
   * @param {RemoteWriter} writer
   * @param {FramePacker} packer
   */
  constructor (writer, packer) {
    super(packer, writer.filename, 0, () => writer.flushSoon())
    this.writer = writer
  }

  /**
   * @param {Uint8Array[]} batch
   * @param {boolean} sync
   * @param {import('../write/commit-group').Appended | undefined} cb
   */
  appendBatch (batch, sync, cb) {
    const { writer } = this
    if (batch.length > 0 || !sync || this.refusal !== null) return super.appendBatch(batch, sync, cb)
    // nothing to send, but to be fsynced
    writer.sync(cb && (err => err ? cb(err) : cb(null, writer.lastSeq)))
  }

  /**
   * The owner compares: the call has a frame, and a group, of its own.
   * @param {number} after
   * @param {Uint8Array[]} batch
   * @param {boolean} sync
   * @param {boolean} isAtomic
   * @param {((err: Error | null, result?: any) => void) | undefined} cb
   */
  appendAfter (after, batch, sync, isAtomic, cb) {
    const { packer, waiters } = this
    const most = MAX_APPEND - APPEND_SIZE - CONDITION_SIZE
    const bytes = packer.bytesForAll(batch)
    if (bytes > most) return this.reject(errors.tooLargeToSend(this.writer.filename, bytes, most), cb)
    packer.startFrame(bytes, after)
    waiters.endGroup()
    if (isAtomic) this.appendAtomic(batch, sync, cb)
    else this.appendBatch(batch, sync, cb)
    packer.closeFrame()
    waiters.endGroup()
  }

  /**
   * @param {number} number up to this one all are stored
   * @param {(number: number) => number} seqOf where a record is, as the caller is told
   */
  acknowledge (number, seqOf) {
    this.lastSeq = number
    const stored = this.waiters.acknowledge(number)
    for (const { seqs, count } of stored) for (let i = 0; i < count; i++) seqs[i] = seqOf(seqs[i])
    this.countAcknowledged(stored)
  }

  /** @param {Error} error of all that is not acknowledged */
  rollBack (error) {
    this.countFailed(this.waiters.rollBack(this.lastSeq, error))
    this.syncTo = -1
    this.lastSeq = this.packer.end
  }
}

class RemoteWriter {
  /**
   * @param {string} filename
   * @param {boolean} alwaysSync whether every append has to be durable before it is acknowledged
   * @param {Listeners} listeners
   * @param {boolean} [large] whether records are sent as chunks that do not fit into a block
   */
  constructor (filename, alwaysSync, listeners, large = false) {
    this.large = large
    this.filename = filename
    this.alwaysSync = alwaysSync
    this.listeners = listeners
    this.flush = this.flush.bind(this)
    this.appender = new RemoteAppender(this, new FramePacker())
    this.packer = this.appender.packer
    this.waiters = this.appender.waiters
    this.counts = this.appender.counts
    /** Null: there is no connection. @type {Channel | null} */
    this.channel = null
    /** What the owner has said last. @type {Greeting | null} */
    this.greeting = null
    /** The highest number that was ever sent. */
    this.sent = 0
    /** Of the last record in the log, as far as this process knows. */
    this.lastSeq = -1
    /** Up to here readers of this process have to see the log: where the last record that was acknowledged to it ends. What `onacknowledged` was told of it. */
    this.end = this.toldEnd = 0
    /** What is sent on this connection and not answered, in order. @type {Array<Frame | Request>} */
    this.inFlight = []
    /** Bytes of the window that it takes. */
    this.cost = 0
    this.lastRequest = 0
    /** Requests that the owner has answered, though readers of this process do not see that yet. */
    this.unseen = 0
    /** Of the compactions since the last greeting: the next one may acknowledge with seqs from before them. @type {import('../space/offset-map').OffsetMap[]} */
    this.maps = []
    this.isScheduled = false
    /** Up to this number all is durable, or was refused. */
    this.synced = 0
    /** Whether a deletion may not be durable. */
    this.hasDeleted = false
    /** Called when nothing is pending: all is durable, and the log is closing. @type {Done | null} */
    this.onclosed = null
  }

  /** The highest number whose call was answered, in whatever way. */
  get acknowledged () {
    return this.appender.lastSeq
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
   * @param {number} seq
   * @param {Done} cb
   */
  delete (seq, cb) {
    this.request({ op: 'delete', seq }, cb)
  }

  /**
   * @param {number} first
   * @param {number} last
   * @param {Done} cb
   */
  deleteRange (first, last, cb) {
    this.request({ op: 'deleteRange', first, last }, cb)
  }

  /**
   * @param {number} start
   * @param {import('../write/trimmer').Trimmed} cb
   */
  trim (start, cb) {
    this.request({ op: 'trim', offset: Math.min(Math.max(start, 0), Number.MAX_SAFE_INTEGER) }, (err, start) => err ? cb(err) : cb(null, start))
  }

  /**
   * @param {string} id of the log that is to be compacted
   * @param {(err: Error | null, compacted?: import('../space/types').Compacted) => void} cb
   * @returns {() => void} has nobody wait for it any more; the owner may go on
   */
  compact (id, cb) {
    const request = this.request({ op: 'compact', id }, (err, compacted) => cb(err ?? null, compacted))
    return () => {
      if (request !== null) this.remove(request)
      this.settle()
    }
  }

  /** @param {Done} cb called with the first error of an append or sync that had no callback */
  close (cb) {
    const synced = (/** @type {Error | null | undefined} */ err) => {
      if (err) this.waiters.refusedSilently(err)
      this.onclosed = cb
      this.flushSoon()
    }
    if (this.synced < this.packer.end || this.hasDeleted) this.request(SYNC, synced)
    else synced(null)
    this.appender.close()
  }

  /**
   * @param {import('./frames').Ask} ask
   * @param {Request['cb']} cb
   * @returns {Request | null} null: it is refused
   */
  request (ask, cb) {
    const { appender: { refusal }, packer } = this
    if (refusal !== null) {
      process.nextTick(cb, refusal)
      return null
    }
    if (ask.op === 'delete' || ask.op === 'deleteRange') this.hasDeleted = true
    const request = { request: ++this.lastRequest, ask, cb, end: packer.end, cost: REQUEST_COST }
    this.endFrame()
    packer.queue.push(request)
    this.flushSoon()
    return request
  }

  // Sending

  /** Once the caller's own code has run, so that everything of a turn goes together. */
  flushSoon () {
    if (this.isScheduled) return
    this.isScheduled = true
    process.nextTick(this.flush)
  }

  /** Sends what was appended, and answers callers. */
  flush () {
    this.isScheduled = false
    this.send()
    this.settle()
  }

  send () {
    const { packer, appender, channel, greeting } = this
    if (this.alwaysSync) packer.syncTo(packer.end)
    else if (appender.syncTo > this.acknowledged) packer.syncTo(appender.syncTo)
    this.endFrame()
    // an empty batch
    if (this.acknowledged === packer.end) this.appender.acknowledge(packer.end, () => this.lastSeq)
    if (channel === null || packer.queue.length === 0) return
    const { queue } = packer
    let count = 0
    for (; count < queue.length; count++) {
      const item = queue[count]
      if (this.cost + item.cost > Number(greeting?.window)) break
      this.cost += item.cost
      this.inFlight.push(item)
      if (item instanceof Frame) this.sent = Math.max(this.sent, item.last)
    }
    if (count === 0) return
    this.counts.writes++
    channel.send(queue.splice(0, count), this.acknowledged)
  }

  /** What is appended from now on goes into another frame, and may fail though what was before is stored. */
  endFrame () {
    this.packer.closeFrame()
    this.waiters.endGroup()
  }

  /** @param {Frame | Request} item that is answered, or for which nobody waits any more */
  remove (item) {
    const list = this.inFlight.includes(item) ? this.inFlight : this.packer.queue
    const index = list.indexOf(item)
    if (index === -1) return
    list.splice(index, 1)
    if (list === this.inFlight) this.cost -= item.cost
  }

  /** @param {(item: Frame | Request) => boolean} isKept all others are answered */
  keep (isKept) {
    this.inFlight = this.inFlight.filter(isKept)
    this.packer.queue = this.packer.queue.filter(isKept)
    this.cost = this.inFlight.reduce((sum, { cost }) => sum + cost, 0)
  }

  // Answers of the owner

  /**
   * A connection is there. Callers are answered by `settle`.
   * @param {Greeting} greeting
   * @param {Channel} channel
   * @throws flumelog:protocol
   */
  connected (greeting, channel) {
    this.greeting = greeting
    if (this.large) this.packer.most = layout.maxRecordSize(greeting.blockSize, greeting.checksum)
    // what was given up since HELLO needs no answer
    for (const run of greeting.runs) {
      if (run.first <= this.acknowledged) continue
      // frames are decided in order, so one before it was refused, and the answer was lost with a connection
      for (let frame = this.oldestFrame; frame !== undefined && frame.first < run.first && frame.after !== null; frame = this.oldestFrame) {
        this.onconflict({ first: frame.first, count: frame.count, seq: run.seq, end: this.end })
      }
      this.onack(run)
    }
    this.maps = []
    // what the owner has forgotten of this client might be stored, or not
    if (greeting.isUnknown && this.sent > this.acknowledged) this.giveUp(errors.forgotten(this.filename))
    this.channel = channel
    this.send()
  }

  /** The connection is gone: what was in flight is sent again on the next one. */
  disconnected () {
    this.channel = null
    this.packer.queue = [...this.inFlight, ...this.packer.queue]
    this.inFlight = []
    this.cost = 0
  }

  /**
   * Callers are answered by `settle`.
   * @param {number} type of the frame
   * @param {any} message
   */
  onanswer (type, message) {
    if (type === ACK) this.onack(message)
    else if (type === CONFLICT) this.onconflict(message)
    else if (type === NACK) this.onnack(message.error)
    else if (type === REPLY) this.onreply(message.request, message.error ?? null, message.result)
  }

  /**
   * The records of a frame are stored. Their callers are answered by `settle`.
   * @param {Run} run
   * @throws flumelog:protocol if it acknowledges what was not sent
   */
  onack (run) {
    // first: nothing is in flight as long as there is no greeting
    const frame = this.frameOf(run)
    const { blockSize, checksum } = /** @type {Greeting} */ (this.greeting)
    const most = blockSize - layout.paddingSize(checksum)
    const { records, seqs = [] } = frame
    let position = run.seq % blockSize
    let base = run.seq - position
    for (let at = 0, i = 0; i < frame.count; i++) {
      const size = layout.readLength(records, at) + layout.FRAME_SIZE
      if (position + size > most) {
        base += blockSize
        position = 0
      }
      seqs[i] = this.now(base + position)
      this.end = seqs[i] + size
      position += size
      at += size
    }
    const before = this.lastSeq
    this.remove(frame)
    this.lastSeq = Math.max(before, seqs[frame.count - 1])
    // a call without records, in front of all others, ends with the record before
    this.appender.acknowledge(frame.last, (number) => seqs[number - frame.first] ?? before)
  }

  /**
   * The records of a frame are not stored, because of its condition. Its caller is answered by `settle`.
   * @param {Conflict} conflict
   * @throws flumelog:protocol if it refuses what was not sent, or has no condition
   */
  onconflict ({ first, count, seq, end }) {
    const frame = this.frameOf({ first, count, seq })
    if (frame.after === null) throw errors.protocol(`record ${first} was refused because of its condition, but has none`)
    const last = this.now(seq)
    // calls without records, in front of it
    this.appender.acknowledge(first - 1, () => this.lastSeq)
    this.remove(frame)
    this.lastSeq = Math.max(this.lastSeq, last)
    // readers of this process see the record because of which it was refused
    this.end = Math.max(this.end, end)
    this.appender.countFailed([this.waiters.refuseOldest(errors.conflict(this.filename, frame.after, last))])
    this.appender.acknowledge(frame.last, () => this.lastSeq)
  }

  /**
   * @param {number} seq of a record, perhaps from before compactions
   * @returns {number} the same since, unless the record is gone
   */
  now (seq) {
    let now = seq
    for (const map of this.maps) now = map.now(now)
    return now
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   * @param {number} lastSeq of the last record in it
   */
  moved (map, lastSeq) {
    this.maps.push(map)
    this.lastSeq = lastSeq
    this.end = this.toldEnd = 0
    this.refuseRequests(({ op }) => !REPEATABLE.has(op), errors.compacted(this.filename))
  }

  /**
   * @param {(ask: import('./frames').Ask) => boolean} isRefused
   * @param {Error} error
   */
  refuseRequests (isRefused, error) {
    this.keep((item) => {
      if (item instanceof Frame || !isRefused(item.ask)) return true
      this.waiters.ready.push({ answer: () => item.cb(error) })
      return false
    })
  }

  get oldestFrame () {
    const isFrame = (/** @type {Frame | Request} */ item) => item instanceof Frame
    return /** @type {Frame | undefined} */ (this.inFlight.find(isFrame) ?? this.packer.queue.find(isFrame))
  }

  /**
   * @param {Run} run
   * @returns {Frame} the oldest one, of which it tells
   */
  frameOf ({ first, count }) {
    const frame = this.oldestFrame
    if (frame === undefined || frame === this.packer.filling || frame.last > this.sent) throw errors.protocol(`record ${first} was acknowledged, but none is in flight`)
    if (frame.first === first && frame.count === count) return frame
    throw errors.protocol(`${count} records from number ${first} on were acknowledged, but ${frame.count} from ${frame.first} on are the next`)
  }

  /**
   * All appends that are not acknowledged have failed. What is appended from now on has higher numbers.
   * @param {Error} error
   */
  onnack (error) {
    const { appender, packer } = this
    // nothing of this has to be made durable
    if (this.synced === this.acknowledged) this.synced = packer.end
    appender.rollBack(error)
    packer.closeFrame()
    this.keep(item => !(item instanceof Frame))
  }

  /**
   * The outcome of everything that waits is unknown. The connection has to end: what was sent on it may still be stored, but not when another
   * one is there. Callers are answered by `settle`.
   * @param {Error} error
   */
  giveUp (error) {
    this.onnack(error)
    this.refuseRequests(() => true, error)
  }

  /** @param {Error} failure */
  fail (failure) {
    this.appender.stop(failure)
    this.giveUp(failure)
    this.settle()
  }

  /**
   * @param {number} number
   * @param {Error | null} error
   * @param {any} result
   */
  onreply (number, error, result) {
    const request = /** @type {Request | undefined} */ (this.inFlight.find(item => 'ask' in item && item.request === number))
    // nobody waits for it any more
    if (request === undefined) return
    this.remove(request)
    if (request.ask.op === 'sync' && error === null) this.synced = Math.max(this.synced, request.end)
    this.unseen++
    this.listeners.whenSeen(() => {
      this.unseen--
      this.waiters.ready.push({ answer: () => request.cb(error, result) })
      this.settle()
    })
  }

  // Answers to callers

  /** Answers everybody whose answer has come. */
  settle () {
    const { waiters, acknowledged, end } = this
    if (end !== this.toldEnd) this.listeners.onacknowledged(this.toldEnd = end, this.lastSeq)
    waiters.settle({ acknowledged, synced: acknowledged })
    waiters.answer()
    this.listeners.onsettled()
    const { onclosed } = this
    if (onclosed === null || this.isPending) return
    this.onclosed = null
    onclosed(waiters.takeUnreported())
  }

  /** Whether something waits for the owner. */
  get isPending () {
    return this.packer.end > this.acknowledged || this.inFlight.length + this.packer.queue.length > 0 || this.unseen > 0
  }
}

module.exports = { RemoteWriter }
