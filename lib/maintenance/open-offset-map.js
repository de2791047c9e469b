'use strict'

// The offset map that a compaction has left beside a log, for programs that stored seqs.

const errors = require('../errors')
const { format } = require('../format-value')
const { pathFile } = require('../storage/path-file')
const { generationOf, readOwn } = require('../recovery/recovery-point')
const { OffsetMap: MapFile } = require('../space/offset-map')
const { openExtent } = require('./extent')

/**
 * @typedef {object} OffsetMapMembers
 * @property {string} id of the log since its last compaction
 * @property {string} previousId of the log before that: the map is for seqs that were stored with this id
 * @property {(seq: number) => Promise<number | null>} map where the record with this seq from before is since; null: it is gone. An offset
 *   at which no record started gives null, or an offset at which none starts
 * @property {() => Promise<void>} close closes its file
 */

/** @implements {OffsetMapMembers} */
class OffsetMap {
  #file

  /**
   * @param {MapFile} file
   * @param {string} previousId
   */
  constructor (file, previousId) {
    this.#file = file
    this.id = file.id
    this.previousId = previousId
    // so that it can be passed on, or destructured
    this.map = this.map.bind(this)
    this.close = this.close.bind(this)
  }

  /** @type {OffsetMapMembers['map']} */
  async map (seq) {
    if (!Number.isSafeInteger(seq) || seq < 0) throw errors.invalid(`seq must be the offset of a record, an integer of 0 or more; it is ${format(seq)}`)
    if (this.#file.fd === -1) throw errors.mapClosed(this.#file.filename)
    return this.#file.at(seq)
  }

  /** @type {OffsetMapMembers['close']} */
  async close () {
    this.#file.close()
  }
}

/**
 * @param {string} log its path
 * @returns {Promise<OffsetMapMembers | null>} null: the log has none
 */
async function openOffsetMap (log) {
  const logFile = pathFile(log, { readOnly: true, lock: false })
  const { io } = await openExtent(logFile)
  const { id } = generationOf((await readOwn(io).finally(() => io.close()))?.metadata)
  const file = await MapFile.open(/** @type {import('../storage/location').Location} */ (logFile.location).path, id)
  return file?.previousId ? new OffsetMap(file, file.previousId) : null
}

module.exports = { openOffsetMap }
