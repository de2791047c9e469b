'use strict'

// A client's connection to the owner: greets it, and passes on what it says.

const errors = require('../errors')
const frames = require('./frames')
const bodies = require('./frame-bodies')
const { FrameReader } = require('./frame-reader')

/** What the owner may send at once: a WELCOME with the records of a whole window, one each, is the largest. */
const MAX_FRAME = 16 * 1024 * 1024

/**
 * @typedef {object} Listeners
 * @property {(welcome: import('./frames').Welcome) => void} onwelcome
 * @property {(isChanged: boolean) => void} onlook there is more in the log, or what was in it has changed
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
   * @param {Omit<import('./frames').Hello, 'version'>} hello
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
    try {
      this.reader.push(chunk)
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
    try {
      while (held.length > 0 && this.held === null) {
        const { type, body } = /** @type {{ type: number, body: Buffer }} */ (held.shift())
        this.onframe(type, body)
      }
    } catch (err) {
      if (/** @type {any} */ (err).code !== 'flumelog:protocol') throw err
      this.refusal = /** @type {Error} */ (err)
      return this.close()
    }
    // one of these was a reason to wait again
    if (this.held !== null) this.held = [...held, ...this.held]
    if (this.isWelcome && !this.isOver) this.listeners.oninput()
  }

  /**
   * @param {number} type
   * @param {Buffer} body
   */
  onframe (type, body) {
    const { listeners } = this
    if (this.isOver) return
    if (type === frames.REFUSED) {
      this.refusal = bodies.decodeError(body)
      return this.close()
    }
    if (type === frames.PONG) return
    // a copy: the bytes are a view of what was received
    if (this.held !== null) {
      this.held.push({ type, body: Buffer.from(body) })
      return
    }
    if (type === frames.WELCOME) return this.onwelcome(body)
    if (!this.isWelcome) throw errors.protocol(`the owner has sent a frame of type ${type} before WELCOME`)
    if (type === frames.ACK) listeners.onack(bodies.parseAck(body))
    else if (type === frames.LOOK) listeners.onlook(body[0] === 1)
    else if (type === frames.NACK) {
      const { epoch, error } = bodies.parseNack(body)
      listeners.onnack(epoch, error)
    } else if (type === frames.REPLY) {
      const { request, error } = bodies.parseReply(body)
      listeners.onreply(request, error)
    } else if (type === frames.RECLAIMED) {
      const { request, reclaimed } = bodies.parseReclaimed(body)
      listeners.onreply(request, null, reclaimed)
    } else if (type === frames.TRIMMED) {
      const { request, start } = bodies.parseTrimmed(body)
      listeners.onreply(request, null, start)
    } else if (type === frames.COMPACTION) {
      const { request, compacted } = bodies.parseCompaction(body)
      listeners.onreply(request, null, compacted)
    } else if (type === frames.COMPACTED) listeners.oncompacted(body.toString())
  }

  /** @param {Buffer} body */
  onwelcome (body) {
    if (body[0] !== frames.VERSION) throw errors.protocol(`the owner of the log has version ${body[0]} of the protocol; this process has version ${frames.VERSION}`)
    this.isWelcome = true
    this.listeners.onwelcome(bodies.parseWelcome(body))
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
    if (!this.isOver) this.socket.write(frames.ping())
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
    this.socket.end(frames.bye())
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
