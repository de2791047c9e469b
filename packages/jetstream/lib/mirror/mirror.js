'use strict'

// Mirrors a log into a stream: each record once, in order, as the log grows; and what is deleted in the log is deleted there.
//
// Each message names its record, and each batch states the sequence of the last message in the stream: so of two mirrors, or of two attempts,
// one fails, and asks the stream where it ends. The last message there says which record is the next.

const { callbacks: { promised }, onAbort } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')
const { Connection } = require('../connection/connection')
const { match } = require('./mirror-match')
const { Lag } = require('../lag')
const { identityOf } = require('./mirror-identity')
const { MirrorDeletions } = require('./mirror-deletions')
const { MirrorSource } = require('./mirror-source')
const { MirrorTarget } = require('./mirror-target')
const { isMissing } = require('../connection/stream-identity')

/** Milliseconds between two looks at whether the log has changed. */
const INTERVAL = 200
/** Milliseconds between two reports of progress when nothing else is reported. */
const PROGRESS_INTERVAL = 1000
/** Deletions are looked for in at most this part of the time: that reads the log. */
const SHARE = 1 / 20
/** How often a problem that another process may cause, while it is writing, is looked at again. */
const MAX_TRIES = 20

/**
 * @typedef {import('./mirror-source').LogRecord} LogRecord
 * @typedef {import('./mirror-options').MirrorSettings} MirrorSettings
 * @typedef {import('./mirror-options').Mirrored} Mirrored
 */

/** Cursors of mirrors: another mirror of the same log object is given the same one, and would close it. @type {WeakSet<object>} */
const held = new WeakSet()

class Mirror {
  /**
   * @param {InstanceType<typeof import('flumelog-random-access-file/blocks').CopiedLog>} log
   * @param {MirrorSettings} settings
   */
  constructor (log, settings) {
    this.log = log
    this.settings = settings
    this.connection = new Connection(settings.target, `stream ${settings.target.stream}`)
    this.source = new MirrorSource(log)
    this.target = new MirrorTarget(this.connection)
    this.deletions = new MirrorDeletions(this.source, this.target, () => this.tell(this.lag()))
    /** Null until it is known that the stream is one for this log. @type {import('flumelog-random-access-file').Cursor<any> | null} */
    this.cursor = null
    /** The last record that is mirrored, of the log with this id; -1: none. */
    this.position = { id: '', seq: -1 }
    /** The last record of the batch that is being sent. @type {{ id: string, seq: number } | null} */
    this.sending = null
    this.behind = new Lag(type => this.connection.tell(type, { lag: this.lag() }))
    /** When deletions may be looked for again. */
    this.lookAt = 0
    /** When to ask the stream again where it ends. */
    this.locateAt = 0
    this.records = 0
    this.bytes = 0
    /** Ends a wait. */
    this.wake = () => {}
  }

  /** @returns {Promise<Mirrored>} when all is mirrored, and `live` is off. Rejects with the reason of the signal if that is aborted */
  async run () {
    const { log, connection, target, settings, settings: { signal } } = this
    const stopListening = onAbort(signal, () => this.stop(errors.closed(target.label)))
    const unlisten = log.log.onCompact(() => this.moved())
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    try {
      await log.ready()
      await target.open()
      target.identity = await identityOf(log)
      await this.locate()
      const cursor = log.log.cursor(settings.cursor)
      if (held.has(cursor)) throw errors.alreadyMirrored(target.label, settings.cursor)
      held.add(cursor)
      this.cursor = cursor
      await promised(cb => cursor.onReady(cb))
      if (this.position.seq === -1) await this.locate()
      // also while it waits for a server
      timer = setInterval(() => this.tellInTime(), PROGRESS_INTERVAL)
      await this.mirrorAll()
      return this.counts()
    } catch (err) {
      throw signal?.aborted ? signal.reason : connection.failure ?? log.refusal ?? (isMissing(err) ? errors.mirrorDeleted(target.label, /** @type {Error} */ (err)) : err)
    } finally {
      clearInterval(timer)
      stopListening()
      unlisten()
      connection.fail(errors.closed(target.label))
      await connection.close()
      await promised(cb => this.cursor === null ? cb(null) : this.cursor.close(cb))
    }
  }

  /** @param {Error} reason */
  stop (reason) {
    this.connection.fail(reason)
    this.wake()
  }

  async mirrorAll () {
    const { settings: { live, keepDeleted }, deletions, source } = this
    for (;;) {
      this.throwIfStopped()
      const isDue = !keepDeleted && deletions.isDue
      if (isDue && performance.now() >= this.lookAt) await this.carryOver()
      else if (isDue) await deletions.carryOverNew(this.position.seq, this.position.id)
      const { id, seq } = this.position
      if (id !== source.id) await this.locate()
      else {
        const records = await source.read({ gt: seq })
        if (records !== null && records.length > 0) await this.store(records, id)
        else if (records !== null) {
          this.tell(0)
          if (live) await this.change()
          else if (!isDue) return
          else this.lookAt = 0
          // the stream may be deleted meanwhile
          if (performance.now() >= this.locateAt) await this.locate()
        }
      }
    }
  }

  /** @throws why it is stopped, or the log is closed */
  throwIfStopped () {
    if (this.connection.failure !== null) throw this.connection.failure
    if (this.log.refusal !== null) throw this.log.refusal
  }

  /** Waits until the log has changed, or might have. */
  async change () {
    const { log } = this
    let cancel = () => {}
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    await new Promise((resolve, reject) => {
      this.wake = () => resolve(undefined)
      timer = setTimeout(resolve, INTERVAL)
      cancel = log.nextChange(err => err ? reject(err) : resolve(undefined))
    })
    clearTimeout(timer)
    cancel()
  }

  // Where it is

  /** The log was compacted: records have other seqs. */
  moved () {
    const { source } = this
    for (const position of [this.position, this.sending]) {
      if (position === null) continue
      const found = source.findNow(position)
      // otherwise the stream says where it is
      if (found !== null) Object.assign(position, { id: source.id, seq: found.last })
    }
  }

  /** Asks the stream where to go on. */
  async locate () {
    for (let tries = 1; ; tries++) {
      await this.log.refresh()
      const problem = await this.tryToLocate()
      this.locateAt = performance.now() + this.settings.target.timeout
      if (problem === null) return
      if (tries === MAX_TRIES) throw errors.cannotMirror(this.target.label, problem)
      await this.connection.pause()
    }
  }

  /** @returns {Promise<string | null>} why that is not known */
  async tryToLocate () {
    const { source, source: { id }, target, settings: { keepDeleted } } = this
    const { sequence, message } = await target.tail()
    target.sender.last = sequence
    // messages that a limit of the stream has removed
    if (message === null) return this.setPosition(id, keepDeleted && sequence > 0 ? this.cursor?.seq ?? -1 : -1)
    const found = await source.find(message)
    // or another mirror has followed one already: the seqs after a compaction are greater than all before
    if (found === null && message.seq >= source.log.start) return 'its last message is from after a compaction that the log has not had: the log was restored'
    if (found === null) return this.locateByData(sequence)
    if (found.last >= source.log.end) return `it is ahead of the log: its last message is the record at ${found.last}, and the log ends at ${source.log.end}`
    if (found.seq !== null) {
      const records = await source.read({ gte: found.seq, lte: found.seq })
      if (records === null) return 'the log is being compacted'
      const isSame = records.length > 0 ? records[0].data.equals(message.data) : await source.isStart(found.seq)
      if (!isSame) {
        return `its last message is another record than that at ${found.seq} of the log: the log was replaced by another one, or restored`
      }
    }
    return this.setPosition(id, found.last)
  }

  /**
   * The last message is from before several compactions.
   * @param {number} sequence of it
   * @returns {Promise<string | null>}
   */
  async locateByData (sequence) {
    const { source, source: { id }, target } = this
    const found = await match(source, target, Infinity, sequence)
    return found === null ? 'the log is being compacted' : this.setPosition(id, found.last)
  }

  /**
   * @param {string} id of the log
   * @param {number} seq
   * @returns {string | null} why the position is not there
   */
  setPosition (id, seq) {
    if (id !== this.source.id) return 'the log is being compacted'
    this.position = { id, seq }
    return null
  }

  // What it does

  /**
   * @param {LogRecord[]} read
   * @param {string} id of the log
   */
  async store (read, id) {
    const { log, target, target: { sender, maxRecord }, connection } = this
    const large = read.findIndex(({ data }) => data.length > maxRecord)
    if (large === 0) throw errors.tooLargeForStream(`${target.label}, record ${read[0].seq} of the log`, read[0].data.length, maxRecord)
    const records = read.slice(0, Math.min(sender.maxRecords, large === -1 ? Infinity : large))
    const { seq } = /** @type {LogRecord} */ (records.at(-1))
    this.sending = { id, seq }
    // a power cut must not take from the log what the stream has
    await log.makeDurable(seq)
    const before = sender.last
    const refusal = await target.send(records, id)
    this.throwIfStopped()
    const sent = this.sending
    this.sending = null
    if (sender.last > before) this.position = sent
    else {
      if (refusal !== null && sender.learnLimit(refusal, records.length)) return
      if (refusal !== null) throw refusal
      // it may be stored, or another mirror has stored some
      await connection.pause()
      await this.locate()
    }
    for (const { seq, data } of records) {
      if (this.position.id === id && seq > this.position.seq) break
      this.records++
      this.bytes += data.length
    }
    await this.commit()
    this.tell(this.lag())
  }

  /** What was mirrored until now. */
  async commit () {
    const { position: { id, seq }, source } = this
    const cursor = /** @type {import('flumelog-random-access-file').Cursor<any>} */ (this.cursor)
    if (id === source.id && seq !== cursor.seq) await promised(cb => cursor.commit(seq, { rewind: true }, cb))
  }

  /** Carries deletions over, once the stream is where it is expected to be. */
  async carryOver () {
    const { connection, deletions, source, target } = this
    // how often in a row: what it lacks may have been deleted just now
    let missing = 0
    for (;;) {
      const { id, seq } = this.position
      if (id !== source.id) return
      const start = performance.now()
      const outcome = await deletions.carryOver(seq, id, missing === MAX_TRIES - 1)
      const end = performance.now()
      this.lookAt = end + (end - start) / SHARE
      if (outcome === 'done') return
      missing = outcome === 'missing' ? missing + 1 : 0
      if (missing === MAX_TRIES) throw errors.cannotMirror(target.label, 'it lacks records that the log has: they were removed by something else than this mirror')
      await connection.pause()
      await this.locate()
    }
  }

  // What it says

  lag () {
    const { position: { seq }, log: { start, end, log: { since } } } = this
    return seq === since.value ? 0 : end - Math.max(seq, start)
  }

  /** @returns {Mirrored} */
  counts () {
    return { records: this.records, bytes: this.bytes, deleted: this.deletions.deleted }
  }

  /** @param {number} lag */
  tell (lag) {
    const { log: { start, end, log: { since } }, connection: { isConnected }, position: { seq } } = this
    const last = since.value ?? -1
    this.behind.note(lag === 0 ? last : seq, last)
    this.settings.onProgress?.({ ...this.counts(), lag, total: end - start, isConnected })
  }

  tellInTime () {
    try {
      this.throwIfStopped()
      this.tell(this.lag())
    } catch (err) {
      this.stop(/** @type {Error} */ (err))
    }
  }
}

module.exports = { Mirror }
