'use strict'

// `net` as one simulated process has it: local sockets. What is written on one connection arrives in order, late, in other portions; two
// connections know nothing of each other's order.

const { EventEmitter } = require('events')
const path = require('path')
const { failure } = require('./disk')

/** Bytes that a connection takes before the writer has to wait. */
const BUFFER_SIZE = 64 * 1024

class Socket extends EventEmitter {
  /** @param {import('./process').Process} owner */
  constructor (owner) {
    super()
    this.owner = owner
    /** @type {Socket | null} */
    this.peer = null
    this.destroyed = false
    this.writableEnded = false
    /** Bytes that were written here and not read there. */
    this.unread = 0
    /** What has arrived and waits until the reader goes on. @type {Array<Buffer | null>} null: the end */
    this.arrived = []
    this.isReading = true
    /** When what was written last arrives there. */
    this.arrivesAt = 0
    this.mustDrain = false
    owner.sockets.add(this)
  }

  get writableLength () {
    return Math.max(0, this.unread - BUFFER_SIZE)
  }

  /** @param {Uint8Array} data */
  write (data) {
    if (this.destroyed || this.writableEnded || this.peer === null) return false
    const bytes = Buffer.from(data)
    this.unread += bytes.length
    this.transfer(bytes)
    if (this.writableLength > 0) this.mustDrain = true
    return this.writableLength === 0
  }

  /** @param {Buffer | null} bytes */
  transfer (bytes) {
    const { world } = this.owner
    const { peer } = this
    if (peer === null) return
    this.arrivesAt = Math.max(world.timeline.time + world.latency('socket'), this.arrivesAt)
    peer.owner.at(this.arrivesAt, () => peer.onarrival(bytes))
  }

  /** @param {Buffer | null} bytes */
  onarrival (bytes) {
    if (this.destroyed) return
    this.arrived.push(bytes)
    this.deliver()
  }

  /** It is read from the moment in which somebody listens. */
  on (event, listener) {
    super.on(event, listener)
    if (event === 'data') this.owner.after(0, () => this.deliver())
    return this
  }

  deliver () {
    while (this.isReading && this.listenerCount('data') > 0 && !this.destroyed && this.arrived.length > 0) {
      const bytes = /** @type {Buffer | null} */ (this.arrived.shift())
      if (bytes === null) {
        this.emit('end')
        return this.finish()
      }
      this.peer?.read(bytes.length)
      this.emit('data', bytes)
    }
  }

  /** @param {number} size bytes that the other side has read */
  read (size) {
    this.unread -= size
    if (!this.mustDrain || this.writableLength > 0) return
    this.mustDrain = false
    this.owner.after(this.owner.world.latency('socket'), () => { if (!this.destroyed) this.emit('drain') })
  }

  /** The other side has ended: so does this one. */
  finish () {
    this.end()
    this.destroy()
  }

  /** @param {Uint8Array} [data] */
  end (data) {
    if (this.writableEnded) return this
    if (data !== undefined) this.write(data)
    this.writableEnded = true
    this.transfer(null)
    return this
  }

  destroy () {
    if (this.destroyed) return this
    this.destroyed = true
    this.owner.sockets.delete(this)
    const { peer } = this
    if (peer !== null && !this.writableEnded) peer.owner.after(this.owner.world.latency('socket'), () => peer.onbroken())
    this.writableEnded = true
    this.owner.after(0, () => this.emit('close'))
    return this
  }

  /** Both ends lose the connection. */
  break () {
    for (const end of [this, this.peer]) end?.owner.after(this.owner.world.latency('socket'), () => end.onbroken())
  }

  /** The connection is gone; what has arrived and was not read is lost. */
  onbroken () {
    if (this.destroyed) return
    this.destroyed = this.writableEnded = true
    this.owner.sockets.delete(this)
    // the process may not have been given it yet
    if (this.listenerCount('error') > 0) this.emit('error', failure('ECONNRESET', 'read', ''))
    this.emit('close')
  }

  pause () {
    this.isReading = false
    return this
  }

  resume () {
    if (this.isReading) return this
    this.isReading = true
    this.owner.after(0, () => this.deliver())
    return this
  }

  isPaused () { return !this.isReading }
  cork () {}
  uncork () {}
  ref () { return this }
  unref () { return this }
}

class Server extends EventEmitter {
  constructor (owner, onconnection) {
    super()
    this.owner = owner
    this.onconnection = onconnection
    this.isClosed = false
    this.inode = null
    owner.servers.add(this)
  }

  listen ({ path: name }) {
    const { owner } = this
    const { disk } = owner.world
    try {
      const { folder, name: last } = disk.parentOf(path.resolve('/', name), 'listen')
      if (folder.entries.has(last)) throw failure('EADDRINUSE', 'listen', name)
      this.inode = disk.create('socket', 0o755)
      this.inode.listener = this
      this.path = name
      disk.change(folder, { [last]: this.inode })
    } catch (err) {
      owner.after(0, () => this.emit('error', err))
      return this
    }
    owner.after(owner.world.latency('socket'), () => this.emit('listening'))
    return this
  }

  /** @param {Socket} client */
  accept (client) {
    const socket = new Socket(this.owner)
    socket.peer = client
    client.peer = socket
    this.owner.after(this.owner.world.latency('socket'), () => {
      if (this.isClosed) socket.destroy()
      else if (!socket.destroyed) this.onconnection(socket)
    })
  }

  close () {
    this.stop()
    // as libuv does: it removes the name that it was bound to
    try {
      if (this.path !== undefined) this.owner.calls.unlink(this.path)
    } catch {}
  }

  stop () {
    this.isClosed = true
    if (this.inode !== null) this.inode.listener = null
    this.owner.servers.delete(this)
  }

  ref () { return this }
  unref () { return this }
}

/**
 * @param {{ user: import('./process').Process }} modules whose `net` it is
 * @returns {any} a module `net`
 */
function localSockets (modules) {
  return {
    Socket,
    createServer: (onconnection) => new Server(modules.user, onconnection),
    connect: ({ path: name }) => {
      const { user: owner } = modules
      const socket = new Socket(owner)
      const fail = (err) => {
        socket.destroyed = true
        owner.sockets.delete(socket)
        socket.emit('error', err)
        socket.emit('close')
      }
      owner.after(owner.world.latency('socket'), () => {
        if (socket.destroyed) return
        try {
          const inode = owner.world.disk.find(path.resolve('/', name), 'connect')
          if (inode.type !== 'socket') throw failure('ENOTSOCK', 'connect', name)
          if (inode.listener === null) throw failure('ECONNREFUSED', 'connect', name)
          inode.listener.accept(socket)
        } catch (err) {
          return fail(err)
        }
        socket.emit('connect')
      })
      return socket
    }
  }
}

module.exports = { localSockets }
