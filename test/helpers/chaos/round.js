'use strict'

// Processes that share a log, and what is done to them: some are killed, others stopped, the
// socket is deleted, the disk becomes full.

const fs = require('fs')
const path = require('path')
const FlumeLog = require('../../..')
const { start } = require('../processes')
const { isIntact, numberOf } = require('../numbered')
const { promises } = require('../promises')
const { collect } = require('../reading')
const { randomFrom } = require('../random')
const { signal } = require('../runtime')
const { inTime } = require('../sharing')
const { ACTIONS, wait } = require('./actions')
const { History } = require('./history')

const MOST_WRITERS = 8

class Round {
  /**
   * @param {import('tape').Test} t
   * @param {{ file: string, seed: number, firstMember: number, disk: any, actions: RegExp, blocks: number | null }} settings disk: one that can be filled, or null; actions: names of those that are taken;
   *   blocks: milliseconds for which each event loop is blocked now and then, null: as it comes
   */
  constructor (t, { file, seed, firstMember, disk, actions, blocks }) {
    this.t = t
    this.actions = actions
    this.file = file
    this.disk = disk
    this.seed = seed
    const random = this.random = randomFrom(seed)
    this.member = firstMember
    this.history = new History()
    if (disk !== null) this.history.expected.push('ENOSPC')
    this.options = {
      blockSize: random.pick([256, 1024, 4096, 65536]),
      checksum: random() < 0.8,
      sync: random.pick(['interval', 'interval', 'always', 'never']),
      syncInterval: 20,
      ackInterval: random.pick([0, 0, 3]),
      large: random() < 0.4,
      ...random() < 0.2 && { retain: random.pick([{ bytes: 500000 }, { records: 1000 }]) }
    }
    this.history.retains = this.options.retain !== undefined
    /** What processes do beside appending, and deleting single records. */
    this.does = { reads: random() < 0.8, removing: random.pick([0.02, 0.06]), removes: random.pick([null, ['range', 'blocks'], ['range', 'blocks', 'blocks', 'trim', 'reclaim'], ['trim'], ['range', 'blocks', 'blocks', 'trim', 'reclaim']]) }
    /** Milliseconds for which event loops are blocked now and then, as on a busy machine. */
    this.blocks = blocks ?? random.pick([0, 0, 20, 100])
    /** How many there are: fewer have more to do at the same time. */
    this.most = { writers: random.pick([4, 4, 6, MOST_WRITERS]), readers: random.pick([1, 2]) }
    /** Those that are alive. @type {any[]} */
    this.writers = []
    this.readers = []
    this.owner = null
    this.isRefilling = false
    this.takeovers = 0
    this.counts = {}
    this.onchange = () => {}
  }

  spawn (isReader) {
    const { t, file, random } = this
    const member = this.member++
    const options = { ...this.options, timeout: random.pick([250, 10000, 10000]), cacheSize: random.pick([0, 2 ** 20, 2 ** 26]) }
    const does = { ...this.does, blocks: random() < 0.5 ? this.blocks : 0 }
    const process = start(t, 'chaos-member.js', { file, options: isReader ? { checksum: options.checksum, large: options.large, cacheSize: random.pick([0, 2 ** 20]) } : options, member, isReader, does, seed: random.below(2 ** 31) })
    const list = isReader ? this.readers : this.writers
    const one = { process, member, isReader, name: `${isReader ? 'reader' : 'process'} ${member} (pid ${process.child.pid})`, isDoomed: false, isStopped: false }
    list.push(one)
    let told = 0
    const look = () => {
      for (; told < process.messages.length; told++) {
        const message = process.messages[told]
        this.history.add(one.name, message)
        if (message.what === 'replaced' || (message.what === 'refused' && message.code === 'flumelog:replaced')) one.isDoomed = true
        if (message.what === 'role' && message.role === 'owner') this.hasOwner(one)
      }
      if (process.isOver) this.isGone(one, list)
      this.onchange()
    }
    process.listeners.add(look)
    return one
  }

  hasOwner (one) {
    if (this.owner !== null) this.takeovers++
    this.owner = one
  }

  isGone (one, list) {
    const index = list.indexOf(one)
    if (index === -1) return
    list.splice(index, 1)
    this.refill()
    if (!one.isDoomed) this.history.problems.push(`${one.name} has ended by itself: ${one.process.child.exitCode} ${one.process.child.signalCode} ${one.process.stderr}`)
  }

  /** @param {() => any} isSo */
  async until (isSo, what) {
    try {
      await inTime(new Promise((resolve, reject) => {
        this.onchange = () => {
          if (this.history.problems.length > 0) reject(new Error(this.history.problems[0]))
          else if (isSo()) resolve()
        }
        this.onchange()
      }), what)
    } catch (err) {
      // those that are killed now are the last ones
      this.isRefilling = false
      await this.explain(err)
      throw err
    } finally {
      this.onchange = () => {}
    }
  }

  /**
   * A reader that is far behind may take long to get there on a busy machine.
   * @param {() => Promise<void>} wait which fails after a while, when all processes have been looked at
   */
  async whileItGoesOn (wait) {
    const progress = () => JSON.stringify([...this.writers, ...this.readers].map(({ process }) => lookedAt(process)?.stats.size))
    for (let before = ''; ;) {
      try {
        return await wait()
      } catch (err) {
        const now = progress()
        if (now === before || this.history.problems.length > 0) throw err
        before = now
      }
    }
  }

  /** Adds to an error what each process knows. */
  async explain (err) {
    err.message += `\nafter ${this.takeovers} takeovers of ${JSON.stringify({ seed: this.seed, ...this.options, counts: this.counts })}, owner ${this.owner?.name}`
    const all = [...this.writers, ...this.readers]
    for (const one of all) one.process.send({ look: true })
    await wait(1000)
    for (const one of all) err.message += `\n${one.name}${one.isStopped ? ', stopped' : ''}: ${brief(one.process)}`
  }

  async run (takeovers) {
    fs.mkdirSync(path.dirname(this.file))
    while (this.writers.length < this.most.writers) this.spawn(false)
    await this.until(() => this.owner !== null, 'the first owner')
    this.t.teardown(() => { this.isRefilling = false })
    this.mayStart(true)
    while (this.takeovers < takeovers) {
      await wait(this.random.pick([0, 5, 20, 60, 120]))
      await this.act()
      await this.until(() => !this.owner.isDoomed, 'an owner')
    }
    await this.opened()
    this.mayStart(false)
    await this.finish()
  }

  /** @param {boolean} isAllowed whether a process that ends is replaced by another one */
  mayStart (isAllowed) {
    this.isRefilling = isAllowed
    this.refill()
  }

  refill () {
    if (!this.isRefilling) return
    while (this.writers.length < this.most.writers) this.spawn(false)
    while (this.readers.length < this.most.readers) this.spawn(true)
  }

  // What is done

  async act () {
    const { random } = this
    const { name, run } = random.pick(ACTIONS.filter(({ name, needsDisk }) => (this.disk !== null || !needsDisk) && name.match(this.actions)))
    this.counts[name] = (this.counts[name] ?? 0) + 1
    await run(this, random)
  }

  kill (one) {
    one.isDoomed = true
    one.process.child.kill('SIGKILL')
  }

  stop (one) {
    one.isStopped = true
    signal(one.process.child, 'SIGSTOP')
  }

  continue (one) {
    one.isStopped = false
    signal(one.process.child, 'SIGCONT')
  }

  fillDisk () {
    try {
      this.disk.leave(this.random.pick([0, 20000]))
    } catch (err) {
      // others were faster
      if (err.code !== 'ENOSPC') throw err
    }
  }

  /**
   * @param {number} [count] of processes that compact the log at once
   * @returns {() => boolean} whether that is over
   */
  compact (count = 1) {
    const candidates = this.writers.filter(({ isDoomed, isStopped, process }) => !isDoomed && !isStopped && process.messages.some(({ what }) => what === 'opened'))
    const asked = Array.from({ length: count }, () => this.random.pick(candidates)?.process).filter(process => process !== undefined)
    const answers = asked.map(process => process.messages.length)
    for (const process of asked) process.send({ compact: true })
    return () => asked.every((process, i) => process.isOver || process.messages.slice(answers[i]).some(({ what }) => what === 'compacted'))
  }

  /**
   * A compaction has ended, or it takes long since so much is appended.
   * @param {() => boolean} isOver
   */
  async ended (isOver) {
    for (let left = 300; left > 0 && !isOver(); left--) await wait(10)
  }

  /**
   * A file beside the log appears or is replaced, or a second is over.
   * @param {string} suffix of its name
   */
  async switching (suffix) {
    const inode = () => fs.statSync(this.file + suffix, { throwIfNoEntry: false })?.ino
    const before = inode()
    for (let left = 1000; left > 0 && inode() === before; left--) await wait(1)
  }

  client () {
    return this.random.pick(this.writers.filter(one => one !== this.owner && !one.isDoomed)) ?? this.owner
  }

  /** Another process is the owner, or will be when nobody is stopped. */
  async nextOwner (before) {
    await this.until(() => this.owner !== before, 'the next owner')
  }

  /**
   * All have opened the log.
   * @param {boolean} [withStopped] also those that are stopped now
   */
  async opened (withStopped = false) {
    const isOpen = ({ isDoomed, isStopped, process }) => isDoomed || (isStopped && !withStopped) || process.messages.some(({ what }) => what === 'opened')
    await this.until(() => this.writers.every(isOpen) && this.readers.every(isOpen), 'opening')
  }

  // The end

  async finish () {
    const all = () => [...this.writers, ...this.readers].filter(({ isDoomed }) => !isDoomed)
    for (const { process } of this.writers) process.send({ finish: true })
    await this.until(() => this.writers.every(({ process }) => process.messages.some(({ what }) => what === 'finished')), 'the last calls')
    // one that was asked to close has finished, too
    const last = this.random.pick(this.writers.filter(({ isDoomed }) => !isDoomed))
    last.process.send({ sentinel: true })
    let sentinel
    await this.until(() => (sentinel = last.process.messages.find(({ what }) => what === 'sentinel')), 'the last record')
    for (const { process } of all()) process.send({ awaits: sentinel.number })
    await this.whileItGoesOn(() => this.until(() => all().every(({ process }) => process.messages.some(({ what }) => what === 'seen')), 'seeing the last record'))
    for (const one of all()) {
      one.isDoomed = true
      one.process.send({ close: true })
    }
    await this.until(() => this.writers.length === 0 && this.readers.length === 0, 'closing')
    const { records, id, start } = await recordsIn(this.file, this.options)
    this.problems = this.history.check(records, id, start)
  }
}

/** @returns {Promise<{ records: Array<{ seq: number, number: number }>, id: string, start: number }>} */
async function recordsIn (file, { checksum, large }) {
  const reader = promises(FlumeLog(file, { readOnly: true, checksum, large }))
  const found = await collect(reader.log)
  const { id, start } = reader.log
  await reader.close()
  const records = found.map(({ seq, value }) => {
    if (!isIntact(value)) throw new Error(`at ${seq} is no whole record`)
    return { seq, number: numberOf(value) }
  })
  return { records, id, start }
}

/** What a process has said of itself last. */
function brief (process) {
  const { stderr } = process
  const looked = lookedAt(process)
  if (looked === undefined) return `does not answer ${stderr}`
  const { role, since, stats: { appended, written, inFlight, size, streams }, pending, seenUpTo, hasSeen } = looked
  return JSON.stringify({ role, since, appended: appended.records, written: written.records, inFlight: inFlight.records, size, streams, seenUpTo, hasSeen, calls: pending.length, oldest: pending.slice(0, 3) }) + stderr
}

const lookedAt = ({ messages }) => messages.findLast(({ what }) => what === 'looked')

module.exports = { Round }
