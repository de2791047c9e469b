'use strict'

// One connection to the owner, as the owner sees it: checks what a client sends, queues it
// for the intake, and answers. Whatever is not as docs/protocol.md says ends the
// connection, and nothing else.

const layout = require('../format/layout')
const errors = require('../errors')
const { rethrowLater } = require('../callbacks')
const frames = require('./frames')
const { movedAsk } = require('./requests')
const { FrameReader } = require('./frame-reader')

/** Bytes of APPENDs that a client may have on their way. */
const WINDOW = 1024 * 1024
/** Frames that are acknowledged, and for which the client has not said yet that it knows; it has as many on their way. */
const MAX_RUNS = 2 * frames.MAX_APPENDS
/** Bytes of answers that the client has not taken, beyond which nothing more is read from it. */
const MAX_UNSENT = 256 * 1024
/** Milliseconds until a connection that is over is cut, whether the client has read why or not. */
const REFUSAL_TIMEOUT = 1000

/**
 * @typedef {import('./frames').Run} Run
 *
 * @typedef {object} Batch records of one frame: all of them are stored, in a row, or none
 * @property {Buffer} records with their lengths
 * @property {number} first number of the first one
 * @property {number} count
 * @property {number} bytes of data
 * @property {boolean} isForced
 * @property {boolean} isAtomic
 * @property {number} size bytes of the frame
 *
 * @typedef {{ batch: Batch } | { request: number, ask: import('./requests').Ask }} Item
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
    /** Who it is; null: HELLO has not come. @type {import('./known-clients').KnownClient | null} */
    this.client = null
    this.pid = 0
    /** Whether WELCOME was sent. */
    this.isWelcome = false
    /** Whether HELLO has come. */
    this.isGreeted = false
    this.isOver = false
    this.epoch = 1
    /** Waits for the intake. @type {Item[]} */
    this.queue = []
    /** APPENDs that were received and not answered. */
    this.inFlight = { frames: 0, records: 0, bytes: 0, size: 0 }
    this.requestsInFlight = 0
    this.appended = { records: 0, bytes: 0 }
    /** Set until the client says that it has moved to the file where the log is now: what it asks for has offsets from before. @type {import('../space/offset-map').OffsetMap | null} */
    this.behind = null

    // What is to be sent
    /** @type {Buffer | null} */
    this.greeting = null
    /** @type {Run[]} */
    this.acks = []
    /** @type {Buffer[]} */
    this.answers = []
    /** @type {Error | null} */
    this.failure = null
    /** Whether the log has changed since the client was last told. */
    this.mustLook = false

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
    if (!this.isGreeted) {
      if (type !== frames.HELLO) throw errors.protocol(`the first frame is of type ${type}; it should be HELLO`)
      return this.onhello(frames.decode(type, body))
    }
    if (type === frames.HELLO) throw errors.protocol('HELLO came twice')
    if (type === frames.BYE) return this.onbye()
    if (!this.isWelcome) throw errors.protocol(`a frame of type ${type} came before WELCOME`)
    switch (type) {
      case frames.APPEND: return this.onappend(frames.decodeAppend(body), body.length + frames.HEADER_SIZE)
      case frames.REQUEST: return this.onrequest(frames.decode(type, body))
      case frames.FOLLOWED: return this.onfollowed()
    }
  }

  /** @param {import('./frames').Hello} hello */
  onhello (hello) {
    this.pid = hello.pid
    this.isGreeted = true
    this.server.greet(this, hello)
  }

  /**
   * @param {import('./frames').AppendHeader & { records: Buffer }} append
   * @param {number} size of the frame
   */
  onappend ({ epoch, first, count, answered, flags, records }, size) {
    const client = /** @type {import('./known-clients').KnownClient} */ (this.client)
    // it has not heard yet that appends have failed, and so will these
    if (epoch !== this.epoch) return
    // not `last` compared with the maximum: sums above it are rounded
    if (count === 0 || first === 0 || count - 1 > Number.MAX_SAFE_INTEGER - first) throw errors.protocol(`APPEND has ${count} records from number ${first} on`)
    const last = first + count - 1
    if (last <= client.highest) throw errors.protocol(`record ${last} came after record ${client.highest}`)
    client.forget(answered)
    if (client.runs.length > MAX_RUNS) throw errors.protocol(`${client.runs.length} acknowledged frames have not been confirmed by the client; the maximum is ${MAX_RUNS}`)
    const { inFlight } = this
    if ((inFlight.size > 0 && inFlight.size + size > WINDOW) || inFlight.frames === frames.MAX_APPENDS) {
      throw errors.protocol(`${inFlight.size + size} bytes in ${inFlight.frames + 1} frames are in flight; the maximum is ${WINDOW} in ${frames.MAX_APPENDS}`)
    }
    const isAtomic = (flags & frames.ATOMIC) !== 0
    this.server.checkRecords(records, count, isAtomic)
    // records that an earlier owner has stored, or this one over an earlier connection
    const known = Math.max(0, client.highest - first + 1)
    const start = skip(records, known)
    client.highest = last
    const batch = {
      records: records.subarray(start),
      first: first + known,
      count: count - known,
      bytes: records.length - start - (count - known) * layout.FRAME_SIZE,
      isForced: (flags & frames.FORCED) !== 0,
      isAtomic,
      size
    }
    inFlight.frames++
    inFlight.records += batch.count
    inFlight.bytes += batch.bytes
    inFlight.size += batch.size
    this.enqueue({ batch })
  }

  /** @param {{ request: number, ask: import('./requests').Ask }} asked */
  onrequest ({ request, ask }) {
    if (this.requestsInFlight === frames.MAX_REQUESTS) throw errors.protocol(`more than ${frames.MAX_REQUESTS} requests are pending`)
    this.requestsInFlight++
    this.enqueue({ request, ask: this.behind === null ? ask : movedAsk(ask, this.behind) })
  }

  onfollowed () {
    this.behind = null
    this.server.followed()
  }

  /** @param {Item} item */
  enqueue (item) {
    this.queue.push(item)
    if (this.queue.length === 1) this.server.intake.add(this)
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
    this.greeting = frames.welcome(welcome)
    process.nextTick(() => this.server.flushNow(this))
  }

  /**
   * A batch is stored.
   * @param {Batch} batch
   * @param {Run} run
   */
  stored ({ count, bytes, size }, run) {
    const { inFlight, appended } = this
    inFlight.frames--
    inFlight.records -= count
    inFlight.bytes -= bytes
    inFlight.size -= size
    appended.records += count
    appended.bytes += bytes
    this.acks.push(run)
    this.server.flushSoon(this)
  }

  /**
   * A batch is not stored, and no other one that was received by now.
   * @param {Error} err
   */
  failed (err) {
    if (this.failure === null) this.epoch++
    this.failure ??= err
    this.queue = this.queue.filter(item => 'request' in item)
    this.inFlight = { frames: 0, records: 0, bytes: 0, size: 0 }
    this.server.flushSoon(this)
  }

  /**
   * @param {number} request
   * @param {Error | null} err
   * @param {import('./requests').Result} [result]
   */
  reply (request, err, result) {
    this.requestsInFlight--
    this.answer(frames.encode(frames.REPLY, err === null ? { request, result } : { request, error: err }))
  }

  /** @param {Buffer} bytes */
  answer (bytes) {
    this.answers.push(bytes)
    this.server.flushSoon(this)
  }

  flush () {
    // a client that takes nothing gets it later: here it takes less memory
    if (this.isEnded || this.isStalled) return
    const buffers = this.takeFrames()
    if (buffers.length === 0) return
    this.socket.write(buffers.length === 1 ? buffers[0] : Buffer.concat(buffers))
    if (this.isStalled) this.socket.pause()
  }

  /** @returns {Buffer[]} all that is to be sent */
  takeFrames () {
    const buffers = []
    if (this.greeting !== null) buffers.push(this.greeting)
    this.greeting = null
    if (this.mustLook) buffers.push(frames.encode(frames.LOOK, { changed: true }))
    this.mustLook = false
    for (const run of this.acks) buffers.push(frames.ack(run))
    this.acks = []
    if (this.failure !== null) buffers.push(frames.encode(frames.NACK, { epoch: this.epoch, error: this.failure }))
    this.failure = null
    buffers.push(...this.answers)
    this.answers = []
    return buffers
  }

  /**
   * The log is another file from now on: all that has been said until now, with offsets from before, comes first.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  moved (map) {
    this.queue = this.queue.map(item => 'ask' in item ? { ...item, ask: movedAsk(item.ask, map) } : item)
    if (!this.isWelcome || this.isEnded) return
    // even if the client takes nothing: afterwards it could not be told in this order
    this.socket.write(Buffer.concat([...this.takeFrames(), frames.encode(frames.COMPACTED, { id: map.id })]))
    this.behind = map
  }

  /**
   * Answers may be held back, this is not. But a client that is not welcome yet, or takes nothing, is told later.
   * @param {boolean} isChanged records were deleted, or blocks trimmed; false: there is only more in the log
   */
  look (isChanged) {
    if (!this.isWelcome || this.isEnded) return
    if (this.greeting === null && !this.isStalled) this.socket.write(frames.encode(frames.LOOK, { changed: isChanged }))
    else this.mustLook = true
  }

  /** Whether the last bytes for the client were written. */
  get isEnded () {
    return this.isOver || this.socket.writableEnded
  }

  /** Whether the client does not take its answers. */
  get isStalled () {
    return this.socket.writableLength > MAX_UNSENT
  }

  resume () {
    this.socket.resume()
    this.server.flushSoon(this)
  }

  // Ends

  /**
   * Ends the connection of a client that does not keep to the protocol.
   * @param {Error} err
   */
  refuse (err) {
    const { server } = this
    if (this.isOver) return
    if (/** @type {import('../errors').LogError} */ (err).code === 'flumelog:protocol') server.refusals++
    this.over()
    this.hangUp(frames.encode(frames.REFUSED, { error: err }))
  }

  /** @param {Buffer} [bytes] the last ones for the client */
  hangUp (bytes = Buffer.alloc(0)) {
    const { socket, server } = this
    if (!socket.writableEnded) socket.end(bytes)
    // for the end of the other side
    socket.resume()
    server.clock.setTimeout(() => socket.destroy(), REFUSAL_TIMEOUT).unref()
  }

  /** The log is closing: what is not with the writer yet, the client sends to the next owner. */
  stop () {
    this.queue = []
  }

  /** @returns {Promise<void>} resolves when the client has been sent everything */
  end () {
    return new Promise(resolve => {
      this.socket.once('close', resolve)
      // the process must not end before the log is closed
      this.socket.ref()
      this.socket.end()
      // for the end of the other side
      this.socket.resume()
    })
  }

  /** What it has sent and is not stored yet comes again on its next connection. */
  over () {
    if (this.isOver) return
    this.isOver = true
    this.queue = []
    this.server.leave(this)
  }
}

/**
 * @param {Buffer} records
 * @param {number} count
 * @returns {number} the position behind as many of them
 */
function skip (records, count) {
  let position = 0
  for (; count > 0; count--) position = layout.nextPosition(records, position)
  return position
}

module.exports = { Session, WINDOW }
