'use strict'

// A client's connection to the owner: greets it, and passes on what it says.

const errors = require('../errors')
const frames = require('./frames')
const { FrameReader } = require('./frame-reader')

/** What the owner may send at once: a WELCOME with the records of a whole window, one each, is the largest. */
const MAX_FRAME = 16 * 1024 * 1024

/**
 * @typedef {object} Listeners
 * @property {(welcome: import('./frames').Welcome) => void} onwelcome
 * @property {(isChanged: boolean) => void} onlook records were deleted, or blocks trimmed; false: there is only more in the log
 * @property {(run: import('./frames').Run) => void} onack
 * @property {(epoch: number, error: Error) => void} onnack
 * @property {(request: number, error: Error | null, result?: import('./requests').Result) => void} onreply
 * @property {(id: string) => void} oncompacted the log is another file from here on
 * @property {() => void} oninput everything that has arrived at once was passed on
 * @property {(refusal: Error | null) => void} onclose called once. refusal: the owner has said why
 */

class Connection {
  /**
   * @param {import('net').Socket} socket that is connected
   * @param {import('./frames').Hello} hello
   * @param {import('../clock').Clock} clock
   * @param {Listeners} listeners
   */
  constructor (socket, hello, clock, listeners) {
    this.socket = socket
    this.clock = clock
    this.listeners = listeners
    this.reader = new FrameReader((type, body) => this.onframe(type, body), MAX_FRAME)
    this.isWelcome = false
    /** What has arrived while nothing is passed on; null: it is. @type {Array<{ type: number, body: Buffer }> | null} */
    this.held = null
    /** @type {Error | null} */
    this.refusal = null
    this.isOver = false
    /** When the owner has said something last. */
    this.heardAt = clock.now()
    this.send = this.send.bind(this)
    socket.on('data', (chunk) => this.ondata(/** @type {Buffer} */ (chunk)))
    socket.on('error', () => {})
    socket.on('close', () => this.over())
    socket.write(frames.hello(hello))
  }

  /** @param {Buffer} chunk */
  ondata (chunk) {
    if (this.isOver) return
    this.heardAt = this.clock.now()
    this.handle(() => this.reader.push(chunk))
  }

  /** @param {() => void} run passes on frames */
  handle (run) {
    try {
      run()
    } catch (err) {
      if (/** @type {any} */ (err).code !== 'flumelog:protocol') throw err
      this.refusal = /** @type {Error} */ (err)
      return this.close()
    }
    if (this.isWelcome && !this.isOver) this.listeners.oninput()
  }

  /** What arrives from now on is passed on when `release` is called. */
  keep () {
    this.held = []
  }

  release () {
    /** @type {NonNullable<Connection['held']>} */
    const held = this.held ?? []
    this.held = null
    // if one of them is a reason to wait again, those after it are kept again
    this.handle(() => { for (const { type, body } of held) this.onframe(type, body) })
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
    if (type === frames.PONG) return
    // a copy: the bytes are a view of what was received
    if (this.held !== null) {
      this.held.push({ type, body: Buffer.from(body) })
      return
    }
    if (type === frames.WELCOME) {
      this.isWelcome = true
      return listeners.onwelcome(frames.decode(type, body))
    }
    if (!this.isWelcome) throw errors.protocol(`the owner has sent a frame of type ${type} before WELCOME`)
    if (type === frames.ACK) listeners.onack(frames.decodeAck(body))
    else if (type === frames.LOOK) listeners.onlook(frames.decode(type, body).changed)
    else if (type === frames.NACK) {
      const { epoch, error } = frames.decode(type, body)
      listeners.onnack(epoch, error)
    } else if (type === frames.REPLY) {
      const { request, error = null, result } = frames.decode(type, body)
      listeners.onreply(request, error, result)
    } else if (type === frames.COMPACTED) listeners.oncompacted(frames.decode(type, body).id)
  }

  /** @param {Buffer[]} buffers */
  send (buffers) {
    const { socket } = this
    if (buffers.length === 1) {
      socket.write(buffers[0])
      return
    }
    socket.cork()
    for (const bytes of buffers) socket.write(bytes)
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
    this.listeners.onclose(this.refusal)
  }
}

module.exports = { Connection }
