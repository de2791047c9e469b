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

const crypto = require('crypto')
const { promisify } = require('util')
const errors = require('../errors')
const { promised } = require('../callbacks')
const { openReader } = require('../space/open-reader')
const { noLockReason } = require('../storage/lock')
const { promises } = require('../storage/promisified-file')
const { Address } = require('./address')
const { adopt, release } = require('./adopt')
const { Connection } = require('./connection')
const { FOLLOWED, ID_SIZE, encode } = require('./frames')
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
    const { file, settings, limits, clock } = context
    this.context = context
    this.file = file
    this.io = promises(file)
    this.clock = clock
    this.timeout = settings.timeout
    const { path, folder } = /** @type {import('../storage/location').Location} */ (file.location)
    this.path = path
    this.address = new Address(path, folder)
    this.clientId = crypto.randomBytes(ID_SIZE)
    /** Settled when this process reads the file of the owner that has welcomed it last, or cannot. @type {Promise<void>} */
    this.entering = Promise.resolve()
    /** @type {'owner' | 'client' | null} */
    this.role = null
    /** @type {Opened | null} */
    this.opened = null
    this.remote = new RemoteWriter(file.filename, limits, settings.sync === 'always', {
      onpending: () => this.updateHold(),
      onacknowledged: (end, seq) => this.acknowledged(end, seq),
      whenSeen: (cb) => this.whenSeen(cb)
    }, settings.large)
    /** Of a client. @type {import('../read/follower').Follower | null} */
    this.follower = null
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
      heardAt: () => this.connection?.heardAt ?? -Infinity,
      onquiet: () => this.connection?.ping(),
      ontimeout: () => this.remote.giveUp(errors.unreachable(file.filename, settings.timeout, this.problem ?? undefined))
    })
  }

  /** @returns {Promise<{ opened: Opened, lastSeq: number }>} */
  async open () {
    await this.io.open()
    try {
      if (this.file.tryLock === null) throw errors.cannotShare(this.file.filename, noLockReason)
      await this.join(this.clock.now() + this.timeout)
      return { opened: /** @type {Opened} */ (this.opened), lastSeq: this.lastSeq }
    } catch (err) {
      this.isClosed = true
      this.follower?.close()
      await this.io.close().catch(() => {})
      throw err
    }
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
      // the connection may be lost before it has
      await this.entering
      // or the log might become another file under its lock
      await this.follower?.stop()
      if (this.isClosed) return
      if (this.tryLock()) {
        this.takeover = this.own(isOpening)
        const isOwner = await this.takeover.finally(() => { this.takeover = null })
        if (isOwner) return
      } else {
        this.follower?.resume()
        if (await this.connect(deadline)) return
      }
      if (isOpening && this.clock.now() >= deadline) throw this.problem ?? errors.lockedUnshared(this.file.filename, this.timeout, this.file.lockHolder())
      await this.pause(pause)
    }
  }

  tryLock () {
    return /** @type {() => boolean} */ (this.file.tryLock)()
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
   * @param {number} deadline see join
   * @returns {Promise<boolean>} whether this process is a client now
   */
  async connect (deadline) {
    const isOpening = deadline !== Infinity
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
    return this.greet(socket, deadline)
  }

  /**
   * @param {import('net').Socket} socket
   * @param {number} deadline see join
   * @returns {Promise<boolean>} rejects if the owner refuses this process for good
   */
  greet (socket, deadline) {
    const { remote, clock } = this
    let isWelcome = false
    return new Promise((resolve, reject) => {
      const connection = new Connection(socket, { id: this.clientId.toString('hex'), answered: remote.acknowledged, sent: remote.sent, pid: process.pid }, clock, {
        onwelcome: (welcome) => {
          stopTimer()
          // what follows is about the file that the owner has open
          connection.keep()
          this.entering = this.enter(connection, welcome).then((isReady) => {
            if (!isReady) return connection.close()
            isWelcome = true
            resolve(true)
            connection.release()
          }).catch((err) => {
            // without onclose, which would have it try again
            connection.leave()
            reject(err)
          })
        },
        onlook: (isChanged) => this.follower?.pollSoon(isChanged),
        onack: (run) => remote.onack(run),
        onnack: (epoch, error) => remote.onnack(epoch, error),
        onreply: (request, error, result) => remote.onreply(request, error, result),
        oncompacted: (id) => this.compacted(connection, id),
        oninput: () => remote.inputDone(),
        onclose: (refusal) => {
          stopTimer()
          if (this.connection === connection) this.connection = null
          const isFinal = /** @type {any} */ (refusal)?.code === 'flumelog:protocol'
          if (isWelcome && this.role === 'client') return isFinal ? this.fail(/** @type {Error} */ (refusal)) : this.lost()
          if (isFinal) return reject(refusal)
          this.problem = refusal ?? this.problem
          resolve(false)
        }
      })
      const stopTimer = this.watchGreeting(connection, deadline)
      this.connection = connection
      this.updateHold()
    })
  }

  /**
   * Until WELCOME comes, which takes as long as the owner needs to open the log, asks whether it is alive.
   * @param {Connection} connection
   * @param {number} deadline see join
   * @returns {() => void} stops that
   */
  watchGreeting (connection, deadline) {
    /** @type {import('../clock').Timer} */
    let timer
    const start = () => {
      timer = this.clock.setTimeout(look, this.timeout / 4)
      if (deadline === Infinity && !this.mustHold) timer.unref()
    }
    const look = () => {
      if (connection.isOver) return
      connection.ping()
      if (deadline !== Infinity && this.clock.now() - connection.heardAt >= this.timeout) {
        this.problem = errors.unreachable(this.file.filename, this.timeout, undefined)
        return connection.close()
      }
      start()
    }
    start()
    return () => this.clock.clearTimeout(timer)
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
    const isReady = await this.reach(welcome.id).catch((err) => {
      if (this.role !== null) throw err
      this.problem = err
      return false
    })
    if (!isReady && this.role === null) this.forgetOpened()
    if (!isReady || connection.isOver || this.isClosed) return false
    this.problem = null
    this.role = 'client'
    this.follower?.poll()
    remote.connected(welcome, connection.send)
    this.updateHold()
    return true
  }

  /** @param {Welcome} welcome */
  async openAsClient ({ blockSize }) {
    const { file, io, context } = this
    const { settings, listeners } = context
    if (settings.blockSize !== undefined && settings.blockSize !== blockSize) {
      throw errors.blockSize(file.filename, settings.blockSize, `the file has blocks of ${blockSize} bytes`, blockSize)
    }
    const opened = await openReader(context, io, {
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
    this.follower = opened.follower
    this.remote.lastSeq = opened.follower.lastSeq
    this.opened = { ...opened, writer: this.remote, sharing: this, cut: null, recovered: 0 }
  }

  /** The log was replaced, or compacted, while it was opened: it is to be opened again. */
  forgetOpened () {
    if (!this.follower?.closed) return
    this.opened = null
    this.follower = null
  }

  /**
   * @param {string} id of the log
   * @returns {Promise<boolean>} whether this process reads the file of the log with this id; false: not yet. Rejects if it never will
   */
  async reach (id) {
    const follower = /** @type {import('../read/follower').Follower} */ (this.follower)
    if (follower.id !== id) await this.catchUp(follower)
    return follower.id === id && !follower.closed
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
    const { openSuccessor, moveTo } = /** @type {{ [name in 'openSuccessor' | 'moveTo']: NonNullable<typeof file[name]> }} */ (file)
    try {
      if (replaced.code !== 'flumelog:replaced') throw replaced
      moveTo(Number(await promisify(openSuccessor)()), 0)
    } catch (err) {
      if (/** @type {any} */ (err).code === 'ENOENT') throw replaced
      this.problem = err
    }
  }

  /**
   * The owner has compacted the log.
   * @param {Connection} connection
   * @param {string} id of the log since
   */
  compacted (connection, id) {
    connection.keep()
    this.reach(id).then((isReached) => {
      if (connection.isOver) return
      // it is tried again
      if (!isReached) return connection.close()
      connection.send([encode(FOLLOWED)])
      connection.release()
    }, (err) => this.fail(err))
  }

  /**
   * This process has followed a compaction.
   * @param {import('../space/offset-map').OffsetMap} map
   * @param {number} lastSeq
   */
  moved (map, lastSeq) {
    Object.assign(/** @type {Opened} */ (this.opened), { id: map.id })
    this.remote.moved(map, lastSeq)
    this.context.listeners.onmoved(map, lastSeq)
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
      if (err === null || isFinal(err) || this.remote.onclosed !== null) cb()
      else this.clock.setTimeout(() => this.whenSeen(cb), POLL_PAUSE)
    })
  }

  lost () {
    this.remote.disconnected()
    this.silence.noteLoss()
    if (!this.isClosed) this.rejoin()
  }

  // The owner

  /**
   * This process has the lock.
   * @param {boolean} isOpening
   * @returns {Promise<boolean>} false: it could not open the log, and has released the lock
   */
  async own (isOpening) {
    const { file, context, io } = this
    const owner = new Owner(context, io)
    try {
      const replaced = await io.checkPath().then(() => null, err => err)
      if (replaced !== null) {
        file.unlock?.()
        this.follower?.resume()
        await this.follow(replaced)
        return false
      }
      // first, so that the others find the new owner and wait
      await owner.listen(this.address)
      this.become(owner, await owner.open(this.opened))
      return true
    } catch (err) {
      await owner.giveUp().catch(() => {})
      file.unlock?.()
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
  become (owner, { blocks, reader, writer, cut, recovered, id }) {
    const { remote, follower, context } = this
    const { listeners, settings } = context
    this.opened = Object.assign(this.opened ?? {}, { blocks, reader, writer, follower: null, sharing: this, id, cut, recovered })
    adopt(remote, writer, owner.clients.find(this.clientId), { blockSize: blocks.blockSize, checksum: settings.checksum, own: owner.clients.own, compact: listeners.oncompact })
    owner.clients.dropOwn(this.clientId)
    owner.serve(id)
    this.owner = owner
    this.role = 'owner'
    this.follower = null
    this.updateHold()
    listeners.onrole()
    release(remote)
    follower?.release()
    listeners.onadvance(writer.appender.lastSeq)
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
    return this.isHeld || this.remote.isPending || this.opened === null
  }

  updateHold () {
    const { mustHold } = this
    this.connection?.hold(mustHold)
    this.owner?.server.hold(this.isHeld)
    if (mustHold) this.pauseTimer?.ref()
    else this.pauseTimer?.unref()
    this.silence.watch(this.remote.isPending && this.role !== 'owner')
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

  /** @param {() => void} cb called when no call waits for the end of the log to be read; at once, if none does */
  whenRead (cb) {
    const { follower } = this
    if (follower !== null && follower.waiting.length > 0) follower.catchUp(() => cb())
    else cb()
  }

  /**
   * Everything that was appended is stored and durable; then another process may become the owner.
   * @param {Done} cb
   */
  close (cb) {
    if (this.takeover !== null) {
      this.takeover.then(() => this.close(cb), () => this.close(cb))
    } else if (this.role === 'owner') this.closeOwner(cb)
    else this.remote.close((err) => this.closeClient(err ?? null, cb))
  }

  /**
   * @param {Error | null} err
   * @param {Done} cb
   */
  closeClient (err, cb) {
    if (this.takeover !== null) {
      const again = () => this.closeClient(err, cb)
      this.takeover.then(again, again)
      return
    }
    if (this.role === 'owner') return this.closeOwner((failure) => cb(err ?? failure ?? null))
    this.isClosed = true
    this.silence.watch(false)
    this.connection?.leave()
    cb(err)
  }

  /** @param {Done} cb */
  closeOwner (cb) {
    this.isClosed = true
    const owner = /** @type {Owner} */ (this.owner)
    owner.close(cb)
  }
}

/** @param {any} err */
function isFinal (err) {
  return String(err.code).startsWith('flumelog:')
}

module.exports = { Sharing }
