'use strict'

// Learns from the server that others have appended, as soon as a reader waits for that, by an ordered consumer. The last records that it has
// delivered are kept for the readers at the end of the log; whatever is not among them is read by its sequence, so none is skipped or given
// twice, whatever becomes of the consumer.

const { isDenied, REQUEST_TIMEOUT } = require('../connection/connection')
const { timeIn } = require('../envelope')

/** Milliseconds until it is tried again, and a consumer that says nothing is replaced. */
const RETRY_DELAY = 200
const HEARTBEAT = 5000
/** Milliseconds that readers wait for a record which the stream has before they ask for it. */
const DELIVERY_TIMEOUT = 100
/** What is kept. */
const MAX_RECORDS = 1024
const MAX_BYTES = 1024 * 1024

/** @typedef {import('./record-consumer').Received & { subject: string }} Delivered */

class Follower {
  /**
   * @param {import('../connection/connection').Connection} connection that is open
   * @param {import('./reader').Reader} reader
   * @param {{ lastSeq: number, advance: (seq: number) => void }} log
   */
  constructor (connection, reader, log) {
    this.connection = connection
    this.reader = reader
    this.log = log
    this.isStarted = false
    /** @type {import('@nats-io/jetstream').ConsumerMessages | null} */
    this.messages = null
    /** The last messages of the stream, all of them from the sequence `from` to `end`. @type {Delivered[]} */
    this.recent = []
    this.bytes = 0
    this.from = Infinity
    this.end = 0
    /** Called after each message. @type {Set<() => void>} */
    this.waiting = new Set()
  }

  start () {
    if (this.isStarted) return
    this.isStarted = true
    this.run()
  }

  async run () {
    const { connection } = this
    while (connection.failure === null) {
      try {
        await connection.connected()
        await connection.attempt(() => this.follow())
      } catch (err) {
        // what waits would wait for ever
        if (isDenied(err)) connection.fail(connection.refused(err))
      }
      this.stop()
      if (connection.failure === null) await new Promise(resolve => setTimeout(resolve, RETRY_DELAY))
    }
  }

  /** Follows until the consumer ends, or the connection breaks. */
  async follow () {
    const { connection, connection: { jetstream, nats, connects, settings: { stream } }, log } = this
    const from = Math.max(log.lastSeq, 0) + 1
    const consumer = await jetstream.jetstream(nats, { timeout: REQUEST_TIMEOUT }).consumers.get(stream, { opt_start_seq: from })
    // a caller's connection stays when the log is closed
    const isCurrent = () => connection.connects === connects && connection.failure === null
    if (!isCurrent()) return
    this.from = from
    this.end = from - 1
    const messages = await consumer.consume({
      max_messages: MAX_RECORDS,
      idle_heartbeat: HEARTBEAT,
      expires: 2 * HEARTBEAT,
      callback: (message) => { if (isCurrent()) this.receive(message) }
    })
    if (!isCurrent()) return messages.stop()
    this.messages = messages
    // what was appended while there was no consumer, and deleted since
    this.refresh()
    // a server that is cut off from the others still sends heartbeats
    const timer = setInterval(() => this.refresh(), HEARTBEAT)
    try {
      const err = await messages.closed()
      if (err) throw err
    } finally {
      clearInterval(timer)
    }
  }

  refresh () {
    this.reader.refresh().then(({ last_seq: last }) => this.log.advance(last), () => {})
  }

  /** @param {import('@nats-io/jetstream').JsMsg & { reply?: string }} message of which the client's types do not have all */
  receive ({ seq, subject, data, reply }) {
    // the client has made its consumer anew
    if (seq <= this.end) return
    const record = this.connection.recordOf(data, () => ({ seq, time: timeIn(String(reply)), subject }))
    this.recent.push({ seq, subject, data: record })
    this.bytes += record.length
    this.end = seq
    if (this.recent.length > 2 * MAX_RECORDS || this.bytes > 2 * MAX_BYTES) this.forget()
    this.log.advance(seq)
    for (const call of this.waiting) call()
  }

  /** Keeps no more than it may. */
  forget () {
    const { recent } = this
    let count = 0
    while (recent.length - count > MAX_RECORDS || (this.bytes > MAX_BYTES && count < recent.length)) this.bytes -= recent[count++].data.length
    this.from = recent[count - 1].seq + 1
    this.recent = recent.slice(count)
  }

  /**
   * @param {number} first sequence
   * @param {number} last sequence, which the stream has or had
   * @returns {Promise<Delivered[] | null>} all records in that range; null: they are not known here
   */
  async range (first, last) {
    if (this.messages === null || first < this.from || (this.end < last && !await this.delivered(last))) return null
    if (first < this.from) return null
    const { recent, connection } = this
    let [start, end] = [recent.length, recent.length]
    while (start > 0 && recent[start - 1].seq >= first) if (recent[--start].seq > last) end = start
    const records = recent.slice(start, end)
    const newest = records.at(-1)
    if (newest !== undefined) connection.identity.note({ seq: newest.seq, time: null, subject: newest.subject })
    return connection.deleted.leaveOut(records)
  }

  /**
   * @param {number} seq
   * @returns {Promise<boolean>} whether it has been delivered, or a later one
   */
  delivered (seq) {
    return new Promise((resolve) => {
      const check = () => { if (this.messages === null || this.end >= seq) end() }
      const end = () => {
        clearTimeout(timer)
        this.waiting.delete(check)
        resolve(this.messages !== null && this.end >= seq)
      }
      const timer = setTimeout(end, DELIVERY_TIMEOUT)
      this.waiting.add(check)
    })
  }

  /** The next consumer goes on after the last message that is known. */
  stop () {
    this.messages?.stop()
    this.messages = null
    this.recent = []
    this.bytes = 0
    this.end = 0
    this.from = Infinity
    for (const call of this.waiting) call()
  }
}

module.exports = { Follower }
