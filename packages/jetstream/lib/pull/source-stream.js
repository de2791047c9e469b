'use strict'

// The stream that a copy is pulled from: whether it is still the one that was copied, and what was deleted in it.

const errors = require('../errors')
const { StreamLog } = require('../stream-log')
const { ServerBatchStream } = require('../read/streams')

/**
 * @typedef {import('@nats-io/jetstream').StreamState} StreamState
 */

class SourceStream {
  /**
   * @param {import('../options').Settings} settings
   * @param {string | null} copy its filename, for errors
   * @param {boolean} isPatient whether to wait for a server for as long as it takes
   */
  constructor (settings, copy, isPatient) {
    this.settings = settings
    this.copy = copy
    this.isPatient = isPatient
    this.log = new StreamLog(settings)
    this.label = this.log.filename
    this.connection = this.log.connection
  }

  /** Once it is open. */
  get reader () {
    return this.log.reader
  }

  /**
   * @param {number} gt
   * @returns {import('flumelog-random-access-file/parts').Source<any[]>} of all messages after that sequence, in batches
   */
  batches (gt) {
    return new ServerBatchStream(this.log.reading, { gt, live: this.isPatient }).source
  }

  /**
   * From now on, another stream ends everything with flumelog:replaced.
   * @param {string} created when the stream that was copied was created
   */
  expect (created) {
    const { copy, label, connection: { identity } } = this
    identity.created = created
    identity.errorOf = (problem) => errors.notSource(copy, `${label}: ${problem}`)
  }

  /**
   * @param {number} last sequence that it is known to have
   * @returns {Promise<StreamState>} rejects with flumelog:replaced if it is not the stream that was copied
   */
  state (last) {
    this.connection.identity.note({ seq: last, time: null, subject: null })
    return this.reader.refresh(this.isPatient)
  }

  /** @returns {Promise<StreamState>} with the sequences of all deleted messages */
  stateWithDeleted () {
    return this.reader.refresh(this.isPatient, { deleted_details: true })
  }
}

/**
 * @param {StreamState} state with the sequences of deleted messages
 * @param {number} from
 * @param {number} to
 * @returns {number} how many messages after `from`, up to `to`, are not there any more
 */
function deletedBetween ({ first_seq: first, deleted = [] }, from, to) {
  const purged = Math.max(0, Math.min(to, first - 1) - from)
  return purged + countUpTo(deleted, to) - countUpTo(deleted, Math.max(from, Math.min(to, first - 1)))
}

/**
 * @param {number[]} sorted
 * @param {number} most
 * @returns {number} how many of them are up to `most`
 */
function countUpTo (sorted, most) {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle] <= most) low = middle + 1
    else high = middle
  }
  return low
}

/** @param {StreamState} state @returns {string} another one when a message has been deleted */
function deletionsOf (state) {
  return `${state.first_seq} ${state.num_deleted}`
}

module.exports = { SourceStream, deletedBetween, deletionsOf }
