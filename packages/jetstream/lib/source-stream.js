'use strict'

// The stream that a copy is pulled from: whether it is still the one that was copied, and what was deleted in it.

const errors = require('./errors')
const { StreamLog } = require('./stream-log')
const { ServerBatchStream } = require('./streams')

/** Code of the server: there is no such stream. */
const NO_STREAM = 10059

/**
 * @typedef {import('@nats-io/jetstream').StreamState} StreamState
 */

class SourceStream {
  /**
   * @param {import('./options').Settings} settings
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
    /** When the stream that was copied was created. */
    this.created = ''
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
   * @param {number} last sequence that it is known to have
   * @returns {Promise<StreamState>} rejects with flumelog:replaced if it is not the stream that was copied
   */
  async state (last) {
    const { copy, label, connection, settings: { timeout } } = this
    for (const deadline = performance.now() + timeout; ;) {
      const { created, state } = await this.info()
      if (created !== this.created) throw errors.notSource(copy, `${label} was deleted and created anew at ${created}`)
      if (state.last_seq >= last) return state
      // a leader that was elected just now may have to catch up
      if (performance.now() > deadline) throw errors.notSource(copy, `${label} ends at message ${state.last_seq}, and the copy at ${last}`)
      await connection.pause()
    }
  }

  /** @returns {Promise<StreamState>} with the sequences of all deleted messages */
  async stateWithDeleted () {
    const { state } = await this.info({ deleted_details: true })
    return state
  }

  /** @param {Partial<import('@nats-io/jetstream').StreamInfoRequestOptions>} [options] */
  async info (options) {
    const { connection, settings: { stream }, isPatient } = this
    try {
      return await connection.ask(() => connection.manager.streams.info(stream, options), isPatient)
    } catch (err) {
      if (/** @type {any} */ (err).cause?.code === NO_STREAM) throw errors.notSource(this.copy, `${this.label} does not exist any more`)
      throw err
    }
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
