'use strict'

// Compares the messages of a mirror with the records of its log. Both are in the same order, and the stream has all records that are not
// deleted: so a message that is not the next record is of one that was deleted. Messages from before the last two compactions have seqs
// that nothing maps any more; these are recognized by their data. If several messages are equal, the first one may be taken for a record that
// was another one of them: the stream then still has the same records in the same order.

const errors = require('../errors')

/**
 * @typedef {import('./mirror-source').LogRecord} LogRecord
 * @typedef {import('./mirror-target').Mirrored} Mirrored
 *
 * @typedef {object} Match
 * @property {number} head sequence of the first message that may not be removed as the head of a log that was trimmed
 * @property {number[]} extra sequences of messages after it that are no records
 * @property {number} last seq of the last record that was found; -1: none
 * @property {number | null} missing seq of the first one that was not; null: all were found
 * @property {number} messages that were read
 */

/**
 * @param {import('./mirror-source').MirrorSource} source
 * @param {import('./mirror-target').MirrorTarget} target
 * @param {number} lastSeq of the records that are compared
 * @param {number} lastSequence of the messages
 * @returns {Promise<Match | null>} null: the log was compacted meanwhile
 * @throws flumelog:invalid if the stream is one of another log
 */
async function match (source, target, lastSeq, lastSequence) {
  const { id } = source
  /** @type {Match} */
  const result = { head: 1, extra: [], last: -1, missing: null, messages: 0 }
  let isHead = true
  /** @type {LogRecord[] | null} */
  let records = []
  let index = 0
  let isOver = false
  /** @returns {Promise<LogRecord | null | undefined>} undefined: there is no other; null: see above */
  const peek = async () => {
    if (records !== null && index === records.length && !isOver) {
      records = await source.read({ gt: records.at(-1)?.seq ?? -1, lte: lastSeq })
      index = 0
      isOver = records?.length === 0
    }
    return records === null || id !== source.id ? null : records[index]
  }

  for await (const messages of target.windows(1, lastSequence)) {
    result.messages += messages.length
    if (messages.length > 0) await source.find(messages[0])
    for (const message of messages) {
      const record = await peek()
      if (record === null || id !== source.id) return null
      const found = source.findNow(message)
      if (record !== undefined && isRecord(target, message, found, record)) {
        result.last = record.seq
        index++
        isHead = false
      } else if ((isHead &&= found?.seq == null || found.seq < source.log.start)) result.head = message.sequence + 1
      else result.extra.push(message.sequence)
    }
  }
  const record = await peek()
  if (record === null) return null
  result.missing = record?.seq ?? null
  return result
}

/**
 * @param {import('./mirror-target').MirrorTarget} target
 * @param {Mirrored} message
 * @param {{ seq: number | null } | null} found where its record is in the log now; null: not known
 * @param {LogRecord} record the next one
 * @returns {boolean} whether it is that
 */
function isRecord ({ label }, { sequence, data }, found, record) {
  if (found === null) return record.data.equals(data)
  if (found.seq !== record.seq) return false
  if (record.data.equals(data)) return true
  throw errors.cannotMirror(label, `message ${sequence} is another record than that at ${record.seq} of the log: the log was replaced by another one, or restored`)
}

module.exports = { match }
