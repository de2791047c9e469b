'use strict'

// An open log that is copied elsewhere, or into which something else is copied: where it ends, whether it has changed, and where records from before a
// compaction are.

const { promised } = require('../callbacks')
const { logBehind } = require('../log')
const { OffsetMap } = require('../space/offset-map')
const { LogBlocks } = require('./log-blocks')

/**
 * @typedef {object} Map where records are since a compaction
 * @property {string} id
 * @property {string | null} previousId
 * @property {number} start of the log before: what was in front of this was trimmed
 * @property {(seq: number) => number | null} at
 * @property {(seq: number) => number} up
 * @property {(seq: number) => number} down
 * @property {() => void} close
 */

class CopiedLog extends LogBlocks {
  #log

  /**
   * @param {any} members a log in a file with callbacks or with promises
   * @throws flumelog:invalid
   */
  constructor (members) {
    super(members)
    this.#log = /** @type {import('../log').Log} */ (logBehind(this.log))
    this.filename = this.#log.filename
  }

  get #opened () {
    return /** @type {import('../opening').Opened} */ (this.#log.state.opened)
  }

  // What it is

  /** Another one after each compaction. */
  get id () {
    return String(this.#log.compacting.id)
  }

  /** Another one whenever records may have been deleted or trimmed, or the log compacted. */
  get changes () {
    const { generation, start } = this.#opened.blocks
    return `${this.id} ${start} ${generation}`
  }

  /** @returns {Set<number> | null} the blocks in which records may have been deleted since the last call; null: it is not known */
  takeRewritten () {
    const { blocks } = this.#opened
    const { rewritten } = blocks
    blocks.rewritten = new Set()
    return rewritten
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

  /** @returns {Promise<void>} resolves when they see what another process has published by now */
  async refresh () {
    await promised(cb => this.#log.whenFresh(cb, Infinity))
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
    const { codec } = this.#log
    return codec.fitting(codec.checked(value))
  }
}

module.exports = { CopiedLog }
