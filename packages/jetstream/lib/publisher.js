'use strict'

// Appends records: gathers what is appended while a batch is being stored into the next one.

const { callAll, sizeOf } = require('flumelog-random-access-file/parts')
const errors = require('./errors')
const { AppendSender } = require('./append-sender')
const { MAX_RECORDS, MAX_BYTES } = require('./batch-sender')

/**
 * @typedef {(err: Error | null, seq?: any) => void} Appended
 * @typedef {object} Call of `append`
 * @property {Uint8Array[]} records
 * @property {number} bytes
 * @property {boolean} atomic
 * @property {Appended | undefined} cb
 * @property {number} stored number of its records that are stored
 * @property {Error | null} error for which nothing of it is to be stored
 *
 * @typedef {object} Batch
 * @property {Uint8Array[]} records
 * @property {number} bytes
 * @property {{ call: Call, records: number }[]} parts which calls they are of, in order
 * @property {boolean} isOfSingles whether each of its records was appended alone
 */

class Publisher {
  /**
   * @param {string} label of the log, for errors
   * @param {{ highWaterMark: number, overflow: 'queue' | 'reject' }} limits
   * @param {{ lastSeq: number, advance: (seq: number) => void }} log told of the last record of a batch before the callbacks are called
   */
  constructor (label, limits, log) {
    this.label = label
    this.limits = limits
    this.log = log
    /** Null until the connection is open. @type {AppendSender | null} */
    this.sender = null
    /** Bytes that a record may have. */
    this.maxRecord = Infinity
    /** Calls of which records are still to be sent, from `next` on. @type {Call[]} */
    this.queue = []
    this.next = 0
    /** Records of the call at `next` that were sent. */
    this.sent = 0
    /** @type {Batch | null} */
    this.batch = null
    /** Whether batches are being sent, or about to be: one at a time. */
    this.isRunning = false
    /** Why nothing is accepted any more. @type {Error | null} */
    this.refusal = null
    /** Called when nothing is in flight. @type {Array<(err: Error | null) => void>} */
    this.drained = []
    /** @type {Array<{ bytes: number, run: () => void }>} */
    this.roomy = []
    const count = () => ({ records: 0, bytes: 0 })
    this.counts = { appended: count(), written: count(), rejected: count(), inFlight: count(), writes: 0 }
    this.run = this.run.bind(this)
  }

  /**
   * @param {import('./connection').Connection} connection that is open
   * @param {string} prefix of subjects
   * @param {number} maxRecord
   * @param {boolean} isReplicated whether the stream has replicas
   */
  start (connection, prefix, maxRecord, isReplicated) {
    this.sender = new AppendSender(connection, `${prefix}.${connection.transport.nuid.next()}`, this.counts, isReplicated)
    this.maxRecord = maxRecord
    this.schedule()
  }

  // What a sink needs

  get appender () {
    return this
  }

  get ownBytes () {
    return this.counts.inFlight.bytes
  }

  /**
   * @param {Uint8Array} data
   * @param {Appended} cb
   */
  appendUnlimited (data, cb) {
    this.accept([data], false, cb)
  }

  /**
   * @param {number} bytes
   * @param {() => void} run called when no more bytes than these are in flight
   */
  whenRoom (bytes, run) {
    if (this.ownBytes <= bytes) process.nextTick(run)
    else this.roomy.push({ bytes, run })
  }

  /** @param {(err: Error | null) => void} [cb] called when all that was appended is acknowledged, or has failed */
  sync (cb = () => {}) {
    if (this.counts.inFlight.records === 0) process.nextTick(cb, null)
    else this.drained.push(cb)
  }

  // Appends

  /**
   * @param {Uint8Array[]} records which may be changed by the caller afterwards
   * @param {boolean} atomic
   * @param {Appended | undefined} cb
   */
  append (records, atomic, cb) {
    const bytes = sizeOf(records)
    const { ownBytes, limits: { highWaterMark, overflow } } = this
    if (overflow === 'reject' && ownBytes > 0 && ownBytes + bytes > highWaterMark) {
      return this.reject(errors.overflow(bytes, ownBytes, highWaterMark), { records: records.length, bytes }, cb)
    }
    this.accept(records, atomic, cb)
  }

  /**
   * @param {Uint8Array[]} records
   * @param {boolean} atomic
   * @param {Appended | undefined} cb
   */
  accept (records, atomic, cb) {
    const bytes = sizeOf(records)
    if (this.refusal !== null) return this.reject(this.refusal, { records: records.length, bytes }, cb)
    const { appended, inFlight } = this.counts
    for (const count of [appended, inFlight]) {
      count.records += records.length
      count.bytes += bytes
    }
    this.queue.push({ records: records.map(data => Buffer.from(data)), bytes, atomic, cb, stored: 0, error: null })
    this.schedule()
  }

  /**
   * @param {Error} error
   * @param {import('flumelog-random-access-file/parts').Count} count of what is not stored
   * @param {Appended | undefined} cb
   */
  reject (error, count, cb) {
    this.countRejected(count)
    if (cb !== undefined) process.nextTick(cb, error)
  }

  /** @param {import('flumelog-random-access-file/parts').Count} count of what got an error */
  countRejected ({ records, bytes }) {
    this.counts.rejected.records += records
    this.counts.rejected.bytes += bytes
  }

  /** What is appended in one turn is sent together. */
  schedule () {
    if (this.isRunning || this.sender === null) return
    this.isRunning = true
    process.nextTick(this.run)
  }

  async run () {
    const sender = /** @type {AppendSender} */ (this.sender)
    for (;;) {
      const batch = this.takeBatch()
      if (batch === null) {
        this.isRunning = false
        return
      }
      this.batch = batch
      try {
        // those that have an error have no records
        while (batch.parts.length > 0) {
          const stored = batch.records.length === 0 ? 0 : await sender.storeSome(batch.records, batch.isOfSingles)
          if (stored === batch.records.length) this.batch = null
          this.settle(batch, stored, sender.last)
        }
      } catch (err) {
        this.batch = null
        this.fail(batch, /** @type {Error} */ (err))
      }
    }
  }

  /** @returns {Batch | null} the next records */
  takeBatch () {
    /** @type {Batch} */
    const batch = { records: [], bytes: 0, parts: [], isOfSingles: true }
    for (; this.next < this.queue.length; this.next++, this.sent = 0) {
      const call = this.queue[this.next]
      call.error = this.problemOf(call)
      if (call.error !== null) {
        batch.parts.push({ call, records: 0 })
        continue
      }
      if (call.records.length !== 1) batch.isOfSingles = false
      if (call.atomic && batch.records.length > 0 && batch.records.length + call.records.length > MAX_RECORDS) break
      const before = this.sent
      while (this.sent < call.records.length && batch.records.length < MAX_RECORDS && (call.atomic || batch.bytes < MAX_BYTES)) {
        const data = call.records[this.sent++]
        batch.records.push(data)
        batch.bytes += data.length
      }
      if (this.sent > before || call.records.length === 0) batch.parts.push({ call, records: this.sent - before })
      if (this.sent < call.records.length) break
    }
    if (this.next === this.queue.length || this.next > MAX_RECORDS) {
      this.queue = this.queue.slice(this.next)
      this.next = 0
    }
    return batch.parts.length === 0 ? null : batch
  }

  /**
   * @param {Call} call
   * @returns {Error | null} why its records cannot be stored
   */
  problemOf ({ records, atomic }) {
    if (atomic && records.length > MAX_RECORDS) return errors.tooManyTogether(this.label, records.length, MAX_RECORDS)
    const large = records.find(({ length }) => length > this.maxRecord)
    return large === undefined ? null : errors.tooLargeForStream(this.label, large.length, this.maxRecord)
  }

  // Outcomes

  /**
   * Records of a batch are stored: they are taken out of it.
   * @param {Batch} batch
   * @param {number} count of them
   * @param {number} seq of the last one
   */
  settle (batch, count, seq) {
    const { written, inFlight } = this.counts
    const bytes = count === batch.records.length ? batch.bytes : sizeOf(batch.records.slice(0, count))
    written.records += count
    written.bytes += bytes
    inFlight.records -= count
    inFlight.bytes -= bytes
    if (count > 0) this.log.advance(seq)
    let stored = seq - count
    /** @type {Array<() => void>} */
    const calls = []
    for (const { call, records } of takeParts(batch, count, bytes)) {
      stored += records
      if (call.error !== null) {
        this.forget(call.records.length, call.bytes)
        calls.push(() => call.cb?.(call.error))
        continue
      }
      call.stored += records
      if (call.stored < call.records.length) continue
      // an array may have no records
      const end = call.records.length === 0 ? this.log.lastSeq : stored
      calls.push(() => call.cb?.(null, call.atomic ? call.records.map((_, i) => end - call.records.length + 1 + i) : end))
    }
    callAll(calls, undefined)
    this.release()
  }

  /**
   * A batch could not be stored: nothing that was appended after it is, until now.
   * @param {Batch} batch
   * @param {Error} err
   */
  fail ({ parts }, err) {
    const failed = [...new Set([...parts.map(({ call }) => call), ...this.queue.slice(this.next)])]
    this.queue = []
    this.next = 0
    this.sent = 0
    for (const { records, bytes, stored } of failed) {
      const left = records.slice(stored)
      this.forget(left.length, stored === 0 ? bytes : sizeOf(left))
    }
    callAll(failed.map(({ cb, error }) => () => cb?.(error ?? err)), undefined)
    this.release()
  }

  /**
   * @param {number} records that are not stored
   * @param {number} bytes
   */
  forget (records, bytes) {
    const { inFlight } = this.counts
    inFlight.records -= records
    inFlight.bytes -= bytes
    this.countRejected({ records, bytes })
  }

  /** Calls who waits for room, or for the end. */
  release () {
    const { records, bytes } = this.counts.inFlight
    const isRoomy = this.roomy.filter(waiting => bytes <= waiting.bytes)
    this.roomy = this.roomy.filter(waiting => bytes > waiting.bytes)
    callAll(isRoomy.map(({ run }) => run), undefined)
    if (records > 0) return
    const { drained } = this
    this.drained = []
    callAll(drained, null)
  }

  /**
   * Accepts nothing more, and fails what is not sent yet; what is being sent ends with the connection.
   * @param {Error} err
   */
  stop (err) {
    this.refusal ??= err
    if (this.batch === null) this.fail({ records: [], bytes: 0, parts: [], isOfSingles: true }, err)
  }
}

/**
 * @param {Batch} batch
 * @param {number} count of its records that are stored
 * @param {number} bytes of these
 * @returns {Batch['parts']} their parts, and those without records before the next one, which are taken out of the batch
 */
function takeParts (batch, count, bytes) {
  const { records, parts } = batch
  batch.records = records.slice(count)
  batch.bytes -= bytes
  let left = count
  const end = parts.findIndex(({ records }) => {
    if (records > left) return true
    left -= records
    return false
  })
  if (end === -1) return parts.splice(0)
  const taken = parts.splice(0, end)
  // of an array, a part of the part
  if (left > 0) {
    taken.push({ call: parts[0].call, records: left })
    parts[0].records -= left
  }
  return taken
}

module.exports = { Publisher }
