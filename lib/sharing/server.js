'use strict'

// What the owner of a shared log does for its clients: greets them, hands what they send
// to the intake, and tells them what is stored, and when to look at the file.

const layout = require('../format/layout')
const errors = require('../errors')
const { SingleTimer } = require('../clock')
const { WINDOW } = require('./frames')
const { Intake } = require('./intake')
const { Session } = require('./session')

/** Milliseconds between two LOOKs. */
const LOOK_INTERVAL = 2
/** Connections at a time. */
const MAX_SESSIONS = 1024
/** With those that were refused and are not closed yet: each takes a file descriptor. */
const MAX_CONNECTIONS = 2 * MAX_SESSIONS
/** Milliseconds that closing waits for clients to take their last answers. */
const CLOSE_TIMEOUT = 1000

/**
 * @typedef {{ hold: (isHeld: boolean) => void, close: () => Promise<void> }} Listener of an Address
 *
 * @typedef {object} OpenLog what the server needs of a log that is open for writing
 * @property {import('../write/writer').Writer} writer
 * @property {import('../read/block-cache').BlockCache} blocks
 * @property {(seq: unknown) => Error | null} problemOf why a record cannot be deleted
 * @property {import('./requests').Compact} compact
 * @property {string} id of the log
 */

class Server {
  /**
   * @param {{ ackInterval: number, filename: string | null }} options
   * @param {import('./known-clients').KnownClients} clients
   * @param {import('../clock').Clock} clock
   */
  constructor ({ ackInterval, filename }, clients, clock) {
    this.ackInterval = ackInterval
    this.filename = filename
    this.clients = clients
    this.clock = clock
    /** @type {Set<Session>} */
    this.sessions = new Set()
    this.connections = 0
    /** @type {OpenLog | null} */
    this.log = null
    /** Set when the log is open. @type {Intake} */
    this.intake = /** @type {any} */ (null)
    /** Connections that were ended because of what they had sent. */
    this.refusals = 0
    /** Called when no client is behind a compaction. @type {(() => void) | null} */
    this.onfollowed = null
    /** Those with something to send. @type {Set<Session>} */
    this.due = new Set()
    this.isFlushing = false
    this.lastLook = -Infinity
    this.lookTimer = new SingleTimer(clock, () => this.look())
    /** @type {Listener | null} */
    this.listener = null
    this.isClosing = false
    this.flush = this.flush.bind(this)
  }

  /** @param {import('net').Socket} socket */
  accept (socket) {
    if (this.isClosing || this.connections === MAX_CONNECTIONS) {
      socket.destroy()
      return
    }
    this.connections++
    socket.once('close', () => { this.connections-- })
    socket.unref()
    const session = new Session(this, socket)
    this.sessions.add(session)
    if (this.sessions.size > MAX_SESSIONS) session.refuse(errors.tooManyClients(this.filename, MAX_SESSIONS))
  }

  /**
   * @param {OpenLog} log is open: clients are let in
   * @param {(intake: Intake) => void} first has what comes before what they send
   */
  open (log, first) {
    this.log = log
    this.intake = new Intake(log.writer, this.clients, this.clock, log.problemOf, log.compact)
    first(this.intake)
    for (const session of this.sessions) if (session.hello !== null) this.greet(session)
  }

  /** @param {Session} session that has said HELLO; if the log is not open, it has to wait */
  greet (session) {
    const hello = /** @type {import('./frames').Hello} */ (session.hello)
    if (this.log === null) return
    // it has to follow a compaction first
    if (hello.log !== null && hello.log !== this.log.id) return session.end()
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
    const { blocks, id } = /** @type {OpenLog} */ (this.log)
    client.highest = client.stored
    session.welcome({
      checksum: blocks.checksum,
      isUnknown,
      blockSize: blocks.blockSize,
      window: WINDOW,
      runs: client.runs,
      id
    })
  }

  /**
   * @param {Buffer} records with their lengths
   * @param {number} count
   * @param {boolean} isAtomic
   * @throws flumelog:protocol
   */
  checkRecords (records, count, isAtomic) {
    const { blockSize, checksum } = /** @type {OpenLog} */ (this.log).blocks
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

  // Answers

  /** @param {Session} session which has something to send */
  flushSoon (session) {
    this.due.add(session)
    if (this.isFlushing) return
    this.isFlushing = true
    if (this.ackInterval === 0) process.nextTick(this.flush)
    else this.clock.setTimeout(this.flush, this.ackInterval).unref()
  }

  /** @param {Session} session which is to be sent everything at once, whatever is held back */
  flushNow (session) {
    this.due.delete(session)
    session.flush()
  }

  flush () {
    this.isFlushing = false
    for (const session of [...this.due]) this.flushNow(session)
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
   * @param {import('../space/offset-map').OffsetMap} map
   * @param {number} distance by which what is not acknowledged has moved
   */
  moved (map, distance) {
    const log = /** @type {OpenLog} */ (this.log)
    log.id = map.id
    this.clients.moved(log.writer.acknowledged, distance)
    for (const session of [...this.sessions]) if (session.hello !== null) session.end()
  }

  /** A client has followed, or does not come back. */
  followed () {
    if (!this.clients.hasBehind) this.onfollowed?.()
  }

  /**
   * Only the map from before the last compaction is kept, so clients have to follow one before the next.
   * @param {number} timeout milliseconds after which those that do not are left behind
   * @returns {Promise<void>}
   */
  async whenFollowed (timeout) {
    if (!this.clients.hasBehind) return
    /** @type {import('../clock').Timer | null} */
    let timer = null
    await new Promise(resolve => {
      this.onfollowed = () => resolve(null)
      timer = this.clock.setTimeout(() => resolve(null), timeout)
    })
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
    this.due.delete(session)
    if (session.client !== null && session.client.session === session) this.clients.leave(session.client)
  }

  /** Clients are sent away: they go on with the next owner. Resolves when they have been told all that was stored. */
  async close () {
    this.isClosing = true
    this.lookTimer.stop()
    // a socket that cannot be removed is replaced by the next owner
    await this.listener?.close().catch(() => {})
    this.intake?.stop()
    const { log } = this
    // without the errors of appends that had no callback: they are for callers of this process
    if (log !== null) await new Promise(resolve => log.writer.wait(false, resolve, false))
    this.flush()
    const ended = [...this.sessions].map(session => session.closed())
    /** @type {import('../clock').Timer | null} */
    let timer = null
    const late = new Promise(resolve => { timer = this.clock.setTimeout(() => resolve(null), CLOSE_TIMEOUT) })
    await Promise.race([Promise.all(ended), late])
    this.clock.clearTimeout(timer)
    for (const session of [...this.sessions]) session.socket.destroy()
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
