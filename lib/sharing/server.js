'use strict'

// What the owner of a shared log does for its clients: greets them, hands what they send
// to the writer, and tells them what is stored, and when to look at the file.

const layout = require('../format/layout')
const errors = require('../errors')
const { callBack } = require('../callbacks')
const { SingleTimer } = require('../clock')
const { problemOf } = require('../read/get')
const { onAbort } = require('../signal')
const frames = require('./frames')
const { Session } = require('./session')

/** Milliseconds between two LOOKs. */
const LOOK_INTERVAL = 2

/**
 * @typedef {{ hold: (isHeld: boolean) => void, close: () => Promise<void> }} Listener of an Address
 *
 * @typedef {object} OpenLog what the server needs of a log that is open for writing
 * @property {import('../write/writer').Writer} writer
 * @property {(id: string) => Promise<import('../space/types').Compacted>} compact the log that has this id
 *
 * @typedef {Omit<import('./frames').AppendHeader, 'answered'> & { records: Buffer }} Batch records of one frame, with their lengths: all of them are stored, in a row, or none
 * @typedef {import('./frames').Asked} Asked
 * @typedef {(type: number, message: any) => void} Answer sends a frame of this type
 */

class Server {
  /**
   * @param {import('./known-clients').KnownClients} clients
   * @param {import('../clock').Clock} clock
   */
  constructor (clients, clock) {
    this.clients = clients
    this.clock = clock
    /** @type {Set<Session>} */
    this.sessions = new Set()
    /** @type {OpenLog | null} */
    this.log = null
    /** Connections that were ended because of what they had sent. */
    this.refusals = 0
    /** Called when no client is behind a compaction. @type {(() => void) | null} */
    this.onfollowed = null
    this.isTaking = false
    this.lastLook = -Infinity
    this.lookTimer = new SingleTimer(clock, () => this.look())
    /** @type {Listener | null} */
    this.listener = null
    this.isClosing = false
    this.take = this.take.bind(this)
  }

  /** @param {import('net').Socket} socket */
  accept (socket) {
    if (this.isClosing) {
      socket.destroy()
      return
    }
    socket.unref()
    this.sessions.add(new Session(this, socket))
  }

  /**
   * @param {OpenLog} log is open: clients are let in
   * @param {() => void} first appends what comes before what they send
   */
  open (log, first) {
    this.log = log
    first()
    for (const session of this.sessions) if (session.hello !== null) this.greet(session)
  }

  /** @param {Session} session that has said HELLO; if the log is not open, it has to wait */
  greet (session) {
    const hello = /** @type {import('./frames').Hello} */ (session.hello)
    if (this.log === null) return
    // it has to follow a compaction first
    if (hello.log !== null && hello.log !== this.log.writer.blocks.id) return session.end()
    let known
    try {
      known = this.clients.welcome(hello)
    } catch (err) {
      return session.refuse(/** @type {Error} */ (err))
    }
    const { client, isUnknown } = known
    // a connection that was broken is still there for this side
    const before = client.session
    before?.over()
    before?.socket.destroy()
    client.session = session
    session.client = client
    this.followed()
    // what it has sent before is stored first, or not: then it can be told which
    if (client.packed.length > 0) this.log.writer.wait(false, () => this.welcome(session, isUnknown), false)
    else this.welcome(session, isUnknown)
  }

  /**
   * @param {Session} session
   * @param {boolean} isUnknown
   */
  welcome (session, isUnknown) {
    const client = /** @type {import('./known-clients').KnownClient} */ (session.client)
    if (session.isOver || client.session !== session) return
    const { id, checksum, blockSize } = /** @type {OpenLog} */ (this.log).writer.blocks
    client.highest = client.stored
    session.isWelcome = true
    session.answer(frames.WELCOME, { version: frames.VERSION, checksum, isUnknown, blockSize, window: frames.WINDOW, runs: client.runs, id })
  }

  // What clients send

  /** When everything that has arrived in this turn is there, so that it shares a write. */
  takeSoon () {
    if (this.isTaking) return
    this.isTaking = true
    this.clock.setImmediate(this.take)
  }

  take () {
    this.isTaking = false
    for (const session of [...this.sessions]) session.take()
  }

  /**
   * @param {import('./known-clients').KnownClient} client
   * @param {Batch} batch
   * @param {Answer} answer NACK: so do all batches of this client that are not stored
   */
  append (client, batch, answer) {
    const { writer } = /** @type {OpenLog} */ (this.log)
    const { appender, packer } = writer
    const { first, count, after, flags, records } = batch
    if (appender.refusal !== null) return answer(frames.NACK, { error: appender.refusal })
    if (after !== null && appender.lastAppended !== after) {
      appender.whenLastIsStored(error => error ? answer(frames.NACK, { error }) : answer(frames.CONFLICT, { first, count, seq: appender.lastSeq, end: writer.acknowledged }))
      return
    }
    const seq = appender.appendFramed(records, count, (flags & frames.SYNC) !== 0, (flags & frames.ATOMIC) !== 0, (error) => {
      if (error) return answer(frames.NACK, { error })
      client.addStored()
      answer(frames.ACK, run)
    })
    const run = { first, count, seq, end: packer.end }
    this.clients.addRun(client, run)
  }

  /**
   * @param {Asked} asked
   * @param {Answer} answer
   */
  execute ({ request, ask }, answer) {
    const { writer, compact } = /** @type {OpenLog} */ (this.log)
    /** @type {(err?: Error | null, result?: any) => void} */
    const cb = (error, result) => {
      // the owner closes the log, not the client, which asks the next owner
      if (ask.op === 'compact' && /** @type {any} */ (error)?.code === 'flumelog:closed') return
      answer(frames.REPLY, error ? { request, error } : { request, result })
    }
    switch (ask.op) {
      // errors of appends without a callback are for callers of this process
      case 'sync': return writer.sync(cb, false)
      case 'trim': return writer.trim(ask.offset, cb)
      case 'compact': return callBack(compact(ask.id), cb)
      case 'delete': {
        const problem = problemOf(writer.blocks, ask.seq)
        // of what was trimmed, the writer says so once that is recorded, so that no crash brings the record back
        return problem === null || problem.code === 'flumelog:trimmed' ? writer.delete(ask.seq, cb) : process.nextTick(cb, problem)
      }
      case 'deleteRange': {
        const last = Math.min(ask.last, writer.blocks.end - 1)
        return last < ask.first ? process.nextTick(cb) : writer.deleteRange(ask.first, last, cb)
      }
    }
  }

  /**
   * @param {Buffer} records with their lengths
   * @param {number} count
   * @param {boolean} isAtomic
   * @throws flumelog:protocol
   */
  checkRecords (records, count, isAtomic) {
    const { blockSize, checksum } = /** @type {OpenLog} */ (this.log).writer.blocks
    const most = layout.maxRecordSize(blockSize, checksum)
    if (isAtomic && records.length > most + layout.FRAME_SIZE) {
      throw errors.protocol(`an atomic batch of ${records.length} bytes does not fit a block of ${blockSize}`)
    }
    let position = 0
    let found = 0
    while (position < records.length) {
      const problem = recordProblem(records, position, most)
      if (problem !== null) throw errors.protocol(`record ${found} of a frame: ${problem}`)
      position = layout.nextPosition(records, position)
      found++
    }
    if (found !== count) throw errors.protocol(`a frame has ${found} records, but its count is ${count}`)
  }

  /** More is in the log, or less. */
  changed () {
    if (this.isClosing || this.lookTimer.isRunning || this.sessions.size === 0) return
    const wait = this.lastLook + LOOK_INTERVAL - this.clock.now()
    this.lookTimer.start(Math.max(0, Math.ceil(wait)))
  }

  look () {
    this.lastLook = this.clock.now()
    for (const session of this.sessions) session.look()
  }

  /**
   * The log is another file from now on; the writer is about to move there. Clients connect again when they have followed.
   * @param {number} distance by which what is not acknowledged has moved
   */
  moved (distance) {
    this.clients.moved(/** @type {OpenLog} */ (this.log).writer.acknowledged, distance)
    for (const session of [...this.sessions]) if (session.hello !== null) session.end()
  }

  /** A client has followed, or does not come back. */
  followed () {
    if (!this.clients.hasBehind) this.onfollowed?.()
  }

  /**
   * Only the map from before the last compaction is kept, so clients have to follow one before the next.
   * @param {number} timeout milliseconds after which those that do not are left behind
   * @param {AbortSignal} signal ends the wait
   * @returns {Promise<void>}
   */
  async whenFollowed (timeout, signal) {
    if (!this.clients.hasBehind || signal.aborted) return
    /** @type {import('../clock').Timer | null} */
    let timer = null
    let stopListening = () => {}
    await new Promise(resolve => {
      this.onfollowed = () => resolve(null)
      timer = this.clock.setTimeout(() => resolve(null), timeout)
      stopListening = onAbort(signal, () => resolve(null))
    })
    stopListening()
    this.onfollowed = null
    this.clock.clearTimeout(timer)
  }

  /** @param {boolean} isHeld whether the listener keeps the process alive */
  hold (isHeld) {
    this.listener?.hold(isHeld)
  }

  // Ends

  /** @param {Session} session */
  leave (session) {
    this.sessions.delete(session)
    if (session.client !== null && session.client.session === session) this.clients.leave(session.client)
  }

  /** Clients are sent away: they go on with the next owner. Resolves when they have been told all that was stored. */
  async close () {
    this.isClosing = true
    this.lookTimer.stop()
    // a socket that cannot be removed is replaced by the next owner
    await this.listener?.close().catch(() => {})
    const { log } = this
    // without the errors of appends that had no callback: they are for callers of this process
    if (log !== null) await new Promise(resolve => log.writer.wait(false, resolve, false))
    await Promise.all([...this.sessions].map(session => session.closed()))
  }

  /** @returns {import('../types').ClientStats[]} */
  stats () {
    return [...this.sessions].filter(({ isWelcome }) => isWelcome).map(({ client, hello, inFlight, appended }) => ({
      id: /** @type {import('./known-clients').KnownClient} */ (client).id,
      pid: Number(hello?.pid),
      appended: { ...appended },
      inFlight: { records: inFlight.records, bytes: inFlight.bytes }
    }))
  }
}

/**
 * @param {Buffer} records
 * @param {number} position where one should start
 * @param {number} most bytes of data
 * @returns {string | null}
 */
function recordProblem (records, position, most) {
  if (position + layout.FRAME_SIZE >= records.length) return `${records.length - position} bytes are left, too few for a record`
  const length = layout.readLength(records, position)
  const end = position + layout.FRAME_SIZE + length
  if (length === 0 || length > most) return `its length is ${length}; it should be from 1 to ${most}`
  if (end > records.length) return `its length is ${length}, but ${records.length - position} bytes are left`
  if (layout.readLength(records, end - layout.LENGTH_SIZE) !== length) return 'the length behind it is not the one in front of it'
  if (records[position + layout.LENGTH_SIZE] === 0 && layout.isDeleted(records, position)) return 'it is all zeros'
  return null
}

module.exports = { Server }
