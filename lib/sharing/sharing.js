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
const errors = require('../errors')
const { Block } = require('../format/block')
const { openBlocks } = require('../read/open-blocks')
const { noLockReason } = require('../storage/lock')
const { promises } = require('../storage/promisified-file')
const { Address } = require('./address')
const { adopt, release } = require('./adopt')
const { ClientEnd } = require('./client-end')
const { Connection } = require('./connection')
const { followCompaction } = require('./client-compaction')
const { ID_SIZE, followed } = require('./frames')
const { Owner } = require('./owner')
const { RemoteWriter } = require('./remote-writer')
const { Silence } = require('./silence')

/** Milliseconds between two attempts to get the lock or to connect: the first, doubled each time, up to the last. */
const FIRST_PAUSE = 1
const LAST_PAUSE = 50

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
    /** Of the log, as far as this process has followed its compactions; null: not open yet. @type {string | null} */
    this.id = null
    /** Settled when this process goes on in the file where the log is now; null: it is in it. @type {Promise<void> | null} */
    this.following = null
    /** Settled when it is in the file of the owner that has welcomed it last. @type {Promise<void>} */
    this.meeting = Promise.resolve()
    /** @type {'owner' | 'client' | null} */
    this.role = null
    /** @type {Opened | null} */
    this.opened = null
    this.remote = new RemoteWriter(file.filename, limits, settings.sync === 'always', () => this.updateHold(), settings.large)
    /** @type {ClientEnd | null} */
    this.clientEnd = null
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
      ontimeout: () => {
        const err = errors.unreachable(file.filename, settings.timeout, this.problem ?? undefined)
        this.remote.giveUp(err)
        this.clientEnd?.giveUp(err)
      }
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
      await this.io.close().catch(() => {})
      throw err
    }
  }

  get lastSeq () {
    return this.clientEnd?.lastSeq ?? this.opened?.writer?.appender.lastSeq ?? -1
  }

  // Joining

  /**
   * @param {number} deadline when to give up, in ms: this is the first time
   * @returns {Promise<void>} when this process is the owner or a client
   */
  async join (deadline = Infinity) {
    const isOpening = deadline !== Infinity
    for (let pause = FIRST_PAUSE; !this.isClosed; pause = Math.min(2 * pause, LAST_PAUSE)) {
      // otherwise, it would get the lock of a file that is not the log any more
      await this.meeting
      await this.following?.catch(() => {})
      if (this.tryLock()) {
        this.takeover = this.own(isOpening)
        const isOwner = await this.takeover.finally(() => { this.takeover = null })
        if (isOwner) return
      } else if (await this.connect(deadline)) return
      if (isOpening && this.clock.now() >= deadline) throw this.problem ?? errors.lockedUnshared(this.file.filename, this.timeout)
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
      await this.tryToFollow(err)
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
      const connection = new Connection(socket, { id: this.clientId, answered: remote.acknowledged, sent: remote.sent, pid: process.pid }, clock, {
        onwelcome: (welcome) => {
          stopTimer()
          const enter = () => {
            if (connection.isOver) return
            this.welcomed(connection, welcome)
            isWelcome = true
            resolve(true)
          }
          const refuse = (/** @type {unknown} */ err) => {
            // without onclose, which would have it try again
            connection.leave()
            reject(err)
          }
          try {
            if (this.id === welcome.id) return enter()
          } catch (err) {
            return refuse(err)
          }
          // what follows is about the file in which the log is now
          connection.keep()
          this.meeting = this.meet(welcome).then((isReady) => {
            if (!isReady) return connection.close()
            enter()
            connection.release()
          }).catch(refuse)
        },
        onend: (end, lastSeq) => this.told(end, lastSeq),
        onack: (run) => remote.onack(run),
        onnack: (epoch, error) => remote.onnack(epoch, error),
        onreply: (request, error, result) => {
          if (typeof result === 'number') this.clientEnd?.trimmed(result)
          remote.onreply(request, error, result)
        },
        oncompacted: (id) => this.compacted(connection, id),
        ondeleted: (blocks) => /** @type {ClientEnd} */ (this.clientEnd).rewritten(blocks),
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
   * The owner knows the log by another id than this process.
   * @param {Welcome} welcome
   * @returns {Promise<boolean>} false: this process was about to open another file than the owner's; it is to connect again
   */
  async meet ({ id }) {
    const err = await this.io.checkPath().then(() => null, err => err)
    if (err !== null && (!await this.tryToFollow(err) || this.opened === null)) return false
    // it is the same file, of which this process is told the id, or the file with the id is gone
    if (err === null) this.id = id
    return true
  }

  /**
   * The log has its name from another file now.
   * @param {Error} replaced what to throw if it was not compacted
   * @returns {Promise<void>}
   */
  follow (replaced) {
    if (/** @type {any} */ (replaced).code !== 'flumelog:replaced') return Promise.reject(replaced)
    this.following ??= followCompaction(this, replaced).finally(() => { this.following = null })
    return this.following
  }

  /**
   * @param {Error} replaced see `follow`
   * @returns {Promise<boolean>} false: it is to be tried again. Rejects if that is pointless
   */
  async tryToFollow (replaced) {
    try {
      await this.follow(replaced)
      return true
    } catch (err) {
      // no more file descriptors, for example
      this.problem = err
      if (err === replaced || String(/** @type {any} */ (err).code).startsWith('flumelog:')) throw err
      return false
    }
  }

  /**
   * The owner has compacted the log.
   * @param {Connection} connection
   * @param {string} id of the log since
   */
  compacted (connection, id) {
    connection.keep()
    const replaced = errors.replaced(this.file.filename, 'replaced by another file')
    const ended = this.id === id ? Promise.resolve() : this.follow(replaced)
    ended.then(() => {
      if (connection.isOver) return
      connection.send([followed()])
      connection.release()
    }, (err) => {
      if (String(err.code).startsWith('flumelog:')) this.fail(err)
      // no more file descriptors, for example: it is tried again
      else connection.close()
    })
  }

  /**
   * This process has followed a compaction: file and blocks are those of the compacted log.
   * @param {import('../space/offset-map').OffsetMap} map
   * @param {number} lastSeq
   */
  moved (map, lastSeq) {
    const { remote, context: { listeners } } = this
    const clientEnd = /** @type {ClientEnd} */ (this.clientEnd)
    this.id = map.id
    Object.assign(/** @type {Opened} */ (this.opened), { id: map.id })
    remote.lastSeq = lastSeq
    remote.moved(map)
    clientEnd.moved(map.end, lastSeq)
    listeners.onmoved(map, lastSeq)
    clientEnd.resume()
  }

  /**
   * @param {Connection} connection
   * @param {Welcome} welcome
   * @throws flumelog:block-size, flumelog:protocol
   */
  welcomed (connection, welcome) {
    const { context, remote } = this
    // or seqs would follow other rules when another process takes over
    if (welcome.checksum !== context.settings.checksum) throw errors.otherChecksum(this.file.filename, welcome.checksum)
    if (this.opened === null) this.openAsClient(welcome)
    else if (welcome.blockSize !== this.opened.blocks.blockSize) {
      throw errors.blockSize(this.file.filename, this.opened.blocks.blockSize, `the owner has blocks of ${welcome.blockSize} bytes`, welcome.blockSize)
    }
    const clientEnd = /** @type {ClientEnd} */ (this.clientEnd)
    this.problem = null
    this.role = 'client'
    // deletions and trims may have been missed
    clientEnd.trimmed(welcome.start)
    clientEnd.rewritten([])
    this.told(welcome.end, welcome.lastSeq)
    remote.connected(welcome, connection.send)
    this.updateHold()
  }

  /** @param {Welcome} welcome */
  openAsClient ({ blockSize, end, start }) {
    const { file, context } = this
    const { settings, listeners } = context
    if (settings.blockSize !== undefined && settings.blockSize !== blockSize) {
      throw errors.blockSize(file.filename, settings.blockSize, `the file has blocks of ${blockSize} bytes`, blockSize)
    }
    const { blocks, reader } = openBlocks(context, blockSize)
    blocks.tail = new Block(Math.floor(end / blockSize), Buffer.allocUnsafeSlow(blockSize), 0, false)
    blocks.start = start
    const clientEnd = new ClientEnd(file, this.io, blocks, this.clock, {
      onfresh: listeners.onfresh,
      onread: () => listeners.onadvance(this.lastSeq),
      onwait: () => this.updateHold(),
      onfailure: (err) => this.fail(err)
    })
    this.clientEnd = clientEnd
    this.opened = { blocks, reader, writer: this.remote, follower: clientEnd, sharing: this, id: String(this.id), cut: null, recovered: 0 }
  }

  /**
   * @param {number} end
   * @param {number} lastSeq
   */
  told (end, lastSeq) {
    const clientEnd = /** @type {ClientEnd} */ (this.clientEnd)
    this.remote.lastSeq = lastSeq
    clientEnd.tell(end, lastSeq)
    this.context.listeners.onadvance(lastSeq)
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
        await this.tryToFollow(replaced)
        return false
      }
      // first, so that the others find the new owner and wait
      await owner.listen(this.address)
      await this.clientEnd?.stop()
      this.become(owner, await owner.open(this.opened))
      return true
    } catch (err) {
      await owner.giveUp().catch(() => {})
      file.unlock?.()
      const isFinal = String(/** @type {any} */ (err).code).startsWith('flumelog:')
      if (isOpening || isFinal) throw err
      // a full disk, for example
      this.clientEnd?.resume()
      this.problem = err
      return false
    }
  }

  /**
   * @param {Owner} owner
   * @param {Awaited<ReturnType<Owner['open']>>} opened
   */
  become (owner, { blocks, reader, writer, cut, recovered, id }) {
    const { remote, clientEnd, context } = this
    const { listeners, settings } = context
    this.id ??= id
    this.opened = Object.assign(this.opened ?? {}, { blocks, reader, writer, follower: null, sharing: this, id: this.id, cut, recovered })
    adopt(remote, writer, owner.clients.find(this.clientId), { blockSize: blocks.blockSize, checksum: settings.checksum, own: owner.clients.own, compact: listeners.oncompact })
    owner.clients.dropOwn(this.clientId)
    owner.serve(this.id)
    this.owner = owner
    this.role = 'owner'
    this.clientEnd = null
    this.updateHold()
    listeners.onrole()
    release(remote)
    clientEnd?.release()
    listeners.onadvance(writer.appender.lastSeq)
  }

  // Waiting

  /** @param {boolean} isHeld whether a reader waits for what others append */
  hold (isHeld) {
    this.isHeld = isHeld
    this.clientEnd?.hold(isHeld)
    this.updateHold()
  }

  /** Whether this process has to stay alive for its callers. */
  get mustHold () {
    return this.isHeld || this.awaitsOwner || this.opened === null
  }

  /** Whether calls wait for an answer of the owner, or for what it says next. */
  get awaitsOwner () {
    return this.remote.isPending || (this.clientEnd?.awaitsOwner ?? false)
  }

  updateHold () {
    const { mustHold } = this
    this.connection?.hold(mustHold)
    this.owner?.server.hold(this.isHeld)
    if (mustHold) this.pauseTimer?.ref()
    else this.pauseTimer?.unref()
    this.silence.watch(this.awaitsOwner && this.role !== 'owner')
  }

  // Ends

  /** @param {Error} err why this process can do nothing more with the log */
  fail (err) {
    if (this.isClosed || this.role === 'owner') return
    this.isClosed = true
    this.remote.fail(err)
    this.connection?.close()
    this.context.listeners.onfailure(err)
  }

  /** @param {() => void} cb called when no call waits for the end of the log to be read; at once, if none does */
  whenRead (cb) {
    const { clientEnd } = this
    if (clientEnd !== null && clientEnd.waiting.length > 0) clientEnd.whenFresh(cb)
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

module.exports = { Sharing }
