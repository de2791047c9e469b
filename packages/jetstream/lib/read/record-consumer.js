'use strict'

// Reads the records after a position by a consumer on a server, which sends them with less around each than an answer to a direct get has. It
// may go away at any time, with its server or because nobody has asked for long; so it says how far it came, and whoever uses it reads on in
// another way. The server numbers what it sends, so that a record that was lost on its way is noticed.

const { REQUEST_TIMEOUT } = require('../connection/connection')
const { timeIn } = require('../envelope')

/** The most records of a window, and of the first one, when it is not known how large they are. */
const MAX_WINDOW = 4096
const FIRST_WINDOW = 1024
/** Bytes that a window is to have. The server could see to that, but does not always say that it has. */
const BYTES = 1024 * 1024
/** With more, a window ends, and so does the consumer: records have become larger all at once. */
const MAX_BYTES = 4 * BYTES
/** Nanoseconds without a request after which the server forgets the consumer. */
const FORGOTTEN_AFTER = 10e9

/**
 * @typedef {object} Received
 * @property {number} seq
 * @property {Buffer} data
 */

class RecordConsumer {
  /**
   * @param {import('../connection/connection').Connection} connection that is open
   * @param {number} from the first sequence
   */
  constructor (connection, from) {
    this.connection = connection
    this.stream = connection.settings.stream
    /** The sequence of the next record, or one before it. */
    this.position = from
    /** Null until the server has it. @type {string | null} */
    this.name = null
    /** Messages that the server has sent. */
    this.delivered = 0
    this.isStopped = false
    this.inbox = connection.createInbox()
    /** @type {import('@nats-io/transport-node').Subscription | null} */
    this.subscription = null
    /** Where the part of replies that differs starts. */
    this.numbersAt = 0
    /** The window that is being read. @type {{ records: Received[], end: () => void } | null} */
    this.window = null
    /** Messages that it still waits for. */
    this.missing = 0
    /** Bytes that have come, and how many records they may be. */
    this.bytes = 0
    this.most = FIRST_WINDOW
  }

  /** Has the server make it. */
  async start () {
    const { connection: { manager, nats }, stream, position } = this
    this.subscription = nats.subscribe(this.inbox, { callback: (err, message) => this.onmessage(err, message) })
    const { name } = await manager.consumers.add(stream, {
      deliver_policy: 'by_start_sequence',
      opt_start_seq: position,
      ack_policy: 'none',
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: FORGOTTEN_AFTER
    })
    this.name = name
  }

  /**
   * @param {number} limit
   * @returns {Promise<Received[]>} the next records from `position` on, which goes on after them. There may be more; without any, the consumer is
   *   stopped
   */
  async read (limit) {
    const count = Math.min(limit, this.most)
    const { connection } = this
    /** @type {Received[]} */
    const records = []
    try {
      if (this.name === null) await connection.attempt(() => this.start())
      if (!this.isStopped) await connection.attempt(() => this.receive(records, count))
    } catch {
      // what has come is good
    }
    this.window?.end()
    this.window = null
    if (records.length === 0 || this.missing > 0) this.stop()
    if (records.length === 0) return records
    const { seq } = records[records.length - 1]
    connection.identity.note({ seq, time: null, subject: null })
    this.position = seq + 1
    this.most = Math.max(1, Math.min(MAX_WINDOW, Math.floor(BYTES * records.length / Math.max(this.bytes, 1))))
    return records
  }

  /**
   * @param {Received[]} records
   * @param {number} count
   * @returns {Promise<void>}
   */
  receive (records, count) {
    return new Promise((resolve) => {
      const end = () => {
        clearInterval(timer)
        resolve()
      }
      let before = -1
      const timer = setInterval(() => {
        if (records.length === before) end()
        before = records.length
      }, REQUEST_TIMEOUT)
      this.window = { records, end }
      this.missing = count
      this.bytes = 0
      const request = JSON.stringify({ batch: count, no_wait: true })
      this.connection.nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${this.stream}.${this.name}`, request, { reply: this.inbox })
    })
  }

  /**
   * @param {Error | null} err
   * @param {import('@nats-io/transport-node').Msg} message
   */
  onmessage (err, message) {
    const { window } = this
    if (window === null) return
    // one without a reply subject says that there is nothing more, or why not
    if (err || !message.reply) return window.end()
    // $JS.ACK…<consumer>.<how often>.<sequence>.<number>.<time>.<pending>
    if (this.numbersAt === 0) this.numbersAt = message.reply.indexOf(`.${this.name}.`) + String(this.name).length + 2
    const [, sequence, number] = message.reply.slice(this.numbersAt).split('.')
    if (Number(number) !== ++this.delivered) return window.end()
    const seq = Number(sequence)
    const { data, reply } = message
    // a server that lags behind starts earlier
    if (seq >= this.position) window.records.push({ seq, data: this.connection.recordOf(data, () => ({ seq, time: timeIn(reply), subject: message.subject })) })
    this.bytes += data.length
    if (--this.missing === 0) return window.end()
    if (this.bytes > MAX_BYTES) this.stop()
  }

  stop () {
    if (this.isStopped) return
    this.isStopped = true
    const { connection, connection: { nats, manager }, subscription, name } = this
    if (subscription !== null && !subscription.isClosed()) subscription.unsubscribe()
    this.window?.end()
    if (name !== null && connection.isConnected && !nats.isClosed()) manager.consumers.delete(this.stream, name).catch(() => {})
  }
}

module.exports = { RecordConsumer }
