'use strict'

// One connection to the owner, as the owner sees it: checks what a client sends, hands it
// to the writer, and answers. Whatever is not as docs/protocol.md says ends the
// connection, and nothing else.

const layout = require('../format/layout')
const errors = require('../errors')
const { rethrowLater } = require('../callbacks')
const frames = require('./frames')
const { FrameReader } = require('./frame-reader')

/** Runs that are stored, and for which the client has not said yet that it knows: twice as many as it can have in flight. */
const MAX_RUNS = 2 * frames.WINDOW / frames.MIN_APPEND_COST
/** Bytes of answers that the client has not taken, beyond which nothing more is read from it. */
const MAX_UNSENT = 256 * 1024
/** Milliseconds until a connection that is over is cut, whether the client has read why or not. */
const REFUSAL_TIMEOUT = 1000

class Session {
  /**
   * @param {import('./server').Server} server
   * @param {import('net').Socket} socket
   */
  constructor (server, socket) {
    this.server = server
    this.socket = socket
    this.reader = new FrameReader((type, body) => this.onframe(type, body))
    /** Null: it has not come. @type {import('./frames').Hello | null} */
    this.hello = null
    /** Who it is; null: the log is not open yet. @type {import('./known-clients').KnownClient | null} */
    this.client = null
    /** Whether WELCOME was sent. */
    this.isWelcome = false
    this.isOver = false
    /** What has arrived since the last turn. @type {Buffer[]} */
    this.received = []
    /** What was received and not answered: records and bytes of data in APPENDs. */
    this.inFlight = { records: 0, bytes: 0 }
    /** Bytes of the window that it takes. */
    this.cost = 0
    this.appended = { records: 0, bytes: 0 }
    /** Whether what is sent in this turn waits for its end. */
    this.isCorked = false

    socket.on('data', (chunk) => {
      if (this.isOver) return
      this.received.push(/** @type {Buffer} */ (chunk))
      server.takeSoon()
    })
    socket.on('drain', () => this.ondrain())
    socket.on('error', () => {})
    socket.on('close', () => this.over())
  }

  // Input

  /** Takes what has arrived. */
  take () {
    try {
      for (const chunk of this.received.splice(0)) this.reader.push(chunk)
    } catch (err) {
      if (/** @type {any} */ (err).code === 'flumelog:protocol') return this.refuse(/** @type {Error} */ (err))
      // a bug of this side, which the client is not told: it sends everything again on its next connection
      rethrowLater(err)
      this.over()
      this.socket.destroy()
    }
    this.throttle()
  }

  /** No more is read of a client that has more than a window in flight, or does not take its answers. */
  throttle () {
    if (this.isOver) return
    if (this.cost > frames.WINDOW || this.isStalled) this.socket.pause()
    else this.socket.resume()
  }

  /**
   * @param {number} type
   * @param {Buffer} body
   */
  onframe (type, body) {
    // when the log is closing, clients may leave, and do nothing else
    if (this.isOver || (this.server.isClosing && type !== frames.BYE)) return
    if (type === frames.PING) return this.answer(frames.PONG)
    if (this.hello === null) {
      if (type !== frames.HELLO) throw errors.protocol(`the first frame is of type ${type}; it should be HELLO`)
      this.hello = frames.decode(type, body)
      return this.server.greet(this)
    }
    if (type === frames.HELLO) throw errors.protocol('HELLO came twice')
    if (type === frames.BYE) return this.onbye()
    if (!this.isWelcome) throw errors.protocol(`a frame of type ${type} came before WELCOME`)
    if (type === frames.APPEND) this.onappend(frames.decode(type, body), body.length + frames.HEADER_SIZE)
    else if (type === frames.REQUEST) this.onrequest(frames.decode(type, body))
  }

  /**
   * @param {import('./frames').AppendHeader & { records: Buffer }} batch
   * @param {number} size of the frame
   */
  onappend (batch, size) {
    const { first, count, answered, flags, records } = batch
    const client = /** @type {import('./known-clients').KnownClient} */ (this.client)
    // not the last one compared with the maximum: sums above it are rounded
    if (count === 0 || first === 0 || count - 1 > Number.MAX_SAFE_INTEGER - first) throw errors.protocol(`APPEND has ${count} records from number ${first} on`)
    if (first <= client.highest) throw errors.protocol(`record ${first} came after record ${client.highest}`)
    client.forget(answered)
    if (client.runs.length > MAX_RUNS) throw errors.protocol(`${client.runs.length} runs have not been confirmed by the client; the maximum is ${MAX_RUNS}`)
    this.server.checkRecords(records, count, (flags & frames.ATOMIC) !== 0)
    client.highest = first + count - 1
    const bytes = records.length - count * layout.FRAME_SIZE
    const cost = frames.costOf(size)
    this.add(count, bytes, cost)
    this.server.append(client, batch, (type, message) => {
      this.add(-count, -bytes, -cost)
      if (type === frames.ACK) {
        this.appended.records += count
        this.appended.bytes += bytes
      }
      this.answer(type, message)
    })
  }

  /** @param {import('./server').Asked} asked */
  onrequest (asked) {
    this.add(0, 0, frames.REQUEST_COST)
    this.server.execute(asked, (type, message) => {
      this.add(0, 0, -frames.REQUEST_COST)
      this.answer(type, message)
    })
  }

  /**
   * @param {number} records that are in flight
   * @param {number} bytes of data
   * @param {number} cost
   */
  add (records, bytes, cost) {
    this.inFlight.records += records
    this.inFlight.bytes += bytes
    this.cost += cost
  }

  onbye () {
    if (this.client !== null) this.client.isLeaving = true
    this.end()
  }

  // Output

  /**
   * @param {number} type
   * @param {any} [message]
   */
  answer (type, message) {
    if (this.isEnded) return
    this.cork()
    this.socket.write(frames.encode(type, message))
    // nothing else of this client that has no ACK is stored; the connection ends, so that the client knows what that is
    if (type === frames.NACK) this.end()
  }

  /** All answers of a turn are sent together. */
  cork () {
    if (this.isCorked) return
    this.isCorked = true
    this.socket.cork()
    process.nextTick(() => {
      this.isCorked = false
      this.socket.uncork()
      this.throttle()
    })
  }

  /** A client that is not welcome yet, or takes nothing, is told later. */
  look () {
    if (this.isWelcome && !this.isStalled) this.answer(frames.LOOK)
  }

  /** Whether the last bytes for the client were written. */
  get isEnded () {
    return this.isOver || this.socket.writableEnded
  }

  /** Whether the client does not take its answers. */
  get isStalled () {
    return this.socket.writableLength > MAX_UNSENT
  }

  /** The client takes its answers again. */
  ondrain () {
    this.throttle()
    this.look()
  }

  // Ends

  /**
   * Ends the connection of a client that does not keep to the protocol.
   * @param {Error} err
   */
  refuse (err) {
    if (this.isOver) return
    if (/** @type {import('../errors').LogError} */ (err).code === 'flumelog:protocol') this.server.refusals++
    this.end(frames.encode(frames.REFUSED, { error: err }))
  }

  /**
   * Sends all answers, and ends the connection; the client connects again.
   * @param {Buffer} [bytes] the last ones for the client
   */
  end (bytes = Buffer.alloc(0)) {
    if (this.isOver) return
    const { socket, server } = this
    this.over()
    if (!socket.writableEnded) socket.end(bytes)
    // for the end of the other side
    socket.resume()
    server.clock.setTimeout(() => socket.destroy(), REFUSAL_TIMEOUT).unref()
  }

  /** @returns {Promise<void>} resolves when the client has been sent everything, or has not taken it for REFUSAL_TIMEOUT */
  closed () {
    return new Promise(resolve => {
      this.socket.once('close', resolve)
      // the process must not end before the log is closed
      this.socket.ref()
      this.end()
    })
  }

  /** What it has sent and is not stored yet comes again on its next connection. */
  over () {
    if (this.isOver) return
    this.isOver = true
    this.received = []
    this.server.leave(this)
  }
}

module.exports = { Session }
