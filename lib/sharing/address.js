'use strict'

// Where the processes that share a log find each other: the owner listens on the local socket `FILE.socket` beside the log, and the others
// connect to it. On Windows it is a named pipe, which has no file.

const crypto = require('crypto')
const { once } = require('events')
const fs = require('fs')
const net = require('net')
const os = require('os')
const path = require('path')
const errors = require('../errors')
const { nullIfMissing } = require('../storage/directory')
const { inheritByName } = require('../storage/inherit')
const { NEW } = require('../storage/whole-file')

const IS_WINDOWS = process.platform === 'win32'
/** Bytes in the path of a socket: Linux has room for 107, macOS for 103. Node.js 20 truncates a longer one. */
const MAX_PATH = 100
/** Others are closed at once, and their clients try again: each takes a file descriptor. */
const MAX_CONNECTIONS = 1024
/** The socket's path in the directory where it is created. */
const UNPLACED = `${path.sep}flumelog.socket`
/** Codes of errors of connect(2): nobody listens, or the owner is closing or has more new connections than it can accept. */
const NOBODY = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'ENOTSOCK', 'EAGAIN'])

class Address {
  /** @param {string} filename the log's: absolute, and not a symbolic link */
  constructor (filename) {
    /** Of the socket, or of the pipe. */
    this.name = IS_WINDOWS ? `\\\\.\\pipe\\flumelog-${sha256(filename.toLowerCase())}` : `${filename}.socket`
  }

  /**
   * Only for the process that has the log locked: it replaces the socket of an owner that is gone.
   * @param {fs.Stats} log whose permissions the socket gets
   * @param {(connection: net.Socket) => void} onconnection
   * @returns {Promise<Listener>} when others can connect
   */
  async listen (log, onconnection) {
    const server = net.createServer(onconnection)
    server.maxConnections = MAX_CONNECTIONS
    try {
      if (!IS_WINDOWS) return new Listener(server, this.name, await placeSocket(server, this.name, log))
      await bind(server, this.name)
      return new Listener(server, this.name, null)
    } catch (err) {
      server.close()
      throw err
    }
  }

  /** @returns {Promise<net.Socket | null>} null: nobody listens. Rejects if this process may not connect */
  connect () {
    return withShortPath(this.name, '', (name) => connectTo(name).catch((/** @type {NodeJS.ErrnoException} */ err) => {
      if (NOBODY.has(err.code ?? '')) return null
      err.path = this.name
      throw err
    }))
  }
}

/** It keeps the process alive only while it is held. */
class Listener {
  /**
   * @param {net.Server} server
   * @param {string} name of its socket
   * @param {fs.BigIntStats | null} status of the socket's file; null: it has none
   */
  constructor (server, name, status) {
    this.server = server
    this.name = name
    this.status = status
  }

  /** @param {boolean} isHeld whether it keeps the process alive */
  hold (isHeld) {
    if (isHeld) this.server.ref()
    else this.server.unref()
  }

  /**
   * Open connections stay.
   * @returns {Promise<void>}
   */
  async close () {
    const { server, name, status } = this
    try {
      // another log may have taken the path since, and its owner the name
      if (status !== null && await leadsTo(name, status)) await fs.promises.unlink(name).catch(nullIfMissing)
    } finally {
      server.close()
    }
  }
}

/**
 * Until the socket has the log's permissions, it is in a directory that only this user can enter.
 * @param {net.Server} server
 * @param {string} name
 * @param {fs.Stats} log
 * @returns {Promise<fs.BigIntStats>} of the socket
 */
async function placeSocket (server, name, log) {
  const folder = name + NEW
  const found = await fs.promises.lstat(name).catch(nullIfMissing)
  if (found?.isFile()) throw errors.socketInTheWay(name)
  // of a process that was killed
  await fs.promises.unlink(folder + UNPLACED).catch(nullIfMissing)
  await fs.promises.rmdir(folder).catch(nullIfMissing)
  await fs.promises.mkdir(folder, { mode: 0o700 })
  try {
    await withShortPath(folder, UNPLACED, (short) => bind(server, short))
    // on Linux and macOS, connecting needs write permission for the socket
    inheritByName(folder + UNPLACED, { ...log, mode: log.mode & 0o666 })
    await fs.promises.rename(folder + UNPLACED, name)
    return await fs.promises.lstat(name, { bigint: true })
  } finally {
    // otherwise the next owner removes it
    await fs.promises.rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

/**
 * If the path is too long for a socket, a symbolic link leads to it for the moment.
 * @template T
 * @param {string} name of a file or directory
 * @param {string} rest of the path
 * @param {(short: string) => Promise<T>} run
 * @returns {Promise<T>}
 */
async function withShortPath (name, rest, run) {
  if (Buffer.byteLength(name + rest) <= MAX_PATH) return run(name + rest)
  const folder = await fs.promises.mkdtemp(path.join(os.tmpdir(), 'flumelog-'))
  const link = path.join(folder, 'l')
  try {
    if (Buffer.byteLength(link + rest) > MAX_PATH) throw errors.socketPathTooLong(name, os.tmpdir())
    await fs.promises.symlink(name, link)
    return await run(link + rest)
  } finally {
    await fs.promises.rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

/**
 * @param {net.Server} server does not keep the process alive
 * @param {string} name of a socket, or of a pipe on Windows. When the server is closed, libuv removes it
 */
async function bind (server, name) {
  // exclusive: a cluster worker listens itself, not the primary in its place
  server.listen({ path: name, exclusive: true })
  await once(server, 'listening')
  // connections that cannot be accepted (EMFILE) are closed; their clients try again
  server.on('error', () => {})
  server.unref()
}

/**
 * @param {string} name
 * @returns {Promise<net.Socket>} connected
 */
async function connectTo (name) {
  const socket = net.connect({ path: name })
  await once(socket, 'connect')
  return socket
}

/**
 * @param {string} name
 * @param {fs.BigIntStats} status
 * @returns {Promise<boolean>} whether the name leads to the file with this status
 */
async function leadsTo (name, { ino, dev }) {
  const found = await fs.promises.lstat(name, { bigint: true }).catch(nullIfMissing)
  return found !== null && found.ino === ino && found.dev === dev
}

/** @param {string} text */
function sha256 (text) {
  return crypto.createHash('sha256').update(text).digest('hex')
}

module.exports = { Address }
