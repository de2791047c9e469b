'use strict'

// A direct get of several messages: any server that stores the stream answers, with up to a number of messages from a sequence on, and an
// end. The client has this too, but does not tell whether a message was lost on the way from another server.

const { Behind, REQUEST_TIMEOUT } = require('./connection')

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
 * @param {import('./connection').Connection} connection
 * @param {{ seq?: number, start_time?: string, batch: number, max_bytes?: number }} query
 * @param {number} [last] sequence after which no message is needed
 * @returns {Promise<Message[]>} the next messages that this server has, at least one if it has any. Rejects if the answer is incomplete
 */
function directGet ({ nats, transport, jetstream, settings: { stream } }, query, last = Infinity) {
  return new Promise((resolve, reject) => {
    /** @type {Message[]} */
    const messages = []
    const inbox = transport.createInbox()
    let previous = 0
    const subscription = nats.subscribe(inbox, { callback: (err, message) => onmessage(err, message) })
    // until the next message
    const timer = setTimeout(ontimeout, REQUEST_TIMEOUT)
    nats.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(query), { reply: inbox })

    /** @param {Error | null} err @param {Msg} message */
    function onmessage (err, message) {
      if (err) return finish(err)
      const { headers } = message
      const code = headers?.code ?? 0
      const lastSeq = Number(headers?.get('Nats-Last-Sequence') || 0)
      if (code === NOT_FOUND) return finish(null)
      if (code !== 0 && code !== END_OF_BATCH) return finish(Object.assign(new jetstream.JetStreamError(String(headers?.description)), { code }))
      // each message, and the end, names the one before it
      if (lastSeq !== previous) return finish(new Behind())
      if (code === END_OF_BATCH) return finish(null)
      previous = Number(headers?.get('Nats-Sequence'))
      messages.push(messageOf(message))
      if (previous >= last) finish(null)
      else timer.refresh()
    }

    function ontimeout () {
      finish(new transport.TimeoutError())
    }

    /** @param {Error | null} err */
    function finish (err) {
      clearTimeout(timer)
      // one that has been closed throws nothing more
      if (!subscription.isClosed()) subscription.unsubscribe()
      if (err) reject(err)
      else resolve(messages)
    }
  })
}

/**
 * @param {Msg} message with the headers of a direct get
 * @returns {Message}
 */
function messageOf ({ headers, data }) {
  return {
    seq: Number(headers?.last('Nats-Sequence')),
    data: Buffer.from(data.buffer, data.byteOffset, data.length),
    headers,
    get time () { return new Date(String(headers?.last('Nats-Time-Stamp'))) }
  }
}

module.exports = { directGet }
