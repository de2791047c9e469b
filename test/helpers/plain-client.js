'use strict'

// A client of a shared log that was written from docs/protocol.md and format.md alone: it uses
// nothing of lib/. It shows that those pages are enough to write one.

const crypto = require('crypto')
const fs = require('fs')
const net = require('net')

const HELLO = 1; const APPEND = 2; const DELETE = 3; const SYNC = 4; const PING = 5; const BYE = 6
const WELCOME = 16; const LOOK = 17; const ACK = 18; const NACK = 19; const REPLY = 20; const PONG = 22; const REFUSED = 23
const DURABLE = 1; const ATOMIC = 2
const CHECKSUMS = 1; const UNKNOWN = 2
const MAX_FRAMES = 256
const MAX_REQUESTS = 4096
const RETRY = 5 // ms

const u8 = (value) => Buffer.from([value])
const u16 = (value) => { const bytes = Buffer.alloc(2); bytes.writeUInt16LE(value); return bytes }
const u32 = (value) => { const bytes = Buffer.alloc(4); bytes.writeUInt32LE(value); return bytes }
const u64 = (value) => { const bytes = Buffer.alloc(8); bytes.writeBigUInt64LE(BigInt(value)); return bytes }
const readU64 = (bytes, at) => Number(bytes.readBigUInt64LE(at))
const frame = (type, ...body) => { const bytes = Buffer.concat(body); return Buffer.concat([u32(bytes.length + 1), u8(type), bytes]) }
const asError = (bytes) => { const { message, ...details } = JSON.parse(bytes.toString()); return Object.assign(new Error(message), details) }

/** Everything that is asked of the owner is an item: `waiting` to be sent, then `sent`, in order; when the connection breaks, it is sent again. */
class PlainClient {
  /** @param {string} filename of the log */
  constructor (filename) {
    Object.assign(this, { filename, id: crypto.randomBytes(16), number: 0, highestSent: 0, request: 0, waiting: [], sent: [], pongs: [], looks: 0 })
    Object.assign(this, { connections: 0, resent: 0, frames: 0, largestWindow: 0, largestCount: 0, ackedBeforePublished: 0, refused: null, isWelcome: false, isClosed: false })
    this.connect()
  }

  connect () {
    const name = this.filename + '.socket'
    const isLink = fs.lstatSync(name, { throwIfNoEntry: false })?.isSymbolicLink()
    let rest = Buffer.alloc(0)
    this.socket = net.connect(isLink ? fs.readlinkSync(name) : name, () => {
      this.connections++
      this.socket.write(frame(HELLO, Buffer.from('flumelog'), u8(3), this.id, u64(this.answered), u64(this.highestSent), u32(process.pid)))
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
    return this.ask({ type: APPEND, first, lengths: records.map(({ length }) => length), flags, framed, size: framed.length + 30, seqs: [] })
  }

  delete (seq) { return this.ask({ type: DELETE, request: ++this.request, body: u64(seq) }) }
  sync () { return this.ask({ type: SYNC, request: ++this.request, body: Buffer.alloc(0) }) }
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
        this.socket.write(frame(APPEND, u32(this.epoch), u64(first), u32(lengths.length), u64(answered - 1), u8(flags), framed))
      } else this.socket.write(frame(item.type, u32(item.request), item.body))
      this.sent.push(item)
      this.frames++
    }
  }

  hasRoom (item) {
    if (item.type !== APPEND) return this.sent.filter(({ type }) => type !== APPEND).length < MAX_REQUESTS
    const appends = this.sent.filter(({ type }) => type === APPEND)
    const size = appends.reduce((sum, { size }) => sum + size, item.size)
    if (size > this.window || appends.length === MAX_FRAMES) return false
    this.largestWindow = Math.max(this.largestWindow, size)
    this.largestCount = Math.max(this.largestCount, appends.length + 1)
    return true
  }

  receive (type, body) {
    if (type === WELCOME) this.welcome(body)
    if (type === LOOK) this.looks++
    if (type === ACK && this.stored(body) > this.published()) this.ackedBeforePublished++
    if (type === NACK) {
      this.epoch = body.readUInt32LE(0)
      this.fail(asError(body.subarray(4)), this.sent)
    }
    if (type === REPLY) {
      const item = this.sent.find(({ request }) => request === body.readUInt32LE(0))
      this.sent = this.sent.filter(other => other !== item)
      if (body.length > 4) item.reject(asError(body.subarray(4)))
      else item.resolve()
    }
    if (type === PONG) this.pongs.shift()()
    if (type === REFUSED) this.refused = asError(body)
    this.pump()
  }

  welcome (body) {
    const flags = body[1]
    Object.assign(this, { blockSize: body.readUInt32LE(2), window: body.readUInt32LE(6), epoch: body.readUInt32LE(10) })
    this.limit = this.blockSize - ((flags & CHECKSUMS) !== 0 ? 10 : 6)
    const stored = readU64(body, 14)
    if ((flags & UNKNOWN) !== 0) this.fail(new Error('it is unknown whether this was stored'), this.sent)
    for (let i = 0; i < body.readUInt32LE(22); i++) this.stored(body.subarray(26 + i * 20, 46 + i * 20))
    this.fail(new Error('this was not stored'), this.sent.filter(({ type, first, lengths }) => type === APPEND && first + lengths.length - 1 <= stored))
    this.resent += this.sent.length
    this.waiting = [...this.sent, ...this.waiting]
    this.sent = []
    this.isWelcome = true
  }

  /** ACK, or a run in WELCOME: the first record is at `seq`, the others follow as they are packed. Returns where the last one ends. */
  stored (run) {
    const number = readU64(run, 0)
    let [next, seq, position] = [number - run.readUInt32LE(8) + 1, readU64(run, 12), 0]
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
