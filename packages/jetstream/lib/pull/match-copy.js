'use strict'

// Compares records of a copy with the messages of the stream. Both have the same order, so one pass decides: a record that equals the next
// message is that one; another one has no message any more.

const { callbacks: { promised } } = require('flumelog-random-access-file/blocks')

/** Sequences that are read at a time. */
const PIECE = 256

/**
 * @typedef {object} Part of a copy
 * @property {number} from its messages are after this sequence
 * @property {number} seq the last sequence that may be in it
 * @property {number} start offset in the log
 * @property {number} end offset in the log
 *
 * @typedef {object} Matched
 * @property {number} records that equal their messages
 * @property {number} seq of the last of these messages; `from` of the part if there is none
 * @property {number[]} gone offsets of those without a message
 * @property {number | null} missing the first sequence of a message without a record; null: there is none
 */

/**
 * @param {import('./source-stream').SourceStream} source
 * @param {Pick<import('flumelog-random-access-file').Log<any>, 'scan'>} log
 * @param {Part} part
 * @returns {Promise<Matched>}
 */
async function matchCopy ({ reader, isPatient }, log, { from, seq: last, start, end }) {
  /** @type {Matched} */
  const matched = { records: 0, seq: from, gone: [], missing: null }
  /** @type {import('../read/direct-get').Message[]} */
  let messages = []
  let index = 0
  let next = from + 1
  let position = start
  const isUsedUp = () => index === messages.length && next <= last
  do {
    while (isUsedUp()) {
      ({ records: messages, next } = await reader.range(next, Math.min(next + PIECE - 1, last), isPatient))
      index = 0
    }
    const continueAt = position
    position = end
    await promised(cb => log.scan({ gte: continueAt, lt: end, cache: false }, (block, from, to, seq) => {
      if (isUsedUp()) {
        position = seq
        return false
      }
      if (index === messages.length || !isSame(messages[index].data, block, from, to)) matched.gone.push(seq)
      else {
        matched.records++
        matched.seq = messages[index++].seq
      }
    }, cb))
  } while (position < end || isUsedUp())
  matched.missing = messages[index]?.seq ?? null
  return matched
}

/**
 * @param {Buffer} data
 * @param {Buffer} block
 * @param {number} start
 * @param {number} end
 */
function isSame (data, block, start, end) {
  return data.length === end - start && data.compare(block, start, end) === 0
}

module.exports = { matchCopy }
