'use strict'

// Appends records: gathers what is appended while a batch is being stored into the next one.

const { callbacks: { callAll, rethrowLater } } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')
const { AppendSender } = require('./append-sender')
const { MAX_RECORDS, MAX_BYTES, NO_TERMS } = require('./batch-sender')
const { sizeOf } = require('./size-of')
const { Unreported } = require('./unreported')

/**
 * @typedef {(err: Error | null, seq?: any) => void} Appended
 * @typedef {import('./batch-sender').Outcome} Outcome
 * @typedef {object} Call of `append`
 * @property {Uint8Array[]} records
 * @property {number} bytes
 * @property {boolean} atomic
 * @property {import('./batch-sender').Terms} terms
 * @property {Appended} cb
 * @property {number} stored number of its records that are stored
 * @property {number[]} seqs of these
 * @property {Error | null} error for which nothing of it is to be stored
 * @property {boolean} wasSent whether it is sent again
 *
 * @typedef {object} Batch
 * @property {Uint8Array[]} records
 * @property {number} bytes
 * @property {{ call: Call, records: number }[]} parts which calls they are of, in order
 * @property {import('./batch-sender').Terms} terms of its first record; if there are some, all of its records are of one call
 * @property {Array<Outcome | null> | null} outcomes of records that were sent one by one; null: they are not all known
 * @property {boolean} isInDoubt whether that will not change by itself
 */

class Publisher {
  /**
   * @param {string} label of the log, for errors
   * @param {{ lastSeq: number, advance: (seq: number, bytes?: number) => void }} log told of the last record of a batch before the callbacks are called
   */
  constructor (label, log) {
    this.label = label
    this.log = log
    /** Null until the connection is open. @type {AppendSender | null} */
    this.sender = null
    /** Bytes that a record may have. */
    this.maxRecord = Infinity
    /** Whether the stream has a duplicate window, so that records can have keys. */
    this.takesKeys = true
    /** Calls of which records are still to be sent, from `next` on. @type {Call[]} */
    this.queue = []
    this.next = 0
    /** Records of the call at `next` that were sent. */
    this.sent = 0
    /** Calls that are to be sent in batches of their own, since there was no space for all of them. */
    this.separate = 0
    /** Batches whose records were sent one by one, in order. @type {Batch[]} */
    this.flying = []
    /** Called when one of them has been answered. */
    this.landed = () => {}
    /** Whether batches are being sent, or about to be: one at a time. */
    this.isRunning = false
    /** Why nothing is accepted any more. @type {Error | null} */
    this.refusal = null
    /** Of appends without a callback. */
    this.unreported = new Unreported()
    const count = () => ({ records: 0, bytes: 0 })
    this.counts = { appended: count(), written: count(), inFlight: count(), writes: 0 }
    this.run = this.run.bind(this)
  }

  /**
   * @param {import('../connection/connection').Connection} connection that is open
   * @param {string} prefix of subjects
   * @param {number} maxRecord
   * @param {string | null} server that has the stream, and takes records one by one; null: none
   */
  start (connection, prefix, maxRecord, server) {
    this.sender = new AppendSender(connection, `${prefix}.${connection.transport.nuid.next()}`, this.counts, server)
    this.maxRecord = maxRecord
    this.schedule()
  }

  // What a sink needs

  get appender () {
    return this
  }

  /**
   * @param {Uint8Array} data
   * @param {boolean} sync ignored: what a stream has acknowledged is stored
   * @param {Appended} cb
   */
  append (data, sync, cb) {
    this.publish([data], false, NO_TERMS, cb)
  }

  /** @param {(err: Error | null) => void} cb called as `wait` does, with the error of an append without a callback */
  sync (cb) {
    this.wait((err) => cb(err ?? this.unreported.take()))
  }

  /** @param {(err: Error | null) => void} cb called when all that was appended before is acknowledged, or has failed: as an append of nothing */
  wait (cb) {
    this.enqueue([], 0, false, NO_TERMS, cb)
  }

  // Appends

  /**
   * @param {Uint8Array[]} records which may be changed by the caller afterwards
   * @param {boolean} atomic
   * @param {import('./batch-sender').Terms} terms
   * @param {Appended | undefined} cb
   */
  publish (records, atomic, terms, cb) {
    const bytes = sizeOf(records)
    if (this.refusal !== null) return this.reject(this.refusal, cb)
    const { appended, inFlight } = this.counts
    for (const count of [appended, inFlight]) {
      count.records += records.length
      count.bytes += bytes
    }
    this.enqueue(records.map(data => Buffer.from(data)), bytes, atomic, terms, cb ?? this.unreported.note)
  }

  /**
   * @param {Uint8Array[]} records
   * @param {number} bytes
   * @param {boolean} atomic
   * @param {import('./batch-sender').Terms} terms
   * @param {Appended} cb
   */
  enqueue (records, bytes, atomic, terms, cb) {
    this.queue.push({ records, bytes, atomic, terms, cb, stored: 0, seqs: [], error: null, wasSent: false })
    this.schedule()
  }

  /**
   * @param {Error} error
   * @param {Appended | undefined} cb
   */
  reject (error, cb) {
    if (cb === undefined) this.unreported.note(error)
    else process.nextTick(cb, error)
  }

  /** What is appended in one turn is sent together. */
  schedule () {
    if (this.isRunning || this.sender === null) return
    this.isRunning = true
    process.nextTick(this.run)
  }

  async run () {
    const sender = /** @type {AppendSender} */ (this.sender)
    while (this.next < this.queue.length) {
      const alone = this.countAlone()
      if (alone > 0) this.fly(this.takeBatch(alone))
      else if (this.flying.length === 0) await this.store(this.takeBatch(sender.maxRecords))
      else await new Promise(resolve => { this.landed = () => resolve(undefined) })
    }
    this.isRunning = false
  }

  /** @returns {number} how many of the next records are to be sent one by one */
  countAlone () {
    const { queue, next, counts: { inFlight } } = this
    if (this.flying.some(({ isInDoubt }) => isInDoubt)) return 0
    const most = /** @type {AppendSender} */ (this.sender).countAlone(inFlight.records)
    const isOrdinary = (/** @type {Call} */ call) => call.records.length === 1 && !hasTerms(call) && this.problemOf(call) === null
    let count = 0
    while (count < most && next + count < queue.length && isOrdinary(queue[next + count])) count++
    return count
  }

  /**
   * Sends records one by one, and does not wait for the answers.
   * @param {Batch} batch
   */
  fly (batch) {
    const sender = /** @type {AppendSender} */ (this.sender)
    this.flying.push(batch)
    sender.fly(batch.records).then((outcomes) => {
      batch.outcomes = outcomes
      batch.isInDoubt = outcomes.includes(null)
      this.land()
    }).catch(rethrowLater)
  }

  /** Those that were sent first are settled first. If something is in doubt, all are waited for. */
  land () {
    const { flying } = this
    const sender = /** @type {AppendSender} */ (this.sender)
    while (flying.length > 0 && flying[0].outcomes !== null && !flying[0].isInDoubt) {
      const batch = /** @type {Batch} */ (flying.shift())
      const outcomes = /** @type {Outcome[]} */ (batch.outcomes)
      for (const seq of outcomes) if (typeof seq === 'number') sender.last = seq
      this.settle(batch, outcomes)
    }
    if (flying.length > 0 && flying.every(({ outcomes }) => outcomes !== null)) this.settleFlying()
    else this.landed()
  }

  /** Finds out what became of all records that were sent one by one. */
  async settleFlying () {
    const sender = /** @type {AppendSender} */ (this.sender)
    const all = joined(this.flying)
    try {
      this.settle(all, await sender.settle(sender.last, all.records, /** @type {Array<Outcome | null>} */ (all.outcomes)))
      this.flying = []
      for (const { call } of all.parts) call.wasSent = true
      if (all.parts.length > 0) this.takeBack(all)
      this.schedule()
    } catch (err) {
      this.flying = []
      this.fail(all, /** @type {Error} */ (err))
    }
    this.landed()
  }

  /**
   * Stores a batch, and waits for that.
   * @param {Batch} batch
   */
  async store (batch) {
    const sender = /** @type {AppendSender} */ (this.sender)
    try {
      // those that have an error have no records
      while (batch.parts.length > 0) {
        const outcomes = batch.records.length === 0 ? [] : await sender.store(batch.records, batch.parts.some(({ call }) => call.wasSent), batch.terms)
        // the condition of an array is met once its first record is stored
        if (outcomes.length > 0) batch.terms = NO_TERMS
        if (sender.wasSent) for (const { call } of batch.parts) call.wasSent = true
        this.settle(batch, outcomes)
      }
    } catch (err) {
      if (sender.learnLimit(err, batch.records.length)) return this.takeBack(batch)
      const isFull = /** @type {any} */ (err).code === 'ENOSPC'
      if (isFull && batch.parts.filter(({ records }) => records > 0).length > 1) {
        this.separate = batch.parts.length
        return this.takeBack(batch)
      }
      if (/** @type {any} */ (err).code === 'flumelog:conflict') this.refuse(batch, /** @type {import('flumelog-random-access-file/parts').LogError} */ (err))
      else this.fail(batch, await this.withdraw(batch, /** @type {Error} */ (err)), isFull)
    }
    // whoever waited for these records may append others, which then are in the next batch: without them, each batch would have half of the records
    if (this.next < this.queue.length) await new Promise(resolve => setImmediate(resolve))
  }

  /**
   * A conditional call is not stored; calls after it may be.
   * @param {Batch} batch the first one of the call
   * @param {import('flumelog-random-access-file/parts').LogError} conflict
   */
  refuse (batch, conflict) {
    // those before it have no records
    const part = /** @type {Batch['parts'][0]} */ (batch.parts.at(-1))
    part.call.error = conflict
    part.records = 0
    batch.records = []
    batch.bytes = 0
    // the rest of an array that is larger than a batch
    if (this.queue[this.next] === part.call) this.next++
    this.sent = 0
    // its caller may read the message because of which it is refused
    this.log.advance(Number(conflict.seq))
    this.settle(batch, [])
  }

  /**
   * Deletes what earlier batches have stored of a call that gets an error.
   * @param {Batch} batch
   * @param {Error} err
   * @returns {Promise<Error>} for the calls
   */
  async withdraw ({ parts }, err) {
    const sender = /** @type {AppendSender} */ (this.sender)
    try {
      await sender.withdraw(parts.length === 0 ? [] : parts[0].call.seqs)
      return err
    } catch (unknown) {
      return /** @type {Error} */ (unknown)
    }
  }

  /**
   * Nothing of what is left of a batch is stored: it is to be sent in other batches.
   * @param {Batch} batch
   */
  takeBack ({ parts }) {
    const calls = new Set([...parts.map(({ call }) => call), ...this.queue.slice(this.next)])
    this.queue = [...calls]
    this.next = 0
    this.sent = this.queue[0].stored
  }

  /**
   * @param {number} maxRecords
   * @returns {Batch} the next records
   */
  takeBatch (maxRecords) {
    /** @type {Batch} */
    const batch = { records: [], bytes: 0, parts: [], terms: NO_TERMS, outcomes: null, isInDoubt: false }
    const { maxBytes } = /** @type {AppendSender} */ (this.sender)
    for (; this.next < this.queue.length; this.next++, this.sent = 0) {
      const call = this.queue[this.next]
      if (hasTerms(batch) || ((hasTerms(call) || this.separate > 0) && batch.records.length > 0)) break
      call.error = this.problemOf(call)
      if (call.error !== null) {
        batch.parts.push({ call, records: 0 })
        continue
      }
      if (call.atomic && batch.records.length > 0 && batch.records.length + call.records.length > maxRecords) break
      const before = this.sent
      if (before === 0) batch.terms = call.terms
      // an array that is alone is not divided for a slow line
      const most = call.atomic || (batch.records.length === 0 && call.bytes <= MAX_BYTES) ? Infinity : maxBytes
      while (this.sent < call.records.length && batch.records.length < maxRecords && batch.bytes < most) {
        const data = call.records[this.sent++]
        batch.records.push(data)
        batch.bytes += data.length
      }
      if (this.sent > before || call.records.length === 0) batch.parts.push({ call, records: this.sent - before })
      if (this.sent < call.records.length) break
      if (this.separate > 0) this.separate--
    }
    if (this.next === this.queue.length || this.next > MAX_RECORDS) {
      this.queue = this.queue.slice(this.next)
      this.next = 0
    }
    return batch
  }

  /**
   * @param {Call} call
   * @returns {Error | null} why its records cannot be stored
   */
  problemOf ({ records, atomic, terms: { key } }) {
    const { maxRecords } = /** @type {AppendSender} */ (this.sender)
    if (key !== null && !this.takesKeys) return errors.unsuitableStream(this.label, 'the stream has no duplicate_window, and an append with a key needs one')
    if (atomic && records.length > maxRecords) return errors.tooManyTogether(this.label, records.length, maxRecords)
    const large = records.find(({ length }) => length > this.maxRecord)
    return large === undefined ? null : errors.tooLargeForStream(this.label, large.length, this.maxRecord)
  }

  // Outcomes

  /**
   * It is known what became of records of a batch: they are taken out of it.
   * @param {Batch} batch
   * @param {Outcome[]} outcomes of the first ones
   */
  settle (batch, outcomes) {
    const { written, inFlight } = this.counts
    const settled = batch.records.slice(0, outcomes.length)
    const seqs = outcomes.filter(outcome => typeof outcome === 'number')
    const bytes = sizeOf(settled.filter((_, i) => typeof outcomes[i] === 'number'))
    written.records += seqs.length
    written.bytes += bytes
    inFlight.records -= seqs.length
    inFlight.bytes -= bytes
    if (seqs.length > 0) this.log.advance(/** @type {number} */ (seqs.at(-1)), bytes)
    let index = 0
    /** @type {Array<() => void>} */
    const calls = []
    for (const { call, records } of takeParts(batch, outcomes.length)) {
      if (call.error !== null && records === 0) {
        this.forget(call.records.length, call.bytes)
        calls.push(() => call.cb(call.error))
        continue
      }
      for (let end = index + records; index < end; index++) {
        const outcome = outcomes[index]
        call.stored++
        if (typeof outcome === 'number') call.seqs.push(outcome)
        else {
          call.error = outcome
          this.forget(1, settled[index].length)
        }
      }
      if (call.stored < call.records.length) continue
      // an array may have no records
      const end = call.seqs.at(-1) ?? this.log.lastSeq
      calls.push(() => call.error === null ? call.cb(null, call.atomic ? call.seqs : end) : call.cb(call.error))
    }
    callAll(calls, undefined)
  }

  /**
   * A batch could not be stored, and what was appended after it until now is not, either. Calls without records follow those before them.
   * @param {Batch} batch
   * @param {Error} err
   * @param {boolean} [isFull] whether there was no space for it: there may be for less
   */
  fail ({ parts }, err, isFull = false) {
    const sent = new Set(parts.map(({ call }) => call))
    const refused = parts.find(({ records }) => records > 0)?.call
    const mayFit = (/** @type {Call} */ call) => isFull && refused !== undefined && !sent.has(call) && (call.records.length < refused.records.length || call.bytes < refused.bytes)
    // while the log is open
    const isKept = (/** @type {Call} */ call) => call.records.length === 0 ? this.sender?.connection.failure === null : mayFit(call)
    const calls = [...new Set([...sent, ...this.queue.slice(this.next)])]
    this.queue = calls.filter(isKept)
    this.next = 0
    this.sent = 0
    const failed = calls.filter(call => !isKept(call))
    for (const { records, bytes, stored } of failed) {
      const left = records.slice(stored)
      this.forget(left.length, stored === 0 ? bytes : sizeOf(left))
    }
    callAll(failed.map(({ cb, error }) => () => cb(error ?? err)), undefined)
    if (this.queue.length > 0) this.schedule()
  }

  /**
   * @param {number} records that are not stored
   * @param {number} bytes
   */
  forget (records, bytes) {
    const { inFlight } = this.counts
    inFlight.records -= records
    inFlight.bytes -= bytes
  }

  /**
   * Accepts nothing more. What is being sent, or is to be, ends with the connection, if there was one.
   * @param {Error} err
   */
  stop (err) {
    this.refusal ??= err
    if (this.sender === null) this.fail(joined([]), err)
  }
}

/**
 * @param {Batch} batch
 * @param {number} count of its first records
 * @returns {Batch['parts']} their parts, and those without records before the next one, which are taken out of the batch
 */
function takeParts (batch, count) {
  const { records, parts } = batch
  batch.bytes -= sizeOf(records.slice(0, count))
  batch.records = records.slice(count)
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

/**
 * @param {Batch[]} batches
 * @returns {Batch} one of all their records
 */
function joined (batches) {
  return {
    records: batches.flatMap(({ records }) => records),
    bytes: batches.reduce((sum, { bytes }) => sum + bytes, 0),
    parts: batches.flatMap(({ parts }) => parts),
    terms: NO_TERMS,
    outcomes: batches.flatMap(({ outcomes }) => outcomes ?? []),
    isInDoubt: false
  }
}

/** @param {{ terms: import('./batch-sender').Terms }} batch or call @returns {boolean} whether it is stored by itself */
function hasTerms ({ terms: { after, key } }) {
  return after !== null || key !== null
}

module.exports = { Publisher }
