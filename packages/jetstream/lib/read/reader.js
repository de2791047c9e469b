'use strict'

// Reads records by their sequence. Any server that stores the stream may answer, and one that lags behind lacks the last records: so it is
// the leader that decides whether a record is missing.

const { format } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')
const { directGet } = require('./direct-get')
const { Behind } = require('../connection/stream-identity')

/** Bytes that a server sends per request. */
const MAX_BYTES = 1024 * 1024
/** The most messages per request. */
const MAX_MESSAGES = 1024

/** @typedef {import('./direct-get').Message} Message */

class Reader {
  /** @param {import('../connection/connection').Connection} connection that is open */
  constructor (connection) {
    this.connection = connection
    this.label = connection.label
    this.stream = connection.settings.stream
    /** What the server said last. @type {import('@nats-io/jetstream').StreamState | null} */
    this.state = null
  }

  /**
   * Asks the leader where the stream ends.
   * @param {boolean} [isPatient]
   * @param {Partial<import('@nats-io/jetstream').StreamInfoRequestOptions>} [options]
   * @returns {Promise<import('@nats-io/jetstream').StreamState>}
   */
  async refresh (isPatient, options) {
    const { connection } = this
    const { state } = await connection.ask(() => connection.identity.info(options), isPatient)
    this.state = state
    return state
  }

  /**
   * The records in a range that ends where the stream ends, or before: all of them, or the first ones if they have many bytes.
   * @param {number} first sequence, at least 1
   * @param {number} last sequence
   * @param {boolean} [isPatient] whether to wait for a server for as long as it takes
   * @param {() => number} [lastSeq] the last sequence that is known, which may be less after an outage
   * @returns {Promise<{ records: Message[], next: number }>} `next`: where the rest starts; no record is between the range and it if it is after it
   */
  async range (first, last, isPatient, lastSeq = () => Infinity) {
    const { connection } = this
    /** @type {Message[]} */
    const records = []
    let from = first
    let end = last
    const known = () => {
      end = Math.min(end, lastSeq())
      return end
    }
    for (let bytes = 0; from <= end && bytes < MAX_BYTES;) {
      const messages = await this.messagesFrom(from, last, MAX_MESSAGES, known, isPatient)
      if (messages.length === 0) from = Math.max(from, end + 1)
      for (const message of messages) {
        from = message.seq
        if (from > last) break
        records.push(message)
        bytes += message.data.length
        from++
      }
    }
    return { records: connection.deleted.leaveOut(records), next: from }
  }

  /**
   * The same backward: all of them, or the last ones.
   * @param {number} first sequence, at least 1
   * @param {number} last sequence
   * @param {boolean} [isPatient]
   * @param {() => number} [lastSeq]
   * @returns {Promise<{ records: Message[], next: number }>} last one first; `next`: where the rest ends
   */
  async rangeBackward (first, last, isPatient, lastSeq = () => Infinity) {
    for (let from = first; ;) {
      const { records, next } = await this.range(from, last, isPatient, lastSeq)
      if (next > Math.min(last, lastSeq())) return { records: records.reverse(), next: from - 1 }
      from = next
    }
  }

  /**
   * @param {number} from sequence
   * @param {number} last sequence that is needed
   * @param {number} most messages
   * @param {() => number} known gives the sequence up to which the stream is known to reach
   * @param {boolean} [isPatient]
   * @returns {Promise<Message[]>} the first messages from there on, perhaps after `last`; none if the stream has none
   */
  async messagesFrom (from, last, most, known, isPatient) {
    const { connection } = this
    const query = { seq: from, batch: Math.min(last - from + 1, most), max_bytes: MAX_BYTES }
    const messages = await connection.ask(() => directGet(connection, query, last), isPatient)
    if (messages.length === 0) {
      const message = await this.nextByLeader(from, known, isPatient)
      if (message !== null) messages.push(message)
    }
    const newest = messages.at(-1)
    if (newest !== undefined) connection.identity.note({ seq: newest.seq, time: newest.time.getTime(), subject: null })
    return messages
  }

  /**
   * @param {number} from sequence
   * @param {() => number} known gives the sequence up to which the stream is known to reach
   * @param {boolean} [isPatient]
   * @returns {Promise<Message | null>} the first message from there on, as the leader knows it
   */
  async nextByLeader (from, known, isPatient) {
    const { connection, connection: { manager }, stream } = this
    const message = await connection.ask(async () => {
      // a leader that was elected just now may have to catch up
      const { state } = await connection.streamInfo()
      if (state.last_seq < known()) throw new Behind()
      const found = await manager.streams.getMessage(stream, /** @type {any} */ ({ seq: from, next_by_subj: '>' }))
      if (found === null && connection.identity.isReplicated && await connection.hasMessage(from, Infinity)) throw new Behind()
      return found
    }, isPatient)
    return message === null ? null : this.messageOf(message)
  }

  /** @param {import('@nats-io/jetstream').StoredMsg} message @returns {Message} */
  messageOf ({ seq, data, time, subject, header }) {
    return { seq, data: this.connection.recordOf(data, () => ({ seq, time: time.getTime(), subject })), time, headers: header }
  }

  /**
   * @param {number} seq up to the last one
   * @param {number} last sequence that is known
   * @returns {Promise<Message | null>} null: it was deleted
   */
  async get (seq, last) {
    const { connection, connection: { manager }, stream } = this
    if (connection.deleted.has(seq)) return null
    const found = await connection.ask(() => manager.direct.getMessage(stream, { seq }))
    if (found !== null) return this.messageOf(found)
    return this.nextByLeader(seq, () => last).then(message => message?.seq === seq ? message : null)
  }

  /**
   * @param {number} from sequence
   * @param {number} last sequence that is known
   * @returns {Promise<Message | null>} the first record from there on
   */
  async next (from, last) {
    for (let seq = from; seq <= last;) {
      const [message] = await this.messagesFrom(seq, last, 1, () => last)
      if (message === undefined || message.seq > last) return null
      if (!this.connection.deleted.has(message.seq)) return message
      seq = message.seq + 1
    }
    return null
  }

  /**
   * @param {number} seq after it
   * @returns {Promise<Message | null>} the record before it
   */
  async previous (seq) {
    let start = 1
    for (let last = seq - 1, window = 1; last >= start; last -= window, window *= 2) {
      let found = await this.next(Math.max(start, last - window + 1), last)
      if (found !== null) {
        // it is this one, or one after it
        for (let high = last; found.seq < high;) {
          const middle = Math.ceil((found.seq + 1 + high) / 2)
          /** @type {Message | null} */
          const later = await this.next(middle, high)
          if (later !== null) found = later
          else high = middle - 1
        }
        return found
      }
      // what is purged is not looked through
      if (window === 1) start = Math.max((await this.refresh()).first_seq, 1)
    }
    return null
  }

  /**
   * @param {Date} time
   * @param {number} last sequence that is known
   * @returns {Promise<Message | null>} the first record that was stored at this time or later, by the server's clock
   */
  async since (time, last) {
    const { connection } = this
    return connection.ask(async () => {
      const [message] = await directGet(connection, { start_time: time.toISOString(), batch: 1 })
      if (message !== undefined) return connection.deleted.has(message.seq) ? this.next(message.seq + 1, last) : message
      // this server has none; it may lag behind
      const newest = await this.previous(last + 1)
      if (newest !== null && newest.time >= time) throw new Behind()
      return null
    })
  }
}

/**
 * @param {Reader} reader
 * @param {number} seq that a caller gave
 * @param {number} last sequence that is known
 * @returns {Error | null} why there can be no record
 */
function problemOf ({ label }, seq, last) {
  if (!Number.isInteger(seq) || seq < 0) return errors.invalid(`seq must be the sequence of a record, an integer of 0 or more; it is ${format(seq)}`)
  return seq === 0 || seq > last ? errors.notFound(label, seq, `there is no record ${seq}; the last one is ${last}`) : null
}

module.exports = { Reader, problemOf }
