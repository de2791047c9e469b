'use strict'

// Keeps a log in a file equal to a stream: appends the messages after the last one that it has, and carries over what is deleted in the
// stream. One thing is done at a time. The copy has the bytes of the messages; no codec is asked.

const { callbacks: { promised }, onAbort } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')
const { CopyIndex } = require('./copy-index')
const { CopyUpdate } = require('./copy-update')
const { Lag } = require('../lag')
const { readIdentity } = require('../mirror/mirror-identity')
const { LOG } = require('../mirror/mirror-target')
const { pullSettingsOf } = require('./pull-options')
const { SourceStream } = require('./source-stream')

/** Milliseconds after which it is recorded how far the copy is, and what was deleted in the stream is looked for. */
const INTERVAL = 1000

/**
 * @typedef {import('./pull-options').StreamSource} StreamSource
 * @typedef {import('./pull-options').PullOptions} PullOptions
 * @typedef {import('./pull-options').PullProgress} PullProgress
 * @typedef {import('./pull-options').Pulled} Pulled
 */

/** Logs that are pulled into. @type {WeakSet<object>} */
const busy = new WeakSet()

/**
 * @param {StreamSource} source
 * @param {InstanceType<typeof import('flumelog-random-access-file/blocks').CopiedLog>} log
 * @param {PullOptions} options
 * @returns {Promise<Pulled>}
 */
async function pull (source, log, options) {
  const { settings, live, signal, onProgress } = pullSettingsOf(source, options)
  const { log: copy } = log
  if (busy.has(copy)) throw errors.cannotCopy(log.filename, 'another call of pull is appending to it')
  busy.add(copy)
  try {
    await promised(cb => copy.onReady(cb))
    mustBeUsable(log)
    signal?.throwIfAborted()
    return await new Pull(settings, log, copy, { live, signal, onProgress }).run()
  } finally {
    busy.delete(copy)
  }
}

/** @param {InstanceType<typeof import('flumelog-random-access-file/blocks').CopiedLog>} log that is open */
function mustBeUsable ({ filename, isReadOnly, isRetained, isShared }) {
  if (isReadOnly) throw errors.readOnly(filename, 'pull')
  if (isRetained) throw errors.cannotCopy(filename, 'it was opened with retain, so it would not be complete; set limits on the stream instead')
  if (isShared) throw errors.cannotCopy(filename, 'it was opened with shared, so others could append to it')
}

class Pull {
  /**
   * @param {import('../options').Settings} settings of the stream
   * @param {InstanceType<typeof import('flumelog-random-access-file/blocks').CopiedLog>} log
   * @param {import('flumelog-random-access-file').Log<any>} copy its members
   * @param {{ live: boolean, signal: AbortSignal | undefined, onProgress: (progress: PullProgress) => void }} options
   */
  constructor (settings, log, copy, { live, signal, onProgress }) {
    const path = /** @type {string} */ (log.path)
    this.log = log
    this.copy = copy
    this.signal = signal
    this.onProgress = onProgress
    this.behind = new Lag(type => this.source.connection.tell(type, { lag: this.progress.lag }))
    this.index = new CopyIndex(path, () => log.status())
    this.source = new SourceStream(settings, log.filename, live)
    this.update = new CopyUpdate(this.source, log, copy, this.index)
    /** Whether the index has all records of the log. */
    this.isKnown = false
    /** The last record of the log, if nobody else appends; null: it was compacted since. @type {number | null} */
    this.lastSeq = copy.since.value ?? -1
    this.records = 0
    this.bytes = 0
    /** The last sequence of the stream that is known. */
    this.last = 0
    /** No message is after those that the log has, up to this sequence. */
    this.empty = 0
    /** @type {{ batch: Array<{ seq: number, value: Buffer }> | null, end: any, isDue: boolean }} */
    this.events = { batch: null, end: null, isDue: false }
    /** Called when there is something to do. */
    this.wake = () => {}
  }

  /** @returns {PullProgress} */
  get progress () {
    const { records, bytes, last, empty, update: { deleted }, index: { end: { seq } }, source: { connection: { isConnected } } } = this
    return { records, bytes, deleted, seq, lag: Math.max(0, last - Math.max(seq, empty)), isConnected }
  }

  tell () {
    const { progress } = this
    this.behind.note(this.last - progress.lag, this.last)
    this.onProgress(progress)
  }

  /** Also while it waits for a server. */
  tellInTime () {
    const { log: { refusal } } = this
    try {
      if (refusal !== null) throw refusal
      this.tell()
    } catch (err) {
      this.stop(err)
    }
  }

  async run () {
    const { source, index, log } = this
    const stopWaiting = onAbort(this.signal, () => this.stop(errors.closed(source.label)))
    const removeListener = this.copy.onCompact(() => {
      this.lastSeq = null
      const map = /** @type {NonNullable<typeof log.ownMap>} */ (log.ownMap)
      // otherwise it is not known yet, or of an earlier log: `followCompaction` moves it
      if (map.previousId === index.id) index.move(map)
    })
    try {
      await promised(cb => source.log.whenOpen(cb))
      await this.start()
      await this.follow()
      await this.record(true)
      const { lag, isConnected, ...pulled } = this.progress
      return pulled
    } catch (err) {
      // this needs no server
      if (this.isKnown) await this.record(true).catch(() => {})
      throw this.signal?.aborted ? this.signal.reason : source.log.refusal ?? err
    } finally {
      removeListener()
      stopWaiting()
      await promised(cb => source.log.close(() => cb(null)))
    }
  }

  /**
   * Ends what waits for a server, too.
   * @param {unknown} reason
   */
  stop (reason) {
    this.source.log.fail(/** @type {Error} */ (reason))
    this.wake()
  }

  /** Finds out up to where the log is a copy of the stream. */
  async start () {
    const { index, log, log: { filename }, copy, source, update } = this
    const { stream, envelope } = source.settings
    const isNew = !await index.open()
    if (isNew) await this.mustNotBeMirrored()
    if (isNew) index.create({ stream, created: String(source.log.id), id: log.id, envelope }, copy.start)
    if (index.stream !== stream) throw errors.notSource(filename, `it is a copy of stream ${index.stream}, not of ${source.label}`)
    if (index.envelope !== envelope) throw errors.cannotCopy(filename, `it was pulled ${envelope ? 'without' : 'with'} the option envelope`)
    source.expect(index.created)
    // it can be compacted again meanwhile
    while (index.id !== log.id) await this.followCompaction(log.id)
    const state = await source.state(index.end.seq)
    update.mustBeWhole(state)
    await update.compareEnd()
    await update.compareTail(state, isNew)
    // from now on, records may be appended that are not recorded
    await index.reopen()
    this.isKnown = true
  }

  /** What was pulled would be mirrored, and pulled again. */
  async mustNotBeMirrored () {
    const { log, source } = this
    const identity = await readIdentity(/** @type {any} */ (log))
    const last = identity === null ? null : await source.reader.previous(source.log.lastSeq + 1)
    if (last !== null && last.headers?.get(LOG) === identity) throw errors.cannotCopy(log.filename, `${source.label} is a mirror of this log; pull to another file`)
  }

  /** @param {string} id of the log, which was compacted since the index was written */
  async followCompaction (id) {
    const { index, log } = this
    const map = await log.openMap(id)
    try {
      if (map === null || map.id !== id || map.previousId !== index.id) throw errors.compacted(log.filename)
      index.move(map)
    } finally {
      map?.close()
    }
  }

  /** Appends all messages, and looks for deletions from time to time. */
  async follow () {
    const { source, events, index } = this
    const stream = source.batches(index.end.seq)
    const read = () => stream(null, (end, batch) => {
      events.end = end
      events.batch = batch ?? null
      this.wake()
    })
    const timer = setInterval(() => {
      this.tellInTime()
      events.isDue = true
      this.wake()
    }, INTERVAL)
    try {
      read()
      while (events.end !== true) {
        await this.wait()
        const { batch, end, isDue } = events
        if (isDue) {
          events.isDue = false
          await this.settle()
        }
        if (batch !== null) {
          events.batch = null
          await this.store(batch)
          read()
        } else if (end !== null && end !== true) throw end
      }
    } finally {
      clearInterval(timer)
      if (events.end === null) stream(true, () => {})
    }
    await this.settleAll()
  }

  /** Until there is something to do. */
  async wait () {
    const { events, signal } = this
    if (events.batch === null && events.end === null && !events.isDue && !signal?.aborted) await new Promise(resolve => { this.wake = () => resolve(undefined) })
    if (signal?.aborted) throw signal.reason
  }

  /** @param {Array<{ seq: number, value: Buffer }>} batch of messages */
  async store (batch) {
    const { log, index, source } = this
    // the stream could have been replaced while there was no connection
    const { first_seq: first, last_seq: last } = await source.state(batch[batch.length - 1].seq)
    this.last = last
    /** @type {Uint8Array[]} */
    const records = []
    let bytes = 0
    let end = index.end.seq
    /** @type {unknown} */
    let failure = null
    for (const { seq, value } of batch) {
      // purged since it was read
      if (seq < first) continue
      try {
        records.push(log.bytesOf(value))
        bytes += value.length
        end = seq
      } catch (err) {
        failure = errors.cannotPull(log.filename, source.label, seq, err)
        break
      }
    }
    if (this.lastSeq !== null && this.lastSeq !== this.copy.since.value) throw errors.cannotCopy(log.filename, 'this program appends to it, too')
    if (records.length > 0) {
      const { id } = log
      const seq = await log.append(records)
      // a compaction that ended meanwhile has moved the record
      this.lastSeq = log.id === id ? seq : null
      index.add(end, log.end, records.length)
      this.records += records.length
      this.bytes += bytes
      this.tell()
    }
    if (failure !== null) throw failure
  }

  /**
   * Records how far the copy is.
   * @param {boolean} [isEnd] whether nothing is appended any more
   */
  async record (isEnd = false) {
    const { index, copy } = this
    if (isEnd) index.close()
    if (!index.isChanged) return
    await promised(cb => copy.sync(cb))
    await index.write()
  }

  /** @returns {Promise<boolean>} whether the copy has nothing, up to where it is, that was deleted in the stream */
  async settle () {
    const { index, source, update } = this
    await this.record()
    const state = await source.state(index.end.seq)
    this.last = state.last_seq
    const isDone = await update.carryDeletions(state)
    await this.findEnd()
    await this.record()
    this.tell()
    return isDone
  }

  /** The last messages of the stream may be deleted. */
  async findEnd () {
    const { index: { end: { seq } }, source, last, events } = this
    if (events.batch !== null || seq >= last || this.empty === last) return
    if (await source.reader.nextByLeader(seq + 1, () => last, source.isPatient) === null) this.empty = last
  }

  /** A server may lag behind the one that knows what is deleted. */
  async settleAll () {
    const { source: { connection, label, settings: { timeout } } } = this
    for (const deadline = performance.now() + timeout; !await this.settle();) {
      if (performance.now() > deadline) throw errors.serverUnreachable(label, timeout, new Error('the servers have not caught up yet'))
      await connection.pause()
    }
  }
}

module.exports = { pull }
