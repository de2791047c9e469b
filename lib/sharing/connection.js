'use strict'

// A client's connection to the owner: greets it, sends what the client has to send, and passes on what the owner says.

const errors = require('../errors')
const frames = require('./frames')
const { FrameReader } = require('./frame-reader')

const ANSWERS = new Set([frames.ACK, frames.NACK, frames.CONFLICT, frames.REPLY])

/**
 * @typedef {object} Listeners
 * @property {() => void} onheard the owner has said something
 * @property {() => void} onlook the log has changed
 * @property {(type: number, message: any) => void} onanswer
 * @property {() => void} oninput everything that has arrived at once was passed on
 * @property {() => void} onclose called once
 */

class Connection {
  /**
   * @param {import('net').Socket} socket that is connected
   * @param {import('./frames').Hello} hello
   * @param {Listeners} listeners
   */
  constructor (socket, hello, listeners) {
    this.socket = socket
    this.listeners = listeners
    this.reader = new FrameReader((type, body) => this.onframe(type, body))
    this.isWelcome = false
    /** @type {(welcome: import('./frames').Welcome | null) => void} */
    this.onwelcome = () => {}
    /** Null: the connection was closed before. @type {Promise<import('./frames').Welcome | null>} */
    this.welcome = new Promise(resolve => { this.onwelcome = resolve })
    /** Why the owner has closed the connection, if it has said so. @type {Error | null} */
    this.refusal = null
    this.isOver = false
    socket.on('data', (chunk) => this.ondata(/** @type {Buffer} */ (chunk)))
    socket.on('error', () => {})
    socket.on('close', () => this.over())
    socket.write(frames.hello(hello))
  }

  /** @param {Buffer} chunk */
  ondata (chunk) {
    if (this.isOver) return
    try {
      this.reader.push(chunk)
    } catch (err) {
      if (/** @type {any} */ (err).code !== 'flumelog:protocol') throw err
      this.refusal = /** @type {Error} */ (err)
      return this.close()
    }
    if (!this.isOver) this.listeners.oninput()
  }

  /**
   * @param {number} type
   * @param {Buffer} body
   */
  onframe (type, body) {
    const { listeners } = this
    if (this.isOver) return
    if (type === frames.REFUSED) {
      this.refusal = frames.decode(type, body).error
      return this.close()
    }
    listeners.onheard()
    if (type === frames.WELCOME) {
      this.isWelcome = true
      return this.onwelcome(frames.decode(type, body))
    }
    if (type === frames.PONG) return
    if (!this.isWelcome) throw errors.protocol(`the owner has sent a frame of type ${type} before WELCOME`)
    if (type === frames.LOOK) return listeners.onlook()
    if (!ANSWERS.has(type)) return
    listeners.onanswer(type, frames.decode(type, body))
    if (type === frames.NACK) this.close()
  }

  /**
   * @param {Array<import('./frame-packer').Frame | import('./frame-packer').Request>} items
   * @param {number} answered the highest number for which no answer is needed
   */
  send (items, answered) {
    const { socket } = this
    socket.cork()
    for (const item of items) socket.write('ask' in item ? frames.encode(frames.REQUEST, { request: item.request, ask: item.ask }) : item.bytes(answered))
    socket.uncork()
  }

  /** Asks for a sign of life. */
  ping () {
    if (!this.isOver) this.socket.write(frames.encode(frames.PING))
  }

  /** @param {boolean} isHeld whether the connection keeps the process alive */
  hold (isHeld) {
    if (isHeld) this.socket.ref()
    else this.socket.unref()
  }

  /** Leaves for good. */
  leave () {
    if (this.isOver) return
    this.isOver = true
    this.socket.end(frames.encode(frames.BYE))
    this.socket.resume()
    // the owner may not read it, and the process need not wait for that
    this.socket.unref()
  }

  close () {
    this.socket.destroy()
    this.over()
  }

  over () {
    if (this.isOver) return
    this.isOver = true
    this.onwelcome(null)
    this.listeners.onclose()
  }
}

module.exports = { Connection }
