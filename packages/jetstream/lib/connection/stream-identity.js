'use strict'

// Whether the stream is still the one that was opened. A stream can be deleted and created anew under its name, and a server that lost its
// tail in a power cut, or was restored from a backup, continues with other messages under the same sequences. What was read or acknowledged
// before then says nothing about it, so whatever uses it ends with flumelog:replaced.
//
// Three facts tell: when the stream was created, that it reaches as far as what was read or acknowledged, and that the last message of that is
// still there. A server that is killed may lose messages that it has counted and not acknowledged: these do not count here.
// They are compared before anything else is asked over a new connection, and whenever the server says that something happened to the stream.
//
// Of a stream with replicas, an answer that contradicts them is not believed at once: the server may have to catch up. Nor is it as long as another
// server has the last message: a leader whose disk is full has confirmed messages that it cannot store.
// A mirror does not ask for this: it finds out where the stream ends, and continues there.

const errors = require('../errors')

/** Code of the server: there is no such stream. */
const NO_STREAM = 10059
/** Milliseconds. Answers that are further apart have an outage between them, in which no server could catch up. */
const MOST_BETWEEN = 3000
/** How many servers may say what they have of it before the leader is believed. */
const VISITS = 4

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
    /** Milliseconds for which servers have answered as if it were another stream, and when they did last. */
    this.doubted = 0
    this.doubtedAt = -Infinity
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
   * @param {Partial<import('@nats-io/jetstream').StreamInfoRequestOptions>} [options]
   * @returns {Promise<StreamInfo>} of the stream that was opened, as its leader knows it. Rejects with Behind if that has to be asked again; with
   *   flumelog:replaced, which ends the connection, if it is another one
   */
  async info (options) {
    const { connection, last } = this
    const info = await connection.streamInfo(options).catch((err) => { throw this.explain(err) })
    const problem = this.problemOf(info, last)
    const isElsewhere = problem !== null && info.created === this.created && await this.isElsewhere()
    if (problem !== null && !isElsewhere) throw this.doubt(problem)
    this.doubted = 0
    if (isElsewhere) throw new Behind()
    return info
  }

  /**
   * Compares the message that is known, too.
   * @returns {Promise<StreamInfo | null>} null: no stream is opened yet. Rejects as `info`, and if there is no answer
   */
  async verify () {
    const { connection: { manager, settings: { stream } }, message } = this
    if (!this.isKnown) return null
    const info = await this.info()
    // null: it was deleted
    const found = message === null ? null : await manager.streams.getMessage(stream, { seq: message.seq })
    if (message === null || found === null || isSame(message, found)) return info
    throw this.replaced(`the stream has another message ${message.seq} than before`)
  }

  /** @returns {Promise<boolean>} whether the server of this connection has the last message, which the leader has not */
  async isElsewhere () {
    const { connection: { manager, settings: { stream } }, message, isReplicated } = this
    if (message === null || !isReplicated) return false
    const found = await manager.direct.getMessage(stream, { seq: message.seq }).catch(() => null)
    return found !== null && isSame(message, found)
  }

  /**
   * @param {any} err of a request
   * @returns {Error} what it means if the server says that there is no such stream
   */
  explain (err) {
    return this.isKnown && isMissing(err) ? this.doubt('the stream was deleted') : err
  }

  /**
   * @param {string} problem with what a server has answered
   * @returns {Error} Behind while it may be one that has to catch up; then flumelog:replaced, which ends the connection
   */
  doubt (problem) {
    const { connection, connection: { settings: { timeout } }, doubted, doubtedAt } = this
    const now = this.doubtedAt = performance.now()
    if (now - doubtedAt < MOST_BETWEEN) this.doubted += now - doubtedAt
    if (!this.isReplicated || this.doubted >= timeout) return this.replaced(problem)
    const visits = (/** @type {number} */ milliseconds) => Math.floor(milliseconds * VISITS / timeout)
    if (visits(this.doubted) > visits(doubted)) connection.leave()
    return new Behind()
  }

  /** @param {string} problem */
  replaced (problem) {
    const error = this.errorOf(problem)
    this.connection.fail(error)
    return error
  }
}

/**
 * @param {KnownMessage} known
 * @param {{ time: Date, subject: string }} found under its sequence
 */
function isSame ({ time, subject }, found) {
  return (time === null || found.time.getTime() === time) && (subject === null || found.subject === subject)
}

/** The server that was asked does not have yet what another one has acknowledged. */
class Behind extends Error {
  constructor () {
    super('the server has not caught up yet')
  }
}

/** @param {any} err @returns {boolean} whether the server says that there is no such stream */
function isMissing (err) {
  return err?.code === NO_STREAM || err?.cause?.code === NO_STREAM
}

module.exports = { StreamIdentity, Behind, isMissing }
