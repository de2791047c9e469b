'use strict'

// A direct get of several messages: any server that stores the stream answers, with up to a number of messages from a sequence on, and an
// end. The client has this too, but does not tell whether a message was lost on the way from another server.

const { REQUEST_TIMEOUT } = require('../connection/connection')
const { DirectMessage } = require('./direct-message')
const { Behind } = require('../connection/stream-identity')

/**
 * @typedef {object} Message
 * @property {number} seq
 * @property {Buffer} data
 * @property {Date} time at which it was stored
 * @property {import('@nats-io/transport-node').MsgHdrs | undefined} headers
 *
 * @typedef {import('@nats-io/transport-node').Msg} Msg
 */

/** Codes of an answer without a message. */
const END_OF_BATCH = 204
const NOT_FOUND = 404

/**
 * @param {import('../connection/connection').Connection} connection
 * @param {{ seq?: number, start_time?: string, next_by_subj?: string | null, batch: number, max_bytes?: number }} query
 * @param {number} [last] sequence after which no message is needed
 * @returns {Promise<Message[]>} the next messages that this server has, at least one if it has any. Rejects if the answer is incomplete
 */
function directGet (connection, query, last = Infinity) {
  const { nats, transport, jetstream, settings: { stream } } = connection
  return new Promise((resolve, reject) => {
    /** @type {Message[]} */
    const messages = []
    const inbox = connection.createInbox()
    let previous = 0
    const subscription = nats.subscribe(inbox, { callback: (err, message) => onmessage(err, message) })
    // until the next message
    const timer = setTimeout(ontimeout, REQUEST_TIMEOUT)
    const subject = `$JS.API.DIRECT.GET.${stream}`
    connection.refusals.once(`publish ${subject}`, finish)
    nats.publish(subject, JSON.stringify(query), { reply: inbox })

    /** @param {Error | null} err @param {Msg} message */
    function onmessage (err, message) {
      if (err) return finish(err)
      // one with data has no code
      if (message.data.length === 0 && message.headers?.code) return onstatus(message)
      const found = new DirectMessage(message, connection)
      // each message, and the end, names the one before it
      if (found.previous !== previous) return finish(new Behind())
      previous = found.seq
      messages.push(found)
      if (previous >= last) finish(null)
      else timer.refresh()
    }

    /** @param {Msg} message without a record */
    function onstatus ({ headers }) {
      const code = headers?.code
      if (code === NOT_FOUND) return finish(null)
      if (code !== END_OF_BATCH) return finish(Object.assign(new jetstream.JetStreamError(String(headers?.description)), { code }))
      finish(Number(headers?.get('Nats-Last-Sequence') || 0) === previous ? null : new Behind())
    }

    function ontimeout () {
      finish(new transport.TimeoutError())
    }

    /** @param {Error | null} err */
    function finish (err) {
      clearTimeout(timer)
      connection.refusals.off(`publish ${subject}`, finish)
      // one that has been closed throws nothing more
      if (!subscription.isClosed()) subscription.unsubscribe()
      if (err) reject(err)
      else resolve(messages)
    }
  })
}

module.exports = { directGet }
