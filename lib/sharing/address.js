'use strict'

// Where the processes that share a log meet: the local socket `FILE.socket` beside it, on
// which the owner of the log listens and to which the others connect.

const crypto = require('crypto')
const fs = require('fs')
const net = require('net')
const path = require('path')
const errors = require('../errors')
const { nullIfMissing } = require('../storage/directory')
const { runtimeDirectory } = require('./runtime-directory')
const { MAX_PATH, TEMPORARY_LENGTH, fits, bind, placeSocket, placeLink, isInPlace, removeSocket, removeLeftovers } = require('./socket-file')

const IS_WINDOWS = process.platform === 'win32'
/** Hexadecimal digits of the hash in a socket's name in the runtime directory. All 64 would not fit on macOS. */
const NAME_DIGITS = 24
/** Codes of errors of connect(2): nobody listens, or the owner is closing or has more new connections than it can accept. */
const NOBODY = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'ENOTSOCK', 'EAGAIN'])

/**
 * @typedef {import('./socket-file').PlacedSocket} PlacedSocket
 * @typedef {Listener | PipeListener} AnyListener
 */

class Address {
  /**
   * @param {string} filename the log's: absolute, and not a symbolic link
   * @param {string} folder that it is in
   */
  constructor (filename, folder) {
    this.filename = filename
    this.folder = folder
    /** Of the socket, or of the symbolic link to it. */
    this.name = IS_WINDOWS ? `\\\\.\\pipe\\flumelog-${sha256(filename.toLowerCase())}` : `${filename}.socket`
  }

  /**
   * Only for the process that has the log locked: it replaces the socket of another.
   * @param {() => Promise<fs.Stats>} logStatus of the open log file
   * @param {(connection: net.Socket) => void} onconnection
   * @returns {Promise<Listener | PipeListener>} when others can connect
   */
  async listen (logStatus, onconnection) {
    if (IS_WINDOWS) {
      const server = net.createServer(onconnection)
      await bind(server, this.name)
      return new PipeListener(server)
    }
    const listener = new Listener(this, logStatus, onconnection)
    await listener.put(await logStatus())
    return listener
  }

  /** @returns {Promise<net.Socket | null>} null: nobody listens. Rejects if this process may not connect */
  async connect () {
    try {
      return await connectTo(IS_WINDOWS ? this.name : await this.target())
    } catch (thrown) {
      const err = /** @type {NodeJS.ErrnoException} */ (thrown)
      if (NOBODY.has(err.code ?? '')) return null
      err.path = this.name
      throw err
    }
  }

  /** @returns {Promise<string>} the path of the socket. The system would follow a link, too, but takes no long path */
  async target () {
    const target = await fs.promises.readlink(this.name).catch((/** @type {NodeJS.ErrnoException} */ err) => {
      if (err.code === 'EINVAL') return '' // not a link
      throw err
    })
    const name = path.resolve(this.folder, target === '' ? this.name : target)
    if (!fits(name)) throw errors.socketPathTooLong(name, Buffer.byteLength(name), MAX_PATH)
    return name
  }
}

/** An open socket under the name of an address. It keeps the process alive only while it is held. */
class Listener {
  /**
   * @param {Address} address
   * @param {() => Promise<fs.Stats>} logStatus
   * @param {(connection: net.Socket) => void} onconnection
   */
  constructor (address, logStatus, onconnection) {
    this.address = address
    this.logStatus = logStatus
    this.onconnection = onconnection
    /** Null: closed. @type {PlacedSocket | null} */
    this.placed = null
    this.isHeld = false
    /** Settled when nothing is being placed or removed. @type {Promise<unknown>} */
    this.idle = Promise.resolve()
  }

  /**
   * Puts a socket in place again if the name was deleted or replaced, or if the log got
   * another mode or owner. Connections that are open stay. Rejects if that fails: the old
   * socket is open then, and the next check tries again.
   * @returns {Promise<boolean>} whether it had to be put in place again
   */
  check () {
    return this.afterOthers(async () => {
      if (this.placed === null) return false
      const logStatus = await this.logStatus()
      if (isSharedAlike(this.placed.logStatus, logStatus) && await this.isReachable(this.placed)) return false
      await this.checkLog(logStatus)
      await this.put(logStatus)
      return true
    })
  }

  /** @param {boolean} isHeld whether it keeps the process alive */
  hold (isHeld) {
    const server = this.placed?.server
    // also for the next server, if the socket is put in place again
    this.isHeld = isHeld
    if (isHeld) server?.ref()
    else server?.unref()
  }

  /**
   * Removes the name, if it still leads to this socket, and stops listening. Connections
   * that are open stay.
   * @returns {Promise<void>}
   */
  close () {
    return this.afterOthers(async () => {
      const { placed } = this
      const { name } = this.address
      this.placed = null
      if (placed === null) return
      try {
        if (placed.name !== name && await linkTarget(name) === placed.name) await fs.promises.unlink(name).catch(nullIfMissing)
      } finally {
        await removeSocket(placed)
      }
    })
  }

  /**
   * @template T
   * @param {() => Promise<T>} run
   * @returns {Promise<T>}
   */
  afterOthers (run) {
    const result = this.idle.then(run)
    this.idle = result.catch(() => {})
    return result
  }

  /** @param {fs.Stats} logStatus */
  async put (logStatus) {
    const { filename, name } = this.address
    await refuseOtherFile(name)
    await removeLeftovers(name)
    const isLong = !fits(name, TEMPORARY_LENGTH)
    const target = isLong ? await privateName(filename) : name
    if (isLong) await removeLeftovers(target)
    const placed = await placeSocket(target, logStatus, this.onconnection)
    if (isLong) {
      await placeLink(name, target).catch(async (err) => {
        await removeSocket(placed)
        throw err
      })
    }
    const before = this.placed
    this.placed = placed
    this.hold(this.isHeld)
    if (before !== null) await removeSocket(before)
  }

  /** @param {PlacedSocket} placed */
  async isReachable (placed) {
    const { name } = this.address
    if (placed.name !== name && await linkTarget(name) !== placed.name) return false
    return await isInPlace(placed)
  }

  /**
   * If another log has taken the path, so has its owner the name of the socket.
   * @param {fs.Stats} logStatus of the open log
   */
  async checkLog (logStatus) {
    const { filename } = this.address
    const found = await fs.promises.stat(filename).catch(nullIfMissing)
    if (found === null) throw errors.replaced(filename, 'deleted or moved')
    if (found.ino !== logStatus.ino || found.dev !== logStatus.dev) throw errors.replaced(filename, 'replaced by another file')
  }
}

/** A named pipe on Windows: it has no file, and is gone when nobody has it open. */
class PipeListener {
  /** @param {net.Server} server */
  constructor (server) {
    this.server = server
  }

  async check () {
    return false
  }

  /** @param {boolean} isHeld */
  hold (isHeld) {
    if (isHeld) this.server.ref()
    else this.server.unref()
  }

  async close () {
    this.server.close()
  }
}

/**
 * @param {string} name
 * @returns {Promise<net.Socket>} connected
 */
function connectTo (name) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path: name })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

/**
 * @param {string} filename the log's
 * @returns {Promise<string>} the path of its socket in the runtime directory
 */
async function privateName (filename) {
  const folder = await runtimeDirectory(filename, NAME_DIGITS + TEMPORARY_LENGTH)
  return path.join(folder, sha256(filename).slice(0, NAME_DIGITS))
}

/** @param {string} name of a socket */
async function refuseOtherFile (name) {
  const found = await fs.promises.lstat(name).catch(nullIfMissing)
  if (found !== null && !found.isSocket() && !found.isSymbolicLink()) throw errors.notASocket(name)
}

/**
 * @param {string} name
 * @returns {Promise<string | null>} where a symbolic link leads; null: there is none
 */
function linkTarget (name) {
  return fs.promises.readlink(name).catch((/** @type {NodeJS.ErrnoException} */ err) => err.code === 'EINVAL' ? null : nullIfMissing(err))
}

/**
 * @param {fs.Stats} a
 * @param {fs.Stats} b
 */
function isSharedAlike (a, b) {
  return a.mode === b.mode && a.uid === b.uid && a.gid === b.gid
}

/** @param {string} text */
function sha256 (text) {
  return crypto.createHash('sha256').update(text).digest('hex')
}

module.exports = { Address }
