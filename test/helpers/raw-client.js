'use strict'

// A connection to the owner of a shared log on which a test sends whatever bytes it likes.

const net = require('net')
const crypto = require('crypto')
const { once } = require('events')
const { frame, u32, u64 } = require('./plain-client')

const NAMES = { 16: 'WELCOME', 17: 'LOOK', 18: 'ACK', 19: 'NACK', 20: 'REPLY', 21: 'PONG', 22: 'REFUSED', 23: 'CONFLICT' }

class RawClient {
  /**
   * @param {string} file
   * @param {Buffer} [id]
   */
  constructor (file, id = crypto.randomBytes(8)) {
    this.id = id
    /** { name, body }, of PONGs only the first */
    this.frames = []
    /** name -> how many have come */
    this.counts = {}
    this.rest = Buffer.alloc(0)
    this.listeners = new Set()
    this.socket = net.connect(file + '.socket').on('error', () => {})
    this.socket.on('data', (data) => this.receive(data))
    this.connected = once(this.socket, 'connect')
    this.connected.catch(() => {})
    this.closed = new Promise(resolve => this.socket.once('close', () => { this.isClosed = true; resolve() }))
    this.isClosed = false
    this.closed.then(() => this.notify())
  }

  receive (data) {
    this.rest = Buffer.concat([this.rest, data])
    while (this.rest.length >= 4 && this.rest.length >= 4 + this.rest.readUInt32LE(0)) {
      const end = 4 + this.rest.readUInt32LE(0)
      this.onframe(NAMES[this.rest[4]], this.rest.subarray(5, end))
      this.rest = this.rest.subarray(end)
    }
    this.notify()
  }

  /**
   * @param {string} name
   * @param {Buffer} body
   */
  onframe (name, body) {
    this.counts[name] = this.count(name) + 1
    if (name !== 'PONG' || this.count(name) === 1) this.frames.push({ name, body })
  }

  notify () {
    for (const listener of [...this.listeners]) listener()
  }

  /** @param {string} name of a frame: resolves with its body when there is one; null: the connection was closed before */
  frame (name) {
    return new Promise(resolve => {
      const look = () => {
        const found = this.frames.find(frame => frame.name === name)
        if (found === undefined && !this.isClosed) return
        this.listeners.delete(look)
        resolve(found?.body ?? null)
      }
      this.listeners.add(look)
      look()
    })
  }

  /** Resolves when the connection is closed: why, or that the owner has not said why. */
  async refusal () {
    await this.closed
    const refused = this.frames.find(({ name }) => name === 'REFUSED')
    return refused === undefined ? 'closed' : JSON.parse(refused.body.toString()).error.message
  }

  /** @param {Buffer[]} buffers */
  send (...buffers) {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(buffers))
    return this
  }

  /** Greets the owner: resolves when it has answered. */
  async greet (answered = 0) {
    this.send(hello(this.id, answered))
    return this.frame('WELCOME')
  }

  count (name) {
    return this.counts[name] ?? 0
  }
}

const json = (body) => Buffer.from(JSON.stringify(body))
const hello = (id, answered = 0, { version = 6, log = null } = {}) =>
  frame(1, json({ protocol: 'flumelog', version, id: id.toString('hex'), answered, log, pid: 1 }))

const u16 = (value) => Buffer.from([value & 255, value >> 8])
const framed = (records) => Buffer.concat(records.flatMap(data => [u16(data.length), data, u16(data.length)]))

/** An APPEND; what is given replaces what would be right. */
const append = (first, records, { count = records.length, answered = first - 1, after = null, flags = after === null ? 0 : 4, bytes = framed(records) } = {}) =>
  frame(2, u64(first), u32(count), u64(answered), Buffer.from([flags]), ...(after === null ? [] : [u64(after + 1)]), bytes)

const ask = (request, ask) => frame(3, json({ request, ask }))
const del = (request, seq) => ask(request, { op: 'delete', seq })
const sync = (request) => ask(request, { op: 'sync' })
const ping = () => frame(4)
const bye = () => frame(5)

module.exports = { RawClient, hello, append, framed, ask, del, sync, ping, bye, frame, json, u32, u64 }
