'use strict'

// An open log that is copied elsewhere, or into which something else is copied: where it ends, whether it has changed, and where records from before a
// compaction are.

const errors = require('../errors')
const { promised, resultOf } = require('../callbacks')
const { format } = require('../format-value')
const { logBehind } = require('../log')
const { OffsetMap } = require('../space/offset-map')

/** @typedef {{ id: string, previousId: string | null, at: (seq: number) => number | null, up: (seq: number) => number, down: (seq: number) => number, close: () => void }} Map where records are since a compaction */

class CopiedLog {
  #log

  /**
   * @param {any} members a log in a file with callbacks or with promises
   * @throws flumelog:invalid
   */
  constructor (members) {
    const log = logBehind(members?.flumelog ?? members)
    if (log === undefined) throw errors.invalid(`the log must be one in a file that this package has opened; it is ${format(members)}`)
    this.#log = log
    /** The log with callbacks. @type {import('../types').FlumeLog<any, any>} */
    this.log = members?.flumelog ?? members
    this.filename = log.filename
  }

  get #opened () {
    return /** @type {import('../opening').Opened} */ (this.#log.state.opened)
  }

  // What it is

  /** Another one after each compaction. */
  get id () {
    return String(this.#log.compacting.id)
  }

  get start () {
    return this.#opened.blocks.start
  }

  /** Offset after what readers see. */
  get end () {
    return this.#opened.blocks.end
  }

  /** Another one whenever records may have been deleted or trimmed, or the log compacted. */
  get changes () {
    const { generation, start } = this.#opened.blocks
    return `${this.id} ${start} ${generation}`
  }

  /** The path of the file, absolute; null: the log is in a storage. */
  get path () {
    return this.#log.file.location?.path ?? null
  }

  /** Status of the open file. @returns {import('fs').Stats} */
  status () {
    return this.#log.file.status()
  }

  /** Why no call is made any more. @returns {Error | null} */
  get refusal () {
    return this.#log.refusal
  }

  get isReadOnly () {
    return this.#log.settings.readOnly
  }

  /** Whether the log is trimmed as it grows. */
  get isRetained () {
    return this.#log.settings.retain !== null
  }

  get isShared () {
    return this.#log.settings.shared
  }

  // How it changes

  /** @returns {Promise<void>} resolves when readers see all that is known to be in the log */
  whenFresh () {
    return promised(cb => this.#log.whenFresh(cb))
  }

  /** @returns {Promise<void>} resolves when they see what another process has published by now */
  async refresh () {
    const follower = this.#log.state.opened?.follower ?? null
    if (follower !== null && 'catchUp' in follower) await promised(cb => follower.catchUp(cb))
    else await this.whenFresh()
  }

  /**
   * @param {(err: Error | null) => void} cb called once the last record is another one, or the log cannot be used
   * @returns {() => void} cancels that
   */
  nextChange (cb) {
    return this.#log.nextChange(/** @type {any} */ (cb))
  }

  /**
   * @param {number} seq of a record that must survive a power cut
   * @returns {Promise<void>}
   */
  async makeDurable (seq) {
    await this.#log.cursors.makeIdDurable()
    await this.#log.cursors.makeRecordDurable(seq)
  }

  // Compactions

  /**
   * @param {string} id before a compaction
   * @returns {Promise<void>} `map` is known then
   */
  async findMap (id) {
    await this.#log.cursors.findMap(id)
  }

  /** Of the last compaction, if it is known. @returns {Map | null} */
  get map () {
    return this.#log.cursors.map
  }

  /** Of the last compaction since the log was opened. @returns {Map | null} */
  get ownMap () {
    return this.#log.compacting.map
  }

  /**
   * @param {string} id of the log since the compaction
   * @returns {Promise<Map | null>} its map, from its file; the caller closes it
   */
  async openMap (id) {
    return OffsetMap.open(/** @type {string} */ (this.path), id)
  }

  // Appends

  /**
   * @param {any} value
   * @returns {Uint8Array} what is stored
   * @throws flumelog:invalid, flumelog:too-large
   */
  bytesOf (value) {
    const { records } = this.#log
    return records.fitting(records.checked(value))
  }

  /**
   * Appends records as they are stored, without the codec.
   * @param {Uint8Array[]} records
   * @returns {Promise<number>} seq of the last one
   */
  append (records) {
    return resultOf(cb => this.#log.appending.appendEncoded(records, cb))
  }
}

module.exports = { CopiedLog }
