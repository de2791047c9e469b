'use strict'

// A client of a shared log that was written from docs/protocol.md and format.md alone: it uses
// nothing of lib/. It shows that those pages are enough to write one.

const crypto = require('crypto')
const fs = require('fs')
const net = require('net')

const HELLO = 1; const APPEND = 2; const REQUEST = 3; const PING = 4; const BYE = 5
const WELCOME = 16; const LOOK = 17; const ACK = 18; const NACK = 19; const REPLY = 20; const PONG = 21; const REFUSED = 22
const DURABLE = 1; const ATOMIC = 2
const MIN_APPEND = 4096; const REQUEST_COST = 256 // bytes of the window
const RETRY = 5 // ms

const u8 = (value) => Buffer.from([value])
const u16 = (value) => { const bytes = Buffer.alloc(2); bytes.writeUInt16LE(value); return bytes }
const u32 = (value) => { const bytes = Buffer.alloc(4); bytes.writeUInt32LE(value); return bytes }
const u64 = (value) => { const bytes = Buffer.alloc(8); bytes.writeBigUInt64LE(BigInt(value)); return bytes }
const readU64 = (bytes, at) => Number(bytes.readBigUInt64LE(at))
const runIn = (body) => ({ first: readU64(body, 0), count: body.readUInt32LE(8), seq: readU64(body, 12) })
const frame = (type, ...body) => { const bytes = Buffer.concat(body); return Buffer.concat([u32(bytes.length + 1), u8(type), bytes]) }
const json = (body) => Buffer.from(JSON.stringify(body))
const costOf = ({ type, size }) => type === APPEND ? Math.max(size, MIN_APPEND) : REQUEST_COST
const asError = ({ message, ...details }) => Object.assign(new Error(message), details)

/** Everything that is asked of the owner is an item: `waiting` to be sent, then `sent`, in order; when the connection breaks, it is sent again. */
class PlainClient {
  /** @param {string} filename of the log */
  constructor (filename) {
    Object.assign(this, { filename, id: crypto.randomBytes(8).toString('hex'), number: 0, highestSent: 0, request: 0, waiting: [], sent: [], pongs: [], looks: 0 })
    Object.assign(this, { connections: 0, resent: 0, frames: 0, largestWindow: 0, largestCount: 0, ackedBeforePublished: 0, refused: null, isWelcome: false, isClosed: false })
    this.connect()
  }

  connect () {
    let rest = Buffer.alloc(0)
    this.socket = net.connect(this.filename + '.socket', () => {
      this.connections++
      this.socket.write(frame(HELLO, json({ protocol: 'flumelog', version: 6, id: this.id, answered: this.answered, log: null, pid: process.pid })))
    }).on('error', () => {}).on('data', (data) => {
      rest = Buffer.concat([rest, data])
      while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32LE(0)) {
        const length = rest.readUInt32LE(0)
        this.receive(rest[4], rest.subarray(5, 4 + length))
        rest = rest.subarray(4 + length)
      }
    }).on('close', () => {
      this.isWelcome = false
      if (!this.isClosed) setTimeout(() => this.isClosed || this.connect(), RETRY)
    })
  }

  /** No answer is needed any more for this number and those before it. */
  get answered () {
    const first = [...this.sent, ...this.waiting].find(({ type }) => type === APPEND)
    return first === undefined ? this.number : first.first - 1
  }

  /** The records of one frame. Resolves with their seqs. */
  append (records, { durable = false, atomic = false } = {}) {
    const framed = Buffer.concat(records.flatMap(record => [u16(record.length), record, u16(record.length)]))
    const first = this.number + 1
    this.number += records.length
    const flags = (durable ? DURABLE : 0) | (atomic ? ATOMIC : 0)
    return this.ask({ type: APPEND, first, lengths: records.map(({ length }) => length), flags, framed, size: framed.length + 26, seqs: [] })
  }

  delete (seq) { return this.ask({ type: REQUEST, request: ++this.request, ask: { op: 'delete', seq } }) }
  sync () { return this.ask({ type: REQUEST, request: ++this.request, ask: { op: 'sync' } }) }
  ping () { return new Promise(resolve => { this.pongs.push(resolve); this.socket.write(frame(PING)) }) }

  ask (item) {
    const answer = new Promise((resolve, reject) => Object.assign(item, { resolve, reject }))
    this.waiting.push(item)
    this.pump()
    return answer
  }

  pump () {
    while (this.isWelcome && this.waiting.length > 0 && this.hasRoom(this.waiting[0])) {
      const item = this.waiting.shift()
      if (item.type === APPEND) {
        const { first, lengths, flags, framed } = item
        const answered = this.sent.find(({ type }) => type === APPEND)?.first ?? first
        this.highestSent = Math.max(this.highestSent, first + lengths.length - 1)
        this.socket.write(frame(APPEND, u64(first), u32(lengths.length), u64(answered - 1), u8(flags), framed))
      } else this.socket.write(frame(REQUEST, json({ request: item.request, ask: item.ask })))
      this.sent.push(item)
      this.frames++
    }
  }

  hasRoom (item) {
    const cost = this.sent.reduce((sum, item) => sum + costOf(item), costOf(item))
    if (cost > this.window && this.sent.length > 0) return false
    this.largestWindow = Math.max(this.largestWindow, cost)
    this.largestCount = Math.max(this.largestCount, this.sent.length + 1)
    return true
  }

  receive (type, body) {
    const message = type === ACK || body.length === 0 ? null : JSON.parse(body.toString())
    if (type === WELCOME) this.welcome(message)
    if (type === LOOK) this.looks++
    if (type === ACK && this.stored(runIn(body)) > this.published()) this.ackedBeforePublished++
    if (type === NACK) this.fail(asError(message.error), this.sent)
    if (type === REPLY) {
      const item = this.sent.find(({ request }) => request === message.request)
      this.sent = this.sent.filter(other => other !== item)
      if (message.error !== undefined) item.reject(asError(message.error))
      else item.resolve()
    }
    if (type === PONG) this.pongs.shift()()
    if (type === REFUSED) this.refused = asError(message.error)
    this.pump()
  }

  welcome ({ blockSize, window, checksum, isUnknown, runs }) {
    Object.assign(this, { blockSize, window, limit: blockSize - (checksum ? 10 : 6) })
    if (isUnknown) this.fail(new Error('it is unknown whether this was stored'), this.sent)
    for (const run of runs) this.stored(run)
    this.resent += this.sent.length
    this.waiting = [...this.sent, ...this.waiting]
    this.sent = []
    this.isWelcome = true
  }

  /** ACK, or a run in WELCOME: the first record is at `seq`, the others follow as they are packed. Returns where the last one ends. */
  stored ({ first, count, seq }) {
    const number = first + count - 1
    let [next, position] = [first, 0]
    for (const item of this.sent) {
      if (item.type !== APPEND) continue
      for (let i = next - item.first; i >= 0 && i < item.lengths.length && next <= number; i++, next++) {
        const length = item.lengths[i] + 4
        if (position !== 0 && position + length > this.limit) seq += this.blockSize - position
        item.seqs[i] = seq
        position = seq % this.blockSize + length
        seq += length
      }
    }
    if (next !== number + 1) throw new Error(`the owner acknowledged ${next} to ${number}, which was not sent`)
    const isDone = (item) => item.type === APPEND && Object.keys(item.seqs).length === item.lengths.length
    for (const item of this.sent.filter(isDone)) item.resolve(item.seqs)
    this.sent = this.sent.filter(item => !isDone(item))
    return seq
  }

  /** Where the log ends, by the first line of FILE.meta. */
  published () {
    return Number(fs.readFileSync(this.filename + '.meta', 'latin1').split('\n')[0].slice(9))
  }

  fail (error, items) {
    const failed = new Set(items.filter(({ type }) => type === APPEND))
    this.sent = this.sent.filter(item => !failed.has(item))
    for (const item of failed) item.reject(error)
  }

  close () {
    this.isClosed = true
    if (this.isWelcome) this.socket.end(frame(BYE))
    else this.socket.destroy()
    return new Promise(resolve => this.socket.closed ? resolve() : this.socket.once('close', resolve))
  }
}

module.exports = { PlainClient, frame, u32, u64 }
