'use strict'

// One process writes a log in a file, another one follows it: both are in this process, and all that the follower reads and is told
// is held back and released in a random order. See test/read/ends.js.

const { Gate, gateMessages } = require('./gated-fs')
const { logBehind } = require('../../lib/log')
const FlumeLog = require('../..')
const { FollowedAnswers } = require('./followed-answers')
const { FollowedLog, maxSize } = require('./followed-log')
const { promises } = require('./promises')
const { randomFrom } = require('./random')
const { collect } = require('./reading')

gateMessages()

/** Milliseconds after which what has not ended never will. */
const HANG = 20_000

const NOTHING = Buffer.alloc(0)

const turns = async (count) => {
  for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve))
}

/** Where the log ends, as far as it is known there. */
const endOf = (log) => {
  const { follower, blocks } = logBehind(log).state.opened
  return follower?.end ?? blocks.end
}

class Exploration {
  /**
   * @param {string} filename
   * @param {number} seed
   * @param {'client' | 'reader'} kind of the follower
   */
  constructor (filename, seed, kind) {
    const random = this.random = randomFrom(seed)
    this.filename = filename
    this.kind = kind
    const blockSize = random.pick([64, 96, 128, 256, 512])
    const checksum = random() < 0.7
    const large = random() < 0.3
    this.options = { blockSize, checksum, large, sync: random.pick(['always', 'interval', 'never']), ...(this.kind === 'client' ? { shared: true } : {}) }
    this.followerOptions = { ...this.options, cacheSize: random.pick([0, 1 << 20]), blocking: random() < 0.5, ...(this.kind === 'reader' ? { readOnly: true } : {}) }
    this.most = maxSize(blockSize, checksum)
    this.model = new FollowedLog()
    this.answers = new FollowedAnswers(this.model, kind)
    this.problems = this.answers.problems
    const share = random.pick([0.3, 0.7, 1])
    this.gate = new Gate(() => random() < share)
    /** The share of steps in which the log is changed. */
    this.haste = random.pick([0.2, 0.4, 0.7])
    /** Calls of the follower. @type {any[]} */
    this.calls = []
    this.pendingCalls = 0
    /** What is being done with the log. @type {Promise<void> | null} */
    this.busy = null
    /** When the follower had heard of all that was acknowledged. */
    this.settledAt = 0
    /** It has missed a compaction. */
    this.isOver = false
    /** Whether it has the log open. */
    this.isReady = false
    /** @type {string[]} */
    this.trail = []
  }

  note (line) {
    this.trail.push(line)
  }

  get follower () {
    return logBehind(this.reader.log).state.opened?.follower ?? null
  }

  async run () {
    const { random, gate } = this
    this.writer = promises(FlumeLog(this.filename, this.options))
    await this.writer.onReady()
    this.actor = this.writer
    this.model.generations.push({ id: this.writer.log.id, base: 0 })
    for (let left = random.below(4); left > 0; left--) await this.append()
    gate.isOpen = random() < 0.7
    this.reader = gate.run(() => promises(FlumeLog(this.filename, this.followerOptions)))
    const ready = this.reader.onReady().then(() => { this.isReady = true })
    if (gate.isOpen) await ready
    gate.shut()
    const steps = 20 + random.below(100)
    for (let step = 0; step < steps; step++) {
      await this.step()
      await turns(random.pick([0, 0, 1, 3, 10]))
      if (this.failed || this.isOver) break
    }
    await this.settle('the end')
    await this.compareAll()
    gate.open()
    const closedAt = this.model.now
    await this.within(this.reader.close().catch(err => this.endIfMissed(err)), 'close of the follower')
    await this.within(this.writer.close(), 'close of the writer')
    await turns(3)
    // with its log, those end that wait
    for (const call of this.calls) if (call.answeredAt <= closedAt) this.answers.check(call)
    for (const { what, about } of this.calls.filter(({ answeredAt }) => answeredAt === Infinity)) this.problems.push(`${what} ${about} was never answered`)
  }

  async within (promise, what) {
    let timer
    const late = new Promise((resolve, reject) => { timer = setTimeout(() => reject(new Error(`hang: ${what}`)), HANG) })
    try {
      return await Promise.race([promise, late])
    } finally {
      clearTimeout(timer)
    }
  }

  // The writer

  act (what) {
    if (this.busy !== null) return
    const isByFollower = what !== 'reopen' && this.kind === 'client' && this.isReady && this.reader.log.id === this.writer.log.id && this.random() < 0.2
    /** Who does it. */
    this.actor = isByFollower ? this.reader : this.writer
    const who = isByFollower ? 'follower' : 'writer'
    this.note(`${who}: ${what}`)
    const run = async () => {
      // a client acts on what it has heard of
      await this.writer.sync()
      await this[what]()
    }
    this.busy = (isByFollower ? this.gate.run(run) : run()).then(() => this.note(`${who}: done: ${what}`)).catch(err => isByFollower ? this.endIfMissed(err) : Promise.reject(err)).catch(err => {
      this.problems.push(`${who}: ${what}: ${err.stack}`)
    }).finally(() => { this.busy = null })
    return this.busy
  }

  async append () {
    const { random, model, most, options } = this
    const count = random.pick([1, 1, 2, 5, 10])
    const size = () => options.large && random() < 0.1 ? 1 + random.below(5 * options.blockSize) : 1 + random.below(random() < 0.8 ? Math.min(40, most) : most)
    const values = Array.from({ length: count }, () => model.make(size()))
    const made = model.records.slice(-count)
    const seqs = await Promise.all(values.map(value => this.actor.append(value)))
    model.tick()
    made.forEach((record, i) => model.place(record, seqs[i]))
  }

  seqOf (record) {
    return record.seqs.at(-1)
  }

  /**
   * @param {any[]} records
   * @param {(seq: number) => any} [what] to delete
   */
  async delete (records, what) {
    const { model, actor } = this
    model.going(records)
    if (what !== undefined) {
      await actor.del(what)
      return model.gone(records)
    }
    await Promise.all(records.map(async (record) => {
      try {
        await actor.del(this.seqOf(record))
        model.gone([record])
      } catch (err) {
        // it may not have heard of it
        if (actor === this.writer || err.code !== 'flumelog:not-found') throw err
        record.goingAt = Infinity
      }
    }))
  }

  async deleteOne () {
    const { alive } = this.model
    if (alive.length === 0) return
    const record = this.random.pick(this.random() < 0.5 ? alive : alive.slice(-5))
    await this.delete([record])
  }

  async deleteBlock () {
    const { random, options: { blockSize }, model: { alive } } = this
    if (alive.length === 0) return
    const block = Math.floor(this.seqOf(random.pick(random() < 0.5 ? alive : alive.slice(-8))) / blockSize)
    const records = alive.filter(record => Math.floor(this.seqOf(record) / blockSize) === block)
    await this.delete(records)
  }

  async deleteRange () {
    const { random, model: { alive } } = this
    if (alive.length === 0) return
    const first = random.below(alive.length)
    const records = alive.slice(first, first + 1 + random.below(12))
    // it deletes what it knows of
    if (this.actor.log.since.value < this.seqOf(records.at(-1))) this.actor = this.writer
    await this.delete(records, { gte: this.seqOf(records[0]), lte: this.seqOf(records.at(-1)) })
  }

  async trim () {
    const { random, model, model: { alive } } = this
    if (alive.length === 0) return
    const lt = random() < 0.1 ? Infinity : this.seqOf(random.pick(alive)) + 1
    const at = model.tick()
    model.moves.push({ what: 'trim', at })
    const going = alive.filter(record => this.seqOf(record) < lt)
    for (const record of going) Object.assign(record, { goingAt: at, isTrimmed: true })
    const start = await this.actor.trim({ lt })
    await this.writer.sync()
    for (const record of going) if (this.seqOf(record) >= start && record.value.length <= this.most) Object.assign(record, { goingAt: Infinity, isTrimmed: false })
    const gone = going.filter(({ isTrimmed }) => isTrimmed)
    // large ones may have lost a part
    const { alive: left } = model
    const there = new Set(await collect(this.writer.log, { values: false }))
    for (const record of gone) {
      if (there.has(this.seqOf(record))) Object.assign(record, { goingAt: Infinity, isTrimmed: false })
    }
    for (const record of left) if (!there.has(this.seqOf(record))) this.problems.push(`trim to ${start} has lost record ${record.number}`)
    model.gone(gone.filter(({ isTrimmed }) => isTrimmed))
    this.note(`writer: starts at ${start}`)
  }

  async reclaim () {
    await this.actor.reclaim()
  }

  async compact () {
    const { model, writer } = this
    // of two, a reader may miss the first
    if (this.kind === 'reader' && this.reader.log.id !== writer.log.id && this.random() < 0.8) return
    model.moves.push({ what: 'compaction', at: model.tick() })
    const dropped = model.records.filter(({ goneAt }) => goneAt < Infinity)
    const options = this.random() < 0.3 && this.actor.log.role !== 'client' ? { keep: () => true } : {}
    await new Promise((resolve, reject) => this.actor.log.compact(options, err => err ? reject(err) : resolve()))
    await writer.sync()
    model.gone(dropped)
    if (this.isNew(writer.log)) model.generations.push({ id: writer.log.id, base: writer.log.start })
    const { alive } = model
    const found = await collect(writer.log)
    if (found.length !== alive.length) this.problems.push(`compact: ${found.length} records are left of ${alive.length}`)
    for (const { seq, value } of found) model.place(model.recordOf(value), seq)
    this.note(`writer: base is ${writer.log.start}`)
  }

  isNew ({ id }) {
    return this.model.generations.every(generation => generation.id !== id)
  }

  async reopen () {
    // a client that may lock the log takes it over
    if (this.kind === 'client' && !this.isReady) return
    this.gate.mayLock = this.random() < 0.4
    this.model.moves.push({ what: 'opening', at: this.model.tick() })
    await this.writer.close()
    await turns(this.random.below(this.gate.mayLock ? 500 : 5))
    this.writer = promises(FlumeLog(this.filename, this.options))
    await this.writer.onReady()
    this.note(`writer: is ${this.writer.log.role}`)
  }

  // The follower

  /** @param {any} call */
  ask (call, start) {
    const { model } = this
    const { log } = this.reader
    Object.assign(call, { askedAt: model.tick(), settledAt: this.settledAt, since: log.since.value, id: log.id, answeredAt: Infinity, answer: undefined, code: null })
    this.calls.push(call)
    if (!call.isLive) this.pendingCalls++
    this.note(`follower: ${call.what} ${call.about} (knows ${call.since})`)
    const end = (code, answer) => {
      if (call.answeredAt !== Infinity) this.problems.push(`${call.what} was answered twice`)
      if (!call.isLive) this.pendingCalls--
      Object.assign(call, { answeredAt: model.tick(), code, answer })
      this.note(`follower: ${call.what} ${call.about} -> ${code ?? this.shown(answer)}`)
    }
    this.gate.run(() => start((err, answer) => err ? end(err.code ?? String(err.stack), null) : end(null, answer)))
  }

  shown (answer) {
    const one = ({ seq, value }) => `${seq}:${value.length >= 4 ? value.readUInt32LE(0) - 1 : value.toString('hex')}`
    return Array.isArray(answer) ? answer.map(one).join(' ') : one(answer)
  }

  pickSeq () {
    const { random, model } = this
    const placed = model.records.filter(({ seqs }) => seqs.length > 0)
    if (placed.length === 0) return null
    const record = random.pick(random() < 0.5 ? placed : placed.slice(-12))
    return random() < 0.8 ? this.seqOf(record) : random.pick(record.seqs)
  }

  get () {
    const seq = this.pickSeq()
    if (seq === null) return
    this.ask({ what: 'get', about: seq, seq }, cb => this.reader.log.get(seq, (err, value) => cb(err, { seq, value })))
  }

  getPrevious () {
    const seq = this.pickSeq()
    if (seq === null) return
    this.ask({ what: 'getPrevious', about: seq, seq }, cb => this.reader.log.getPrevious(seq, (err, value, seq) => cb(err, { seq, value })))
  }

  search () {
    const number = this.random.below(this.model.records.length + 1)
    this.ask({ what: 'search', about: number, number }, cb => this.reader.log.search(value => value.readUInt32LE(0) - 1 - number, (err, seq, value) => cb(err, { seq, value })))
  }

  stream () {
    const { random } = this
    const seq = random() < 0.3 ? this.pickSeq() : null
    const reverse = random() < 0.4
    const fromStart = random() < 0.3
    const bound = seq === null ? {} : { [random.pick(['gt', 'gte', 'lt', 'lte'])]: seq }
    this.collect({ ...bound, reverse, fromStart }, seq)
  }

  collect (options, seq) {
    const given = []
    this.ask({ what: 'stream', about: JSON.stringify(options), options, seq, given }, cb => this.drain(this.reader.log.stream(options), given, err => cb(err, given)))
  }

  live () {
    if (this.calls.filter(({ what, answeredAt }) => what === 'live' && answeredAt === Infinity).length > 2) return
    const options = { live: true, fromStart: this.random() < 0.6, ...(this.random() < 0.2 ? { old: false } : {}) }
    const given = []
    this.ask({ what: 'live', isLive: true, about: JSON.stringify(options), options, seq: null, given }, cb => this.drain(this.reader.log.stream(options), given, err => cb(err, given)))
  }

  /** Reads a stream, pausing now and then. */
  drain (source, given, cb) {
    const { random, gate } = this
    const next = () => source(null, (end, item) => {
      if (end) return cb(end === true ? null : end)
      given.push(item)
      if (random() < 0.1) gate.hold('pause', next)
      else if (random() < 0.3) setImmediate(next)
      else next()
    })
    next()
  }

  // Steps

  get failed () {
    return this.problems.length > 0
  }

  async step () {
    const { random, gate } = this
    if (random() < 0.02) return this.settle('a pause')
    const what = random()
    if (random() < this.haste) {
      const done = this.act(this.pickAct())
      if (done !== undefined) await Promise.race([done, turns(random.pick([0, 30, 300]))])
    } else if (what < 0.3) {
      random.pick([this.get, this.get, this.getPrevious, this.search, this.stream, this.stream, this.live]).call(this)
    } else if (what < 0.65) {
      for (let left = 1 + random.below(20); left > 0 && gate.calls.length > 0; left--) {
        this.note(`release ${gate.releaseCall(random.below)}`)
        if (random() < 0.8) await this.calm()
      }
    } else if (what < 0.9) {
      for (let left = 1 + random.below(3); left > 0 && gate.messages.length > 0; left--) {
        this.note(`release ${gate.releaseMessage()}`)
        await turns(random.below(3))
      }
    } else if (this.kind === 'reader') gate.run(() => this.follower?.poll?.())
  }

  pickAct () {
    const { random } = this
    return random.pick(['append', 'append', 'append', 'append', 'deleteOne', 'deleteBlock', 'deleteBlock', 'deleteRange', 'trim', 'reclaim', 'compact', 'reopen'])
  }

  /**
   * @param {any} err of the follower
   * @throws that, unless the follower may fail
   */
  endIfMissed (err) {
    this.isOver ||= this.answers.mayMissCompactions(this.settledAt, Infinity)
    if (err.code !== 'flumelog:replaced' || !this.isOver) throw err
  }

  /** Waits until nothing more happens unless something is released, as far as can be seen. */
  async calm () {
    for (let left = 20; left > 0; left--) {
      await turns(2)
      if (this.gate.pending === 0) return
    }
  }

  /** Releases everything, and waits until all calls are answered and the follower knows all that is acknowledged. */
  async settle (what) {
    const { gate, model } = this
    if (this.isOver) return
    this.note(`settle: ${what}`)
    gate.open()
    await this.within(this.busy, 'writer')
    await this.within((async () => {
      while (!this.failed) {
        const at = model.now
        await this.reader.onReady()
        if (this.kind === 'client') await Promise.all([this.reader.sync(), this.writer.sync()])
        else await new Promise((resolve, reject) => gate.run(() => this.follower.catchUp(err => err ? reject(err) : resolve())))
        const isSame = this.reader.log.id === this.writer.log.id && endOf(this.reader.log) === endOf(this.writer.log)
        if (this.pendingCalls === 0 && gate.isQuiet && isSame && at === model.now) break
        await new Promise(resolve => setTimeout(resolve, 1))
      }
    })().catch(err => this.endIfMissed(err)), `settle: ${this.pendingCalls} calls are pending: ${this.calls.filter(({ answeredAt }) => answeredAt === Infinity).map(({ what, about }) => `${what} ${about}`)}; ${this.calls.length}`).catch(err => {
      this.problems.push(`${what}: ${err.stack} end ${endOf(this.reader.log)} ${endOf(this.writer.log)} id ${this.reader.log.id} ${this.writer.log.id} pending ${this.pendingCalls} quiet ${gate.isQuiet} ${gate.pending} ${gate.calls.length} ${gate.messages.length}`)
    })
    gate.shut()
    this.settledAt = model.tick()
  }

  async compareAll () {
    const { model, gate, reader } = this
    if (this.failed || this.isOver) return
    gate.open()
    const found = await this.within(gate.run(() => collect(reader.log)), 'the last stream').catch(err => { this.problems.push(`the last stream: ${err.stack}`) })
    if (this.failed) return
    const wanted = model.alive.map(record => ({ seq: this.seqOf(record), value: record.value }))
    if (this.shown(found) !== this.shown(wanted)) this.problems.push(`at the end: it has ${this.shown(found)}, not ${this.shown(wanted)}`)
    const last = model.alive.at(-1)
    for (const call of this.calls.filter(({ what, answeredAt }) => what === 'live' && answeredAt === Infinity)) {
      const isDone = () => call.options.old === false || last === undefined || Number(model.recordOf(call.given.at(-1)?.value ?? NOTHING)?.number) >= last.number
      for (const until = Date.now() + HANG; !isDone() && Date.now() < until;) await new Promise(resolve => setTimeout(resolve, 1))
      this.answers.checkLive(call)
    }
  }
}

/**
 * @param {string} filename
 * @param {number} seed
 * @param {'client' | 'reader'} kind of the follower
 * @returns {Promise<{ problems: string[], trail: string[] }>} what was wrong, and what was done
 */
async function explore (filename, seed, kind) {
  const exploration = new Exploration(filename, seed, kind)
  await exploration.run().catch(err => { exploration.problems.push(err.stack) })
  return exploration
}

module.exports = { explore }
