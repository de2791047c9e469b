'use strict'

// One process's part in a shared log. The process that gets the lock is the owner: it
// writes the file, and serves the others. The others are clients, until the owner is
// gone and one of them gets the lock:
//
//     joining   tries to get the lock, else to connect; again and again     owner; client
//     client    sends what it appends to the owner, follows the file        joining (connection lost)
//     owner     writes the file, serves clients                             -
//
// What callers see does not depend on it: while there is no owner, calls wait.

const { randomBytes } = require('crypto')
const errors = require('../errors')
const { promised } = require('../callbacks')
const { openReader } = require('../space/open-reader')
const { canLock, noLockReason } = require('../storage/lock')
const { Address } = require('./address')
const { adopt } = require('./adopt')
const { Connection } = require('./connection')
const { ID_SIZE } = require('./frames')
const { Owner } = require('./owner')
const { RemoteWriter } = require('./remote-writer')
const { Silence } = require('./silence')

/** Milliseconds between two attempts to get the lock or to connect: the first, doubled each time, up to the last. */
const FIRST_PAUSE = 1
const LAST_PAUSE = 50
/** Milliseconds after which a poll is repeated that has failed. */
const POLL_PAUSE = 50

/**
 * @typedef {import('../opening').Opened} Opened
 * @typedef {import('./frames').Welcome} Welcome
 * @typedef {(err?: Error | null) => void} Done
 */

class Sharing {
  /** @param {import('../opening').Context} context */
  constructor (context) {
    const { file, settings, clock } = context
    this.context = context
    this.file = file
    this.io = file.io
    this.clock = clock
    this.timeout = settings.timeout
    this.address = new Address(file.location.path)
    this.clientId = randomBytes(ID_SIZE).toString('hex')
    /** @type {'owner' | 'client' | null} */
    this.role = null
    /** @type {Opened | null} */
    this.opened = null
    this.remote = new RemoteWriter(file.filename, settings.sync === 'always', {
      onsettled: () => this.updateHold(),
      onacknowledged: (end, seq) => this.acknowledged(end, seq),
      whenSeen: (cb) => this.whenSeen(cb)
    }, settings.large)
    /** @type {Connection | null} */
    this.connection = null
    /** @type {Owner | null} */
    this.owner = null
    /** Why there was no owner when it was last tried. @type {unknown} */
    this.problem = null
    /** Settled when this process is the owner, or cannot be; null: it is not about to. @type {Promise<boolean> | null} */
    this.takeover = null
    this.isClosed = false
    /** Whether a reader waits for what others append. */
    this.isHeld = false
    /** @type {import('../clock').Timer | null} */
    this.pauseTimer = null
    this.silence = new Silence(clock, settings.timeout, {
      onquiet: () => this.connection?.ping(),
      ontimeout: () => this.giveUp()
    })
    this.updateHold()
  }

  /** @returns {Promise<{ opened: Opened, lastSeq: number }>} */
  async open () {
    try {
      await this.io.open()
      if (!canLock) throw errors.cannotShare(this.file.filename, noLockReason)
      await this.join(this.clock.now() + this.timeout)
      return { opened: /** @type {Opened} */ (this.opened), lastSeq: this.lastSeq }
    } catch (err) {
      this.isClosed = true
      this.silence.watch(false)
      this.follower?.close()
      await this.io.close().catch(() => {})
      throw err
    }
  }

  get follower () {
    return this.opened?.follower ?? null
  }

  get lastSeq () {
    return this.follower?.lastSeq ?? this.opened?.writer?.appender.lastSeq ?? -1
  }

  // Joining

  /**
   * @param {number} deadline when to give up, in ms: this is the first time
   * @returns {Promise<void>} when this process is the owner or a client
   */
  async join (deadline = Infinity) {
    const isOpening = deadline !== Infinity
    for (let pause = FIRST_PAUSE; !this.isClosed; pause = Math.min(2 * pause, LAST_PAUSE)) {
      // or the log might become another file under its lock
      await this.follower?.stop()
      if (this.isClosed) return
      if (this.file.tryLock()) {
        this.takeover = this.own(isOpening)
        const isOwner = await this.takeover.finally(() => { this.takeover = null })
        if (isOwner) return
      } else {
        this.follower?.resume()
        if (await this.connect(isOpening)) return
      }
      if (isOpening && this.clock.now() >= deadline) throw this.problem ?? errors.lockedUnshared(this.file.filename, this.timeout)
      await this.pause(pause)
    }
  }

  /**
   * @param {number} milliseconds
   * @returns {Promise<void>}
   */
  pause (milliseconds) {
    return new Promise(resolve => {
      this.pauseTimer = this.clock.setTimeout(resolve, milliseconds * (0.5 + Math.random()))
      this.updateHold()
    })
  }

  /** The connection is lost, or the owner has sent this process away. */
  async rejoin () {
    try {
      await this.join()
    } catch (err) {
      if (!this.isClosed) this.fail(/** @type {Error} */ (err))
    }
  }

  // A client

  /**
   * @param {boolean} isOpening whether this is the first time
   * @returns {Promise<boolean>} whether this process is a client now
   */
  async connect (isOpening) {
    let socket
    try {
      socket = await this.address.connect()
    } catch (err) {
      if (isOpening) throw err
      this.problem = err
      return false
    }
    // it may break at once
    socket?.on('error', () => {})
    // another log may have taken the path, with an owner of its own
    const err = await this.io.checkPath().then(() => null, err => err)
    if (err !== null) {
      socket?.destroy()
      await this.follow(err)
      return false
    }
    if (socket === null || socket.destroyed) return false
    if (this.isClosed) {
      socket.destroy()
      return false
    }
    return this.greet(socket)
  }

  /**
   * @param {import('net').Socket} socket
   * @returns {Promise<boolean>} rejects if the owner refuses this process for good
   */
  async greet (socket) {
    const { remote, silence, clientId, follower } = this
    const connection = new Connection(socket, { id: clientId, answered: remote.acknowledged, log: follower?.blocks.id ?? null, pid: process.pid }, {
      onheard: () => silence.heard(),
      onlook: () => this.follower?.pollSoon(),
      onanswer: (type, message) => remote.onanswer(type, message),
      oninput: () => remote.flush(),
      onclose: () => this.closed(connection)
    })
    this.connection = connection
    this.updateHold()
    // as long as the owner needs to open the log
    const welcome = await connection.welcome
    try {
      if (welcome !== null && await this.enter(connection, welcome)) return true
    } catch (err) {
      connection.leave()
      throw err
    }
    connection.close()
    if (isRefusedForGood(connection)) throw connection.refusal
    this.problem = connection.refusal ?? this.problem
    return false
  }

  /** @param {Connection} connection that is lost, or was ended */
  closed (connection) {
    if (this.connection !== connection) return
    this.connection = null
    // otherwise, `greet` goes on
    if (this.remote.channel !== connection) return
    this.remote.disconnected()
    // what has come before must not be answered after calls that are made from now on
    this.remote.settle()
    this.silence.heard()
    if (isRefusedForGood(connection)) this.fail(/** @type {Error} */ (connection.refusal))
    else if (!this.isClosed) this.rejoin()
  }

  /**
   * @param {Connection} connection
   * @param {Welcome} welcome
   * @returns {Promise<boolean>} false: it is to connect again
   * @throws flumelog:block-size, flumelog:protocol
   */
  async enter (connection, welcome) {
    const { context: { file, settings }, remote } = this
    // or seqs would follow other rules when another process takes over
    if (welcome.checksum !== settings.checksum) throw errors.otherChecksum(file.filename, welcome.checksum)
    if (this.opened === null) await this.openAsClient(welcome)
    else if (welcome.blockSize !== this.opened.blocks.blockSize) {
      throw errors.blockSize(file.filename, this.opened.blocks.blockSize, `the owner has blocks of ${welcome.blockSize} bytes`, welcome.blockSize)
    }
    const isReady = this.follower?.blocks.id === welcome.id && !this.follower.closed
    // it was compacted, or replaced, while it was opened
    if (!isReady && this.role === null) this.forgetOpened()
    if (!isReady || connection.isOver || this.isClosed) return false
    this.problem = null
    this.role = 'client'
    this.follower?.poll()
    remote.connected(welcome, connection)
    remote.settle()
    this.updateHold()
    return true
  }

  /** The owner has not answered for the whole timeout. */
  giveUp () {
    const { context: { file }, connection, remote, timeout } = this
    const error = errors.unreachable(file.filename, timeout, this.problem ?? undefined)
    if (this.role === null && connection !== null) this.problem = error
    remote.giveUp(error)
    connection?.close()
    remote.settle()
  }

  /** @param {Welcome} welcome */
  async openAsClient ({ blockSize }) {
    const { file, context } = this
    const { settings, listeners } = context
    if (settings.blockSize !== undefined && settings.blockSize !== blockSize) {
      throw errors.blockSize(file.filename, settings.blockSize, `the file has blocks of ${blockSize} bytes`, blockSize)
    }
    const opened = await openReader(context, {
      blockSize,
      isClient: true,
      listeners: {
        ...listeners,
        onadvance: (seq) => this.advance(seq),
        onmoved: (map, lastSeq) => this.moved(map, lastSeq),
        // nobody has read anything yet
        onfailure: (err) => this.role === null ? this.forgetOpened() : this.fail(err)
      }
    })
    this.remote.lastSeq = opened.follower.lastSeq
    this.opened = { ...opened, writer: this.remote, sharing: this, cut: null, recovered: 0 }
  }

  /** It is to be opened again. */
  forgetOpened () {
    this.follower?.close()
    this.opened = null
  }

  /**
   * @param {import('../read/follower').Follower} follower
   * @returns {Promise<void>} rejects if trying again is pointless
   */
  async catchUp (follower) {
    try {
      await promised(cb => follower.catchUp(cb))
    } catch (err) {
      if (isFinal(err)) throw err
      // no more file descriptors, for example
      this.problem = err
    }
  }

  /**
   * The log's name leads to another file.
   * @param {any} replaced
   * @returns {Promise<void>} rejects if this process cannot go on in that
   */
  async follow (replaced) {
    const { file, follower } = this
    if (follower !== null) return this.catchUp(follower)
    try {
      if (replaced.code !== 'flumelog:replaced') throw replaced
      file.moveTo(await file.openSuccessor(), 0)
    } catch (err) {
      if (/** @type {any} */ (err).code === 'ENOENT') throw replaced
      this.problem = err
    }
  }

  /**
   * This process has followed a compaction.
   * @param {import('../space/offset-map').OffsetMap} map
   * @param {number} lastSeq
   */
  moved (map, lastSeq) {
    this.remote.moved(map, lastSeq)
    this.context.listeners.onmoved(map, lastSeq)
    // the owner may not have moved yet, and would look for new offsets in the old file
    this.connection?.close()
    this.remote.settle()
  }

  /** @param {number} seq of the last record that readers see */
  advance (seq) {
    // another file has the log since, or this process writes it
    if (seq !== this.follower?.lastSeq) return
    this.remote.lastSeq = seq
    this.context.listeners.onadvance(seq)
  }

  /**
   * Appends of this process are acknowledged.
   * @param {number} end of the last one
   * @param {number} seq
   */
  acknowledged (end, seq) {
    const { follower } = this
    if (follower === null || this.role !== 'client') return
    follower.tell(end, seq)
    this.advance(follower.lastSeq)
  }

  /** @param {() => void} cb called when readers of this process see what the owner has done by now */
  whenSeen (cb) {
    const { follower } = this
    if (follower === null || this.role !== 'client') return cb()
    follower.catchUp((err) => {
      // a log that is closing shows nothing any more
      if (err === null || isFinal(err) || this.remote.appender.refusal !== null) cb()
      else this.clock.setTimeout(() => this.whenSeen(cb), POLL_PAUSE)
    })
  }

  // The owner

  /**
   * This process has the lock.
   * @param {boolean} isOpening
   * @returns {Promise<boolean>} false: it could not open the log, and has released the lock
   */
  async own (isOpening) {
    const { file, context, io } = this
    const owner = new Owner(context)
    try {
      const replaced = await io.checkPath().then(() => null, err => err)
      if (replaced !== null) {
        file.unlock()
        this.follower?.resume()
        await this.follow(replaced)
        return false
      }
      // first, so that the others find the new owner and wait
      await owner.listen(this.address)
      this.become(owner, await owner.open(this.opened))
      return true
    } catch (err) {
      await owner.server.close().catch(() => {})
      file.unlock()
      if (isOpening || isFinal(err)) throw err
      // a full disk, for example
      this.follower?.resume()
      this.problem = err
      return false
    }
  }

  /**
   * @param {Owner} owner
   * @param {Awaited<ReturnType<Owner['open']>>} opened
   */
  become (owner, { blocks, reader, writer, cut, recovered }) {
    const { remote, follower, context: { listeners } } = this
    this.opened = Object.assign(this.opened ?? {}, { blocks, reader, writer, follower: null, sharing: this, cut, recovered })
    const wasClient = this.role === 'client'
    this.owner = owner
    this.role = 'owner'
    owner.serve(() => { if (wasClient) adopt(remote, this.clientId, owner.server) })
    this.updateHold()
    listeners.onrole()
    // only now: what callers append then comes behind, and readers see what they are told of
    listeners.onadvance(writer.appender.lastSeq)
    remote.settle()
    follower?.release()
  }

  // Waiting

  /** @param {boolean} isHeld whether a reader waits for what others append */
  hold (isHeld) {
    this.isHeld = isHeld
    this.follower?.hold(isHeld)
    this.updateHold()
  }

  /** Whether this process has to stay alive for its callers. */
  get mustHold () {
    return this.isHeld || this.remote.isPending || this.role === null
  }

  updateHold () {
    const { mustHold } = this
    this.connection?.hold(mustHold)
    this.owner?.server.hold(this.isHeld)
    if (mustHold) this.pauseTimer?.ref()
    else this.pauseTimer?.unref()
    this.silence.watch(this.role !== 'owner' && !this.isClosed && (this.remote.isPending || this.role === null))
  }

  // Ends

  /** @param {Error} err why this process can do nothing more with the log */
  fail (err) {
    if (this.isClosed || this.role === 'owner') return
    this.isClosed = true
    this.remote.fail(err)
    this.follower?.close()
    this.connection?.close()
    this.context.listeners.onfailure(err)
  }

  /** Whether calls wait for the end of the log to be read. */
  get hasReads () {
    return this.follower !== null && this.follower.waiting.length > 0
  }

  /** @param {() => void} cb called when it is read */
  whenRead (cb) {
    this.follower?.catchUp(() => cb())
  }

  /** Everything that was appended is stored and durable; then another process may become the owner. */
  async close () {
    /** @type {unknown[]} */
    const failures = []
    if (this.role !== 'owner') await promised(cb => this.remote.close(cb)).catch(err => failures.push(err))
    // no turn between the end of a takeover and `isClosed`
    while (this.takeover !== null) await this.takeover.catch(() => {})
    this.isClosed = true
    if (this.owner !== null) await this.owner.close().catch(err => failures.push(err))
    else {
      this.silence.watch(false)
      this.connection?.leave()
    }
    if (failures.length > 0) throw failures[0]
  }
}

/** @param {Connection} connection that is over */
function isRefusedForGood ({ refusal }) {
  return /** @type {any} */ (refusal)?.code === 'flumelog:protocol'
}

/** @param {any} err */
function isFinal (err) {
  return String(err.code).startsWith('flumelog:')
}

module.exports = { Sharing }
