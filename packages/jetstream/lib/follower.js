'use strict'

// Learns from the server that others have appended, as soon as a reader waits for that. An ordered consumer gives the headers of new
// messages; the records themselves are read as all others are, by their sequence, so none is skipped or given twice, whatever becomes of the
// consumer.

const { REQUEST_TIMEOUT } = require('./connection')

/** Milliseconds until it is tried again, and a consumer that says nothing is replaced. */
const RETRY_DELAY = 200
const HEARTBEAT = 5000

class Follower {
  /**
   * @param {import('./connection').Connection} connection that is open
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
      } catch {}
      this.stop()
      if (connection.failure === null) await new Promise(resolve => setTimeout(resolve, RETRY_DELAY))
    }
  }

  /** Follows until the consumer ends, or the connection breaks. */
  async follow () {
    const { connection: { jetstream, nats, settings: { stream } }, reader, log } = this
    const from = Math.max(log.lastSeq, 0) + 1
    const consumer = await jetstream.jetstream(nats, { timeout: REQUEST_TIMEOUT }).consumers.get(stream, { opt_start_seq: from, headers_only: true })
    const messages = await consumer.consume({ max_messages: 1000, idle_heartbeat: HEARTBEAT, expires: 2 * HEARTBEAT, callback: ({ seq }) => log.advance(seq) })
    this.messages = messages
    // what was appended while there was no consumer, and deleted since
    reader.refresh().then(({ last_seq: last }) => log.advance(last), () => {})
    const err = await messages.closed()
    if (err) throw err
  }

  /** The next consumer goes on after the last message that is known. */
  stop () {
    this.messages?.stop()
    this.messages = null
  }
}

module.exports = { Follower }
