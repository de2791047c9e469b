'use strict'

// A message as a direct get gives it: its sequence and its time are in headers. The client would parse all of them, which takes longer than
// anything else about reading a message, so those that are needed are looked for in the bytes before the data.

/**
 * @typedef {import('@nats-io/transport-node').Msg} Msg
 */

/** What headers of a message start with; a code would follow. */
const START = 'NATS/1.0\r\n'

class DirectMessage {
  /**
   * @param {Msg} message with the headers of a direct get
   * @param {import('../connection/connection').Connection} connection
   */
  constructor (message, connection) {
    const { data } = message
    this.head = headOf(message, data)
    this.seq = Number(valueOf(message, this.head, 'Nats-Sequence'))
    this.message = message
    this.data = connection.recordOf(data, () => ({ seq: this.seq, time: this.time.getTime(), subject: this.subject }))
  }

  /** Under which it was stored. */
  get subject () {
    const subject = valueOf(this.message, this.head, 'Nats-Subject')
    // its bytes, as all of the head, one a character
    return this.head === null ? subject : Buffer.from(subject, 'latin1').toString()
  }

  /** At which it was stored. */
  get time () {
    return new Date(valueOf(this.message, this.head, 'Nats-Time-Stamp'))
  }

  /** All of them, which takes the client a while. */
  get headers () {
    return this.message.headers
  }

  /** The sequence of the one before it in the same answer; 0: there is none. */
  get previous () {
    return Number(valueOf(this.message, this.head, 'Nats-Last-Sequence'))
  }
}

/**
 * @param {Msg} message
 * @param {Uint8Array} data
 * @returns {string | null} its headers as text; null if they are not in the same memory, or have a code
 */
function headOf (message, data) {
  const { buffer, byteOffset } = data
  // its size has no place in the client's types
  const length = /** @type {any} */ (message).size?.() - message.subject.length - (message.reply?.length ?? 0) - data.length
  if (!(length >= START.length && length <= byteOffset)) return null
  const head = Buffer.from(buffer, byteOffset - length, length).toString('latin1')
  return head.startsWith(START) ? head : null
}

/**
 * @param {Msg} message
 * @param {string | null} head
 * @param {string} name
 * @returns {string} the last value with this name, which is the server's; empty if there is none
 */
function valueOf (message, head, name) {
  if (head === null) return message.headers?.last(name) ?? ''
  const at = head.lastIndexOf(`\n${name}: `)
  return at === -1 ? '' : head.slice(at + name.length + 3, head.indexOf('\r', at))
}

module.exports = { DirectMessage }
