'use strict'

// A log that is written, and read-only from the same file, with streams that are pulled now and then: what they may pass over is
// compared with an array. See test/read/slow-streams.js.

const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { logBehind } = require('../../lib/log')
const { promised } = require('../../lib/callbacks')
const { promises } = require('./promises')
const { randomFrom } = require('./random')
const { collect, event } = require('./reading')

/** Steps, by how often they are taken. */
const STEPS = { append: 2, deleteOne: 1, deleteRange: 1, trim: 1, compact: 2, open: 2, pull: 4, catchUp: 2, scan: 1, reclaim: 1, reopen: 0.3 }
const NAMES = Object.keys(STEPS)
const TOTAL = Object.values(STEPS).reduce((sum, weight) => sum + weight)

const numberOf = (value, position = 0) => value.readUInt32LE(position) - 1
const last = (list) => Math.max(-1, ...list.map(({ number }) => number))

/**
 * @typedef {object} Record
 * @property {number} number
 * @property {Buffer} value
 * @property {number} seq -1: it is being appended
 * @property {number} first its first chunk is here, or behind it
 * @property {boolean} isDeleted
 * @property {boolean} isGone deleted or trimmed
 */

class SlowStreams {
  /**
   * @param {string} filename
   * @param {number} seed
   */
  constructor (filename, seed) {
    const random = this.random = randomFrom(seed)
    this.filename = filename
    const blockSize = random.pick([64, 96, 128, 256])
    const checksum = random() < 0.3
    const large = random() < 0.7
    this.retain = random() < 0.7 ? random.pick([{ bytes: 500 }, { bytes: 3000 }, { records: 5 }, { records: 20 }, { records: 60 }]) : undefined
    this.options = { blockSize, checksum, large, retain: this.retain, sync: random.pick(['always', 'interval', 'never', 'never']), cacheSize: random.pick([0, 1 << 20]) }
    this.readerOptions = { blockSize, checksum, large, readOnly: true, cacheSize: random.pick([0, 1 << 20]), blocking: random() < 0.5 }
    this.most = layout.maxRecordSize(blockSize, checksum)
    /** @type {Record[]} */
    this.records = []
    /** @type {any[]} */
    this.streams = []
    this.isReopening = false
    /** @type {string[]} */
    this.problems = []
    /** @type {string[]} */
    this.trail = [JSON.stringify([this.options, this.readerOptions])]
  }

  /** Those that are there for certain. */
  get alive () {
    const { records, isReopening } = this
    return isReopening ? [] : records.filter(({ isGone, seq, first }) => !isGone && seq !== -1 && first >= this.writer.log.start)
  }

  async run () {
    const { random, problems } = this
    await this.openWriter()
    for (let left = 1 + random.below(12); left > 0; left--) await this.append()
    await this.writer.sync()
    this.reader = promises(FlumeLog(this.filename, this.readerOptions))
    await this.reader.onReady()
    for (let left = 20 + random.below(60); left > 0 && problems.length === 0; left--) {
      const deleted = this.countDeleted()
      const name = this.pickStep()
      this.trail.push(name)
      await this[name]()
      await this.pause(6)
      if (this.retain !== undefined) await this.checkKept(this.countDeleted() - deleted)
    }
    for (const stream of this.streams) {
      while (!stream.isOver && problems.length === 0) await (stream.pulling ?? this.pullOne(stream))
    }
    await this.reader.close()
    await this.writer.close()
  }

  pickStep () {
    let at = this.random() * TOTAL
    return NAMES.find(name => (at -= STEPS[name]) < 0) ?? NAMES[0]
  }

  /** @param {number} most turns */
  async pause (most) {
    for (let left = this.random.below(most); left > 0; left--) await event(setImmediate)
  }

  // What changes the log

  async openWriter () {
    this.writer = promises(FlumeLog(this.filename, this.options))
    await this.writer.onReady()
  }

  async append () {
    const { random, records, most, options: { large, blockSize } } = this
    const size = () => large && random() < 0.25 ? random.below(6 * blockSize) : random.below(random() < 0.8 ? Math.min(40, most) : most + 1)
    const made = Array.from({ length: random.pick([1, 1, 2, 5, 20]) }, (_, i) => {
      const number = records.length + i
      const value = Buffer.alloc(Math.max(4, size()), number % 250 + 1)
      value.writeUInt32LE(number + 1)
      return { number, value, seq: -1, first: 0, isDeleted: false, isGone: false }
    })
    records.push(...made)
    let before = Math.max(0, this.writer.log.since.value)
    const seqs = await Promise.all(made.map(({ value }) => this.writer.append(value)))
    made.forEach((record, i) => {
      this.place(record, seqs[i], before)
      before = seqs[i]
    })
  }

  /**
   * @param {Record} record
   * @param {number} seq
   * @param {number} before seq of the record before it
   */
  place (record, seq, before) {
    record.first = record.value.length > this.most ? before : seq
    record.seq = seq
  }

  countDeleted () {
    return this.records.filter(({ isDeleted }) => isDeleted).length
  }

  deleteOne () {
    return this.delete(1)
  }

  deleteRange () {
    return this.delete(1 + this.random.below(15))
  }

  /** @param {number} count */
  async delete (count) {
    const { alive } = this
    const first = this.random.below(alive.length)
    const going = alive.slice(first, first + count)
    if (going.length === 0) return
    for (const record of going) record.isDeleted = record.isGone = true
    const [from, to] = [going[0].seq, going[going.length - 1].seq]
    // retention may be faster
    await this.writer.del(count === 1 ? from : { gte: from, lte: to }).catch(err => { if (err.code !== 'flumelog:trimmed') throw err })
  }

  async trim () {
    const { alive } = this
    if (alive.length === 0) return
    const { seq: lt } = this.random.pick(alive)
    const start = await this.writer.trim({ lt })
    for (const record of this.records) if (record.seq < lt && record.first < start) record.isGone = true
  }

  async reclaim () {
    await this.writer.reclaim()
  }

  async reopen () {
    this.isReopening = true
    for (const stream of this.streams) if (stream.log === this.writer.log) stream.isOver = true
    await this.writer.close()
    await this.openWriter()
    this.isReopening = false
  }

  /** While streams are pulled. The reader has heard of the compaction before it: of two, it may miss one. */
  async compact () {
    await this.catchUp()
    const compacting = { isOver: false }
    const pulling = (async () => {
      while (!compacting.isOver) {
        if (this.random() < 0.5) await this.pull()
        else await event(setImmediate)
      }
    })()
    const { log } = this.writer
    const { id } = log
    await promised(cb => log.compact(this.random() < 0.3 ? { keep: () => true } : {}, cb))
    compacting.isOver = true
    await pulling
    if (log.id === id) return
    const found = new Map((await collect(log, { fromStart: true })).map(({ seq, value }) => [numberOf(value), seq]))
    let before = log.start
    for (const record of this.records) {
      const seq = found.get(record.number)
      if (seq === undefined) record.isGone = true
      else {
        this.place(record, seq, before)
        before = seq
      }
    }
  }

  // Readers

  async catchUp () {
    const { follower } = logBehind(this.reader.log).state.opened
    await promised(cb => follower.catchUp(cb))
  }

  open () {
    const { random, reader, writer } = this
    if (reader.log.id !== writer.log.id) return
    const { log } = random() < 0.6 ? reader : writer
    const options = { reverse: random() < 0.5, fromStart: random() < 0.5, cache: random() < 0.7 }
    const known = last(this.records.filter(({ seq }) => seq !== -1 && seq <= log.since.value))
    this.streams.push({ log, options, known, source: log.stream(options), before: options.reverse ? Infinity : -1, isOver: false, pulling: null })
  }

  /** Some records of a stream, which are waited for, or not. */
  async pull () {
    const { random } = this
    const open = this.streams.filter(({ isOver, pulling }) => !isOver && pulling === null)
    if (open.length === 0) return
    const stream = random.pick(open)
    const pulled = this.pullSome(stream, random.pick([1, 1, 2, 5, 20]))
    stream.pulling = pulled.finally(() => { stream.pulling = null })
    if (random() < 0.7) await stream.pulling
  }

  async pullSome (stream, count) {
    for (; count > 0 && !stream.isOver; count--) await this.pullOne(stream)
  }

  async pullOne (stream) {
    const { options: { reverse, fromStart }, before } = stream
    const [end, item] = await event(resolve => stream.source(null, (...answer) => resolve(answer)))
    if (stream.isOver) return
    if (end) {
      stream.isOver = true
      if (end === true) this.checkBetween(stream, reverse ? -1 : before, reverse ? before : Infinity)
      else if (end.code !== 'flumelog:trimmed' || fromStart || reverse) this.problem(stream, end.stack)
      return
    }
    const number = numberOf(item.value)
    this.trail.push(`stream ${this.streams.indexOf(stream)} gives ${number} at ${item.seq}`)
    if (!this.records[number]?.value.equals(item.value)) return this.problem(stream, `has a wrong value at ${item.seq}`)
    if (reverse ? number >= before : number <= before) this.problem(stream, `gives ${number} after ${before}`)
    this.checkBetween(stream, Math.min(number, before), Math.max(number, before))
    stream.before = number
  }

  checkBetween (stream, from, to) {
    const missed = this.alive.filter(({ number }) => number > from && number < to && number <= stream.known)
    if (missed.length > 0) this.problem(stream, `passes over ${missed.map(({ number, seq }) => `${number} at ${seq}`)}; the log starts at ${this.writer.log.start}`)
  }

  problem (stream, why) {
    this.problems.push(`stream ${this.streams.indexOf(stream)} ${JSON.stringify(stream.options)} of the ${stream.log === this.reader.log ? 'reader' : 'writer'}: ${why}`)
  }

  async scan () {
    const known = last(this.records)
    const found = new Set()
    await promised(cb => this.writer.log.scan({ fromStart: true, reverse: this.random() < 0.3 }, (block, start) => { found.add(numberOf(block, start)) }, cb))
    const missed = this.alive.filter(({ number }) => number <= known && !found.has(number))
    if (missed.length > 0) this.problems.push(`scan misses ${missed.map(({ number }) => number)}`)
  }

  /** @param {number} deleted records in this step, when retention may have counted them still */
  async checkKept (deleted) {
    const start = this.writer.log.start
    const found = new Set((await collect(this.writer.log, { fromStart: true })).map(({ value }) => numberOf(value)))
    const there = this.records.filter(({ isGone }) => !isGone)
    const lost = there.filter(({ number }) => !found.has(number))
    const missed = lost.filter(({ first }) => first >= Math.max(start, this.writer.log.start))
    if (missed.length > 0) this.problems.push(`a stream of the writer misses ${missed.map(({ number }) => number)}`)
    const { records } = /** @type {any} */ (this.retain)
    if (records !== undefined && lost.length > 0 && found.size + deleted < Math.min(records, there.length)) {
      this.problems.push(`retention has left ${found.size} of ${there.length} records`)
    }
    for (const record of lost) record.isGone = true
  }
}

/**
 * @param {string} filename
 * @param {number} seed
 * @returns {Promise<{ problems: string[], trail: string[] }>} what was wrong, and what was done
 */
async function readSlowly (filename, seed) {
  const life = new SlowStreams(filename, seed)
  await life.run().catch(err => { life.problems.push(err.stack) })
  return life
}

module.exports = { readSlowly }
