'use strict'

// One connection to the owner, as the owner sees it: checks what a client sends, queues it
// for the intake, and answers. Whatever is not as docs/protocol.md says ends the
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

/**
 * @typedef {import('./intake').Batch} Batch
 * @typedef {import('./intake').Asked} Asked
 */

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
    /** Waits for the intake. @type {Array<Batch | Asked>} */
    this.queue = []
    /** What was received and not answered: records and bytes of data in APPENDs, and bytes of the window. */
    this.inFlight = { records: 0, bytes: 0, cost: 0 }
    this.appended = { records: 0, bytes: 0 }
    /** What is to be sent. @type {Buffer[]} */
    this.answers = []

    socket.on('data', (chunk) => this.ondata(/** @type {Buffer} */ (chunk)))
    socket.on('drain', () => this.resume())
    socket.on('error', () => {})
    socket.on('close', () => this.over())
  }

  // Input

  /** @param {Buffer} chunk */
  ondata (chunk) {
    if (this.isOver) return
    try {
      this.reader.push(chunk)
    } catch (err) {
      if (/** @type {any} */ (err).code === 'flumelog:protocol') return this.refuse(/** @type {Error} */ (err))
      // a bug of this side, which the client is not told: it sends everything again on its next connection
      rethrowLater(err)
      this.over()
      this.socket.destroy()
    }
  }

  /**
   * @param {number} type
   * @param {Buffer} body
   */
  onframe (type, body) {
    // when the log is closing, clients may leave, and do nothing else
    if (this.isOver || (this.server.isClosing && type !== frames.BYE)) return
    if (type === frames.PING) return this.onping()
    if (this.hello === null) {
      if (type !== frames.HELLO) throw errors.protocol(`the first frame is of type ${type}; it should be HELLO`)
      this.hello = frames.decode(type, body)
      return this.server.greet(this)
    }
    if (type === frames.HELLO) throw errors.protocol('HELLO came twice')
    if (type === frames.BYE) return this.onbye()
    if (!this.isWelcome) throw errors.protocol(`a frame of type ${type} came before WELCOME`)
    if (type === frames.APPEND) this.onappend(frames.decodeAppend(body), body.length + frames.HEADER_SIZE)
    else if (type === frames.REQUEST) this.enqueue({ ...frames.decode(type, body), cost: frames.REQUEST_COST })
  }

  /**
   * @param {import('./frames').AppendHeader & { records: Buffer }} append
   * @param {number} size of the frame
   */
  onappend ({ first, count, answered, flags, after, records }, size) {
    const client = /** @type {import('./known-clients').KnownClient} */ (this.client)
    // not the last one compared with the maximum: sums above it are rounded
    if (count === 0 || first === 0 || count - 1 > Number.MAX_SAFE_INTEGER - first) throw errors.protocol(`APPEND has ${count} records from number ${first} on`)
    if (first <= client.highest) throw errors.protocol(`record ${first} came after record ${client.highest}`)
    client.forget(answered)
    if (client.runs.length > MAX_RUNS) throw errors.protocol(`${client.runs.length} runs have not been confirmed by the client; the maximum is ${MAX_RUNS}`)
    const isAtomic = (flags & frames.ATOMIC) !== 0
    this.server.checkRecords(records, count, isAtomic)
    client.highest = first + count - 1
    const bytes = records.length - count * layout.FRAME_SIZE
    const cost = Math.max(size, frames.MIN_APPEND_COST)
    this.enqueue({ records, first, count, bytes, isForced: (flags & frames.FORCED) !== 0, isAtomic, after, cost })
    this.inFlight.records += count
    this.inFlight.bytes += bytes
  }

  /** @param {Batch | Asked} item */
  enqueue (item) {
    const { inFlight, queue } = this
    // one that is larger may be alone
    if (inFlight.cost > 0 && inFlight.cost + item.cost > frames.WINDOW) throw errors.protocol(`${inFlight.cost + item.cost} bytes are in flight; the maximum is ${frames.WINDOW}`)
    inFlight.cost += item.cost
    queue.push(item)
    if (queue.length === 1) this.server.intake.add(this)
  }

  /** At once, whatever is held back: the client asks whether anybody is there. */
  onping () {
    if (this.isStalled) return this.answer(frames.encode(frames.PONG))
    this.socket.write(frames.encode(frames.PONG))
    if (this.isStalled) this.socket.pause()
  }

  onbye () {
    if (this.client !== null) this.client.isLeaving = true
    this.over()
    this.hangUp()
  }

  // Output

  /** @param {import('./frames').Welcome} welcome */
  welcome (welcome) {
    this.isWelcome = true
    // without the timer of other answers
    this.answers.push(frames.welcome(welcome))
    this.server.flushNow(this)
  }

  /**
   * A batch is stored.
   * @param {Batch} batch
   * @param {import('./frames').Run} run
   */
  stored (batch, run) {
    const { count, bytes } = batch
    this.decided(batch)
    this.appended.records += count
    this.appended.bytes += bytes
    this.answer(frames.ack(run))
  }

  /**
   * A batch is not stored, because of its condition.
   * @param {Batch} batch
   * @param {import('./frames').Conflict} conflict
   */
  refused (batch, conflict) {
    this.decided(batch)
    this.answer(frames.encode(frames.CONFLICT, conflict))
  }

  /** @param {Batch} batch that is not in flight any more */
  decided ({ count, bytes, cost }) {
    const { inFlight } = this
    inFlight.records -= count
    inFlight.bytes -= bytes
    inFlight.cost -= cost
  }

  /**
   * A batch is not stored, and no other one that has no ACK. The connection ends, so that the client knows which ones these are.
   * @param {Error} err
   */
  failed (err) {
    this.end(frames.encode(frames.NACK, { error: err }))
  }

  /**
   * @param {Asked} asked
   * @param {Error | null} err
   * @param {import('./requests').Result} [result]
   */
  reply ({ request, cost }, err, result) {
    this.inFlight.cost -= cost
    this.answer(frames.encode(frames.REPLY, err === null ? { request, result } : { request, error: err }))
  }

  /** @param {Buffer} bytes */
  answer (bytes) {
    if (this.isEnded) return
    this.answers.push(bytes)
    this.server.flushSoon(this)
  }

  flush () {
    // a client that takes nothing gets it later: here it takes less memory
    if (this.isEnded || this.isStalled || this.answers.length === 0) return
    this.socket.write(Buffer.concat(this.answers.splice(0)))
    if (this.isStalled) this.socket.pause()
  }

  /** Answers may be held back, this is not. But a client that is not welcome yet, or takes nothing, is told later. */
  look () {
    if (this.isWelcome && !this.isEnded && !this.isStalled) this.socket.write(frames.encode(frames.LOOK))
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
  resume () {
    this.socket.resume()
    this.look()
    this.server.flushSoon(this)
  }

  // Ends

  /**
   * Ends the connection of a client that does not keep to the protocol.
   * @param {Error} err
   */
  refuse (err) {
    if (this.isOver) return
    if (/** @type {import('../errors').LogError} */ (err).code === 'flumelog:protocol') this.server.refusals++
    this.over()
    this.hangUp(frames.encode(frames.REFUSED, { error: err }))
  }

  /**
   * Sends all answers, and ends the connection; the client connects again.
   * @param {Buffer} [bytes] the last ones for the client
   */
  end (bytes = Buffer.alloc(0)) {
    if (this.isOver) return
    const answers = this.answers.splice(0)
    this.over()
    this.hangUp(Buffer.concat([...answers, bytes]))
  }

  /** @param {Buffer} [bytes] the last ones for the client */
  hangUp (bytes = Buffer.alloc(0)) {
    const { socket, server } = this
    if (!socket.writableEnded) socket.end(bytes)
    // for the end of the other side
    socket.resume()
    server.clock.setTimeout(() => socket.destroy(), REFUSAL_TIMEOUT).unref()
  }

  /** @returns {Promise<void>} resolves when the client has been sent everything */
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
    this.queue = []
    this.answers = []
    this.server.leave(this)
  }
}

module.exports = { Session }
