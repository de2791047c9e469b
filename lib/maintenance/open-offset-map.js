'use strict'

// The offset map that a compaction has left beside a log, for programs that stored seqs.

const errors = require('../errors')
const { format } = require('../format-value')
const { pathFile } = require('../storage/path-file')
const { generationOf, readOwn } = require('../recovery/recovery-point')
const { OffsetMap } = require('../space/offset-map')
const { openExtent } = require('./extent')

/**
 * @typedef {object} OffsetMapMembers
 * @property {string} id of the log since its last compaction
 * @property {string} previousId of the log before that: the map is for seqs that were stored with this id
 * @property {(seq: number) => Promise<number | null>} map where the record with this seq from before is since; null: it is gone. An offset
 *   at which no record started gives null, or an offset at which none starts
 * @property {() => Promise<void>} close closes its file
 */

/**
 * @param {string} log its path
 * @returns {Promise<OffsetMapMembers | null>} null: the log has none
 */
async function openOffsetMap (log) {
  const { location: { path } } = pathFile(log, { readOnly: true, lock: false })
  let id = await idOf(log)
  let file = await OffsetMap.open(path, id)
  while (file === null) {
    const before = id
    id = await idOf(path)
    // a compaction has ended in between, which has left another map
    if (id === before) return null
    file = await OffsetMap.open(path, id)
  }
  return membersOf(file)
}

/**
 * @param {string} log its path
 * @returns {Promise<string>} its id
 */
async function idOf (log) {
  const { io } = await openExtent(pathFile(log, { readOnly: true, lock: false }))
  return generationOf((await readOwn(io).finally(() => io.close()))?.metadata).id
}

/**
 * @param {OffsetMap} file
 * @returns {OffsetMapMembers}
 */
function membersOf (file) {
  return {
    id: file.id,
    previousId: file.previousId,
    map: async (seq) => {
      if (!Number.isSafeInteger(seq) || seq < 0) throw errors.invalid(`seq must be the offset of a record, an integer of 0 or more; it is ${format(seq)}`)
      if (file.fd === -1) throw errors.mapClosed(file.filename)
      return file.at(seq)
    },
    close: async () => file.close()
  }
}

module.exports = { openOffsetMap }
