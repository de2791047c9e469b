'use strict'

// `compact`, `onCompact` and `id` of a log: one compaction at a time, and who is told of it.

const errors = require('../errors')
const { callAll, mustBeFunction, promised, rethrowLater } = require('../callbacks')
const { copyOptions } = require('../option-names')
const { onAbort } = require('../signal')
const { workFor } = require('../work')
const { Compaction } = require('./compaction')

/**
 * @typedef {import('./offset-map').OffsetMap} OffsetMap
 * @typedef {import('./types').Compacted} Compacted
 * @typedef {import('./types').CompactOptions} CompactOptions
 * @typedef {import('./types').CompactionMap} CompactionMap
 */

const checkOptions = workFor('compact', [])

class Compacting {
  /** @param {import('../log').Log} log */
  constructor (log) {
    this.log = log
    /** In progress. @type {{ compaction: Compaction, ended: Promise<unknown> } | null} */
    this.current = null
    /** Stops the calls in progress. @type {Set<AbortController>} */
    this.calls = new Set()
    /** @type {Set<(map: CompactionMap) => void>} */
    this.listeners = new Set()
    /** Of the last compaction, if there was one since the log was opened. @type {OffsetMap | null} */
    this.map = null
    /** Whether flumedb has the log: its views hold seqs, and are rebuilt if their streams fail. */
    this.isUnderFlumedb = false
  }

  /** Another one after each compaction; null: the log is not open yet. */
  get id () {
    return this.log.state.opened?.blocks.id ?? null
  }

  /** @returns {import('../types').Methods} for flumedb: nobody else asks for them */
  methods () {
    this.isUnderFlumedb = true
    return { del: 'async' }
  }

  /**
   * @param {CompactOptions} options
   * @returns {Promise<Compacted>}
   */
  async compact (options) {
    checkOptions(options)
    const { onProgress, signal } = options
    const call = new AbortController()
    const stopListening = onAbort(signal, () => call.abort(signal?.reason))
    if (signal?.aborted) call.abort(signal.reason)
    this.calls.add(call)
    try {
      const remote = this.log.state.opened?.writer ?? null
      if (this.log.refusal === null && remote !== null && 'compact' in remote) return await this.compactRemotely(remote, call.signal)
      return await this.compactHere({ onProgress, signal: call.signal })
    } finally {
      stopListening()
      this.calls.delete(call)
    }
  }

  /**
   * @param {ConstructorParameters<typeof Compaction>[2]} options
   * @returns {Promise<Compacted>}
   */
  async compactHere (options) {
    const writer = this.writer()
    if (this.current !== null) throw errors.invalid('the log is being compacted already; wait until that has ended')
    const compaction = new Compaction(this, writer, options)
    const ended = this.run(compaction)
    this.current = { compaction, ended }
    try {
      return await ended
    } finally {
      this.current = null
    }
  }

  /**
   * In a client of a shared log: the owner does it.
   * @param {import('../sharing/remote-writer').RemoteWriter} remote
   * @param {AbortSignal} signal
   * @returns {Promise<Compacted>}
   */
  compactRemotely (remote, signal) {
    signal.throwIfAborted()
    return new Promise((resolve, reject) => {
      const giveUp = remote.compact(String(this.id), (err, compacted) => err ? reject(err) : resolve(/** @type {Compacted} */ (compacted)))
      onAbort(signal, () => {
        giveUp()
        reject(signal.reason)
      })
    })
  }

  /**
   * In the owner of a shared log: another process has asked for it.
   * @returns {Promise<Compacted>}
   */
  async compactForOther () {
    // not on the stack of what is being received
    await new Promise(resolve => setImmediate(resolve))
    // clients are let in before
    await promised(cb => this.log.whenOpen(cb))
    while (this.current !== null) await this.current.ended.catch(() => {})
    return this.compact({})
  }

  /** @param {Compaction} compaction */
  async run (compaction) {
    const { cursors } = this.log
    await cursors.moveAll()
    const compacted = await compaction.writer.during(compaction, () => compaction.run())
    // if that fails, it is tried again before the next compaction
    await cursors.moveAll().catch(() => {})
    return compacted
  }

  /**
   * @returns {import('../write/writer').Writer}
   * @throws why the log cannot be compacted
   */
  writer () {
    const { state, filename } = this.log
    const writer = state.opened?.writer ?? null
    if (this.log.refusal !== null) throw this.log.refusal
    if (writer === null) throw errors.readOnly(filename, 'compact')
    return /** @type {import('../write/writer').Writer} */ (writer)
  }

  /**
   * @param {(map: CompactionMap) => void} listener
   * @returns {() => void} removes it
   */
  onCompact (listener) {
    mustBeFunction('the listener', listener)
    this.listeners.add(listener)
    return () => { this.listeners.delete(listener) }
  }

  /**
   * A call that has waited for the end of the log to be read was made with offsets of the log as it was then.
   * @param {string | null} id of the log when the call was made; null: it was not open yet
   */
  isCompactedSince (id) {
    return id !== null && this.id !== id
  }

  /**
   * The log is another file now.
   * @param {OffsetMap} map
   * @param {number} lastSeq of the last record in it
   */
  moved (map, lastSeq) {
    const { log } = this
    this.map?.close()
    this.map = map
    // flumedb starts them again, with new seqs
    const ended = this.isUnderFlumedb ? log.streams.withoutCursor() : []
    log.streams.move(map)
    for (const cursor of log.state.opened?.blocks.cursors ?? []) cursor.move(map)
    log.largeDeletion?.move(map)
    log.namedCursors?.move(map)
    // before anything else of the caller runs: who maps the seqs that are in memory has none yet from after the compaction
    log.moveSince(lastSeq)
    if (this.listeners.size > 0) callAll([...this.listeners], this.mapFor(map))
    callAll(ended.map(stream => () => stream.finish(errors.compacted(log.filename))), undefined)
    log.show(lastSeq)
  }

  /**
   * @param {OffsetMap} offsetMap
   * @returns {CompactionMap} for listeners, which may keep it, or its `map` alone
   */
  mapFor (offsetMap) {
    const { id, previousId } = offsetMap
    return {
      id,
      previousId,
      map: async (seq) => {
        if (offsetMap.fd === -1) throw errors.invalid('this map is not valid any more: the log was compacted again, or closed')
        return offsetMap.at(seq)
      }
    }
  }

  /**
   * The log closes.
   * @param {unknown} reason
   * @param {() => void} cb called when no compaction is in progress
   */
  stop (reason, cb) {
    for (const call of this.calls) call.abort(reason)
    if (this.current === null) return cb()
    this.current.ended.then(cb, cb).catch(rethrowLater)
  }

  close () {
    this.map?.close()
    this.map = null
  }
}

/**
 * @param {CompactOptions} options
 * @returns {CompactOptions} see `copyOptions`
 */
function copyCompactOptions (options) {
  return copyOptions(options, ['onProgress', 'signal'], checkOptions)
}

module.exports = { Compacting, copyCompactOptions }
