'use strict'

// `compact`, `onCompact` and `id` of a log: one compaction at a time, and who is told of it.

const errors = require('../errors')
const { callAll, mustBeFunction, rethrowLater } = require('../callbacks')
const { format } = require('../format-value')
const { optionNames } = require('../option-names')
const { mustBeSignal } = require('../signal')
const { Writer } = require('../write/writer')

/**
 * @typedef {import('./compaction').Compaction} Compaction
 * @typedef {import('./offset-map').OffsetMap} OffsetMap
 * @typedef {import('./types').Compacted} Compacted
 * @typedef {import('./types').CompactOptions} CompactOptions
 * @typedef {import('./types').CompactionMap} CompactionMap
 */

const checkNames = optionNames('compact', ['keep', 'onProgress', 'signal'])

class Compacting {
  /** @param {import('../log').Log} log */
  constructor (log) {
    this.log = log
    /** Another one after each compaction; null: the log is not open yet. @type {string | null} */
    this.id = null
    /** In progress. @type {{ compaction: Compaction, ended: Promise<unknown> } | null} */
    this.current = null
    /** @type {Set<(map: CompactionMap) => void>} */
    this.listeners = new Set()
    /** Of the last compaction, if there was one since the log was opened. @type {OffsetMap | null} */
    this.map = null
    /** Whether flumedb has the log: its views hold seqs, and are rebuilt if their streams fail. */
    this.isUnderFlumedb = false
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
    checkNames(options)
    const { keep, onProgress, signal } = options
    for (const [name, value] of Object.entries({ keep, onProgress })) {
      if (value !== undefined && typeof value !== 'function') throw errors.invalid(`${name} must be a function; it is ${format(value)}`)
    }
    mustBeSignal(signal)
    const writer = this.writer()
    if (this.current !== null) throw errors.invalid('the log is being compacted already; wait until that has ended')
    // only then: most processes do not compact
    const { Compaction } = require('./compaction')
    const compaction = new Compaction(this, writer, { keep: keep === undefined ? null : this.keeping(keep), onProgress, signal })
    const ended = this.run(compaction)
    this.current = { compaction, ended }
    try {
      return await ended
    } finally {
      this.current = null
    }
  }

  /** @param {Compaction} compaction */
  async run (compaction) {
    const { cursors } = this.log
    await cursors.moveAll()
    const compacted = await compaction.run()
    // if that fails, it is tried again before the next compaction
    await cursors.moveAll().catch(() => {})
    return compacted
  }

  /**
   * @returns {Writer}
   * @throws why the log cannot be compacted
   */
  writer () {
    const { state, filename, file, settings } = this.log
    const writer = state.opened?.writer ?? null
    if (this.log.refusal !== null) throw this.log.refusal
    if (writer === null) throw errors.readOnly(filename, 'compact')
    if (settings.shared) throw errors.invalid('a log that is open with `shared` cannot be compacted: open it without, when no other process has it open')
    if (!(writer instanceof Writer) || file.moveTo === null) throw errors.invalid('only a log in a file can be compacted; this one is in a storage')
    return writer
  }

  /**
   * @param {(value: any, seq: number) => boolean} keep
   * @returns {import('./compacted-file').Keep}
   */
  keeping (keep) {
    const { decode, takesText } = this.log.reading
    return (block, start, end, seq) => {
      const data = takesText ? block.toString('utf8', start, end) : Buffer.from(block.subarray(start, end))
      /** @type {unknown} */
      let isKept
      try {
        isKept = keep(decode === null ? data : decode(data, seq), seq)
      } catch (err) {
        throw errors.thrown('keep', err)
      }
      if (typeof isKept === 'boolean') return isKept
      // an async function may reject, which nobody else waits for
      Promise.resolve(isKept).catch(() => {})
      throw errors.invalid(`keep must return true or false; for the record at offset ${seq} it returned ${format(isKept)}`)
    }
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
   * The log is another file now.
   * @param {OffsetMap} map
   * @param {number} lastSeq of the last record in it
   */
  moved (map, lastSeq) {
    const { log } = this
    this.id = map.id
    this.map?.close()
    this.map = map
    if (this.isUnderFlumedb) log.streams.fail(errors.compacted(log.filename))
    else log.streams.move(map)
    for (const cursor of log.reading.blocks.cursors) cursor.move(map)
    log.largeDeletion?.move(map)
    if (lastSeq !== null) log.advance(lastSeq)
    if (this.listeners.size > 0) callAll([...this.listeners], this.mapFor(map))
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
    if (this.current === null) return cb()
    this.current.compaction.stop(reason)
    this.current.ended.then(cb, cb).catch(rethrowLater)
  }

  close () {
    this.map?.close()
    this.map = null
  }
}

module.exports = { Compacting }
