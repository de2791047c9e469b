'use strict'

// Whether the stream is still the one that was opened. A stream can be deleted and created anew under its name, and a server that lost its
// tail in a power cut, or was restored from a backup, continues with other messages under the same sequences. What was read or acknowledged
// before then says nothing about it, so whatever uses it ends with flumelog:replaced.
//
// Three facts tell: when the stream was created, that it reaches as far as what was read or acknowledged, and that the last message of that is
// still there. A server that is killed may lose messages that it has counted and not acknowledged: these do not count here.
// They are compared before anything else is asked over a new connection, and whenever the server says that something happened to the stream.
// A mirror does not ask for this: it finds out where the stream ends, and continues there.

const errors = require('./errors')

/** Code of the server: there is no such stream. */
const NO_STREAM = 10059
/** Milliseconds between two questions to a cluster whose leader may have to catch up. */
const RETRY_DELAY = 50
/** The most milliseconds of an answer that count as time in which it could: an outage does not. */
const MOST_PER_ANSWER = 1000

/**
 * @typedef {import('@nats-io/jetstream').StreamInfo} StreamInfo
 *
 * @typedef {object} KnownMessage
 * @property {number} seq
 * @property {number | null} time in ms at which it was stored; null: not known
 * @property {string | null} subject null: not known
 */

class StreamIdentity {
  /** @param {import('./connection').Connection} connection */
  constructor (connection) {
    this.connection = connection
    /** When the stream was created; null: any stream will do. @type {string | null} */
    this.created = null
    /** The last message that was read or acknowledged. @type {KnownMessage | null} */
    this.message = null
    /** What ends the connection if it is another one. */
    this.errorOf = (/** @type {string} */ problem) => errors.streamReplaced(connection.label, problem)
    /** Whether a new leader may lag behind, so that it has to be asked again. */
    this.isReplicated = false
  }

  /** @param {StreamInfo} info of the stream that is opened */
  open (info) {
    this.created = info.created
    this.isReplicated = info.config.num_replicas > 1
  }

  /** Whether it matters which stream it is. */
  get isKnown () {
    return this.created !== null
  }

  /** The last sequence that was read or acknowledged. */
  get last () {
    return this.message?.seq ?? 0
  }

  /** @param {KnownMessage} message that was read or acknowledged */
  note (message) {
    if (message.seq > this.last) this.message = message
  }

  /**
   * A message was stored.
   * @param {number} seq
   * @param {string} subject
   * @param {number} last that was known when it was sent
   * @throws flumelog:replaced
   */
  noteStored (seq, subject, last) {
    if (this.isKnown && seq <= last) throw this.replaced(`a message was stored as ${seq}, and the stream had ${last}`)
    this.note({ seq, time: null, subject })
  }

  /**
   * @param {StreamInfo} info that the server gives
   * @param {number} last sequence that was known when it was asked
   * @returns {string | null} why it is another stream
   */
  problemOf ({ created, state }, last) {
    if (!this.isKnown) return null
    if (created !== this.created) return `the stream was deleted and created anew at ${created}`
    return state.last_seq < last ? `the stream ends at message ${state.last_seq}, and it had ${last}` : null
  }

  /**
   * @param {() => Promise<StreamInfo>} ask
   * @returns {Promise<StreamInfo>} of the stream that was opened. Rejects with flumelog:replaced, which ends the connection, if it is another one
   */
  async check (ask) {
    const { connection, connection: { settings: { timeout } } } = this
    for (let waited = 0; ;) {
      const { last } = this
      const askedAt = performance.now()
      let problem
      try {
        const info = await ask()
        problem = this.problemOf(info, last)
        if (problem === null) return info
      } catch (err) {
        if (!this.isKnown || !isMissing(err)) throw err
        problem = 'the stream was deleted'
      }
      if (!this.isReplicated || waited >= timeout) throw this.replaced(problem)
      await new Promise(resolve => setTimeout(resolve, RETRY_DELAY))
      if (connection.failure !== null) throw connection.failure
      waited += Math.min(performance.now() - askedAt, MOST_PER_ANSWER)
    }
  }

  /**
   * Compares the message that is known, too.
   * @returns {Promise<StreamInfo | null>} null: no stream is opened yet. Rejects as `check`, and if there is no answer
   */
  async verify () {
    const { connection, connection: { manager, settings: { stream } }, message } = this
    if (!this.isKnown) return null
    const info = await this.check(() => connection.streamInfo())
    // null: it was deleted
    const found = message === null ? null : await manager.streams.getMessage(stream, { seq: message.seq })
    if (message === null || found === null) return info
    const isSame = (message.time === null || found.time.getTime() === message.time) && (message.subject === null || found.subject === message.subject)
    if (isSame) return info
    throw this.replaced(`the stream has another message ${message.seq} than before`)
  }

  /** @param {string} problem */
  replaced (problem) {
    const error = this.errorOf(problem)
    this.connection.fail(error)
    return error
  }
}

/** @param {any} err @returns {boolean} whether the server says that there is no such stream */
function isMissing (err) {
  return err?.code === NO_STREAM || err?.cause?.code === NO_STREAM
}

module.exports = { StreamIdentity, isMissing }
