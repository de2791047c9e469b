'use strict'

// A fuzzed log from its opening to its end: what may go wrong now, what every answer
// is checked for, and what has to be true when nothing is in progress.

const { Calls } = require('./calls')

/** Errors of the operating system that a simulated disk gives. */
const SYSTEM_ERRORS = ['ENOSPC', 'EIO']

class Session {
  /**
   * @param {object} options
   * @param {import('../../../lib/log').FlumeLog<any>} options.log
   * @param {any} options.settings
   * @param {import('./model').Model} options.model
   * @param {any} options.world
   * @param {Calls} options.calls
   */
  constructor ({ log, settings, model, world, calls }) {
    this.log = log
    this.settings = settings
    /** What was deleted before this moment is safe from a power cut. */
    this.erasedBefore = settings.sync === 'always' ? Infinity : 0
    this.model = model
    this.world = world
    this.calls = calls
    this.random = world.random
    this.violate = world.violate
    /** @type {Set<import('./readers').Reader>} */
    this.readers = new Set()
    this.isOpen = false
    /** @type {Error | null} */
    this.openError = null
    this.closeCalledAt = Infinity
    this.isClosed = false
    /** @type {Error | null} why the first close failed */
    this.closeError = null
    this.hasRejected = settings.overflow === 'reject'
    this.hasBeenShown = -1
    log.since((seq) => {
      if (seq < this.hasBeenShown) this.violate(`since went back from ${this.hasBeenShown} to ${seq}`)
      this.hasBeenShown = seq
    })
  }

  /**
   * Makes a call that is called back once.
   * @param {string} what
   * @param {(cb: (...results: any[]) => void) => void} make
   * @param {(call: import('./calls').Call, ...results: any[]) => void} check
   */
  call (what, make, check) {
    const call = this.calls.start(what)
    const cb = this.calls.callback(call, (...results) => check(call, ...results))
    this.calls.make(call, () => make(cb))
    return call
  }

  get moment () {
    return this.calls.moment
  }

  /**
   * @param {import('./calls').Call} call
   * @param {Error & { code?: string }} err
   * @param {{ isRead?: boolean, codes?: string[] }} [allowed]
   */
  checkError (call, err, { isRead = false, codes = [] } = {}) {
    const { code } = err
    const { faults } = this.world
    if (codes.includes(code)) return
    if (this.openError !== null && code === this.openError.code) return
    // after a failed sync, close waits for nobody
    if (code === 'flumelog:closed' && (isRead || faults.sync > 0 ? this.closeCalledAt < Infinity : call.madeAt > this.closeCalledAt)) return
    if (!isRead && code === 'flumelog:failed' && faults.sync > 0) return
    if (SYSTEM_ERRORS.includes(code) && (faults.read > 0 || (!isRead && faults.change > 0))) return
    this.violate(`${call.name} got ${err.stack}`)
  }

  /**
   * All that was appended before this call, and has not failed, is safe from a power cut.
   * @param {import('./calls').Call} call
   */
  checkDurable (call) {
    const { world, model } = this
    for (const record of model.records) {
      if (record.batch.madeAt > call.madeAt) break
      if (record.isDurable || record.isFailed || record.deletingAt < Infinity || model.mayBeTrimmed(record)) continue
      if (record.acknowledgedAt < Infinity) record.isDurable = true
      if (record.seq !== undefined && this.isInBlock(record) && !world.isDurable(record.seq, record.data)) {
        return this.violate(`${call.name} was called back, and a power cut may take record ${record.number} at ${record.seq}`)
      }
    }
  }

  /**
   * These deletions are safe from a power cut.
   * @param {import('./calls').Call} call
   * @param {import('./model').Record[]} records
   */
  checkErased (call, records) {
    const { world, model } = this
    for (const record of records) {
      const { seq, data, number } = record
      if (model.mayBeTrimmed(record) || !this.isInBlock(record)) continue
      if (!world.isErased(seq, data.length) && !world.isRecorded(seq)) {
        return this.violate(`${call.name} was called back, and a power cut may bring record ${number} back`)
      }
    }
  }

  /** @param {import('./model').Record} record */
  isInBlock ({ data }) {
    return data.length <= this.world.mostBytes
  }

  /** @param {number} end the offset up to which is acknowledged */
  checkUnsynced (end) {
    const { sync, syncBytes } = this.settings
    const unsynced = end - this.world.syncedLength()
    if (sync === 'interval' && unsynced > syncBytes) this.violate(`${unsynced} acknowledged bytes are unsynced, of at most ${syncBytes}`)
  }

  /** When all has been answered that ever will be. */
  checkRest () {
    const names = [...this.calls.pending].map(({ name }) => name)
    const waiting = [...this.readers].filter(reader => reader.mayWait).map(({ call }) => call.name)
    const missing = names.filter(name => !waiting.includes(name))
    if (missing.length > 0) return this.violate(`never called back: ${missing.slice(0, 8).join(', ')}${missing.length > 8 ? ` and ${missing.length - 8} more` : ''}`)
    const { inFlight, appended, written } = this.log.stats()
    if (inFlight.records !== 0 || inFlight.bytes !== 0) this.violate(`nothing is pending, and ${inFlight.records} records, ${inFlight.bytes} bytes are in flight`)
    if (written.records > appended.records) this.violate(`${written.records} records were written, of ${appended.records}`)
    this.calls.checkThrown()
    if (this.world.simulation !== undefined) for (const reader of this.readers) reader.checkUpToDate()
    const { faults } = this.world
    if (this.settings.sync === 'interval' && this.isOpen && !this.isClosed && faults.sync === 0 && faults.change === 0) {
      this.checkDurable({ name: 'an append, an interval ago,', madeAt: this.moment })
      this.checkErased({ name: 'a deletion, an interval ago,' }, this.model.records.filter(({ deletedAt }) => deletedAt < Infinity))
    }
  }
}

module.exports = { Session, Calls }
