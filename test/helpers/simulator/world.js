'use strict'

// A machine in one process: a clock, a disk, local sockets, and the processes that use them. All that happens follows from the seed.

const { Disk } = require('./disk')
const { Process } = require('./process')
const { Timeline } = require('./timeline')
const { failure } = require('./disk')
const { randomFrom } = require('../random')

/** Milliseconds since 1970 at the start of every run. */
const EPOCH = Date.UTC(2026, 0, 1)
/** Milliseconds that things take, from and to, most of the time. */
const LATENCIES = { file: [0.01, 0.3], answer: [0, 0.1], fsync: [0.1, 4], socket: [0.01, 0.5], watch: [0.01, 5] }
/** Bytes that a power cut leaves or loses as one, on disks that do not write whole pages. */
const SECTOR_SIZE = 512
/** Events at one time after which a run counts as one that never ends. */
const MAX_EVENTS = 3_000_000
/** Events in one round of the event loop. */
const MAX_ROUND = 64

class World {
  /** @param {number} seed */
  constructor (seed) {
    World.current = this
    this.random = randomFrom(seed)
    /** Whether its processes write, send and copy little at a time. */
    this.hasSmallLimits = randomFrom(seed + 3)() < 0.5
    this.timeline = new Timeline()
    this.epoch = EPOCH
    this.disk = new Disk(this.random, this.timeline)
    if (randomFrom(seed + 4)() < 0.5) this.disk.pageSize = SECTOR_SIZE
    this.isPowered = true
    this.pids = 100
    /** @type {Set<Process>} */
    this.processes = new Set()
    /** Those that have died since the last event. @type {Process[]} */
    this.dead = []
    /** The share of changes of a file that its watchers are not told of. */
    this.lostEvents = 0
    /** The share of writes that write less than all. */
    this.shortWrites = 0
    /** The share of latencies that are a hundred times as long. */
    this.slowness = 0.01
    /** How many times as long an fsync takes. */
    this.slowSyncs = 1
    /** The share of synchronous calls during which other processes run. */
    this.interleaving = 0
    this.isInterleaving = false
    /** Why a call of the system fails; null: it does not. @type {(owner: Process, name: string, args: any[]) => string | null} */
    this.fault = () => null
    /** What happened, for people. @type {string[]} */
    this.history = []
    /** What must not happen. @type {string[]} */
    this.problems = []
    /** @type {(process: Process) => void} */
    this.onkill = () => {}
  }

  /** @param {string} line */
  note (line) {
    this.history.push(`${this.timeline.time.toFixed(3).padStart(10)}  ${line}`)
  }

  /** @param {string} problem */
  problem (problem) {
    this.note(`PROBLEM: ${problem}`)
    this.problems.push(problem)
  }

  /** @param {keyof LATENCIES} kind */
  latency (kind) {
    const [from, to] = LATENCIES[kind]
    const { random } = this
    return (from + random() * (to - from)) * (random() < this.slowness ? 100 : 1) * (kind === 'fsync' ? this.slowSyncs : 1)
  }

  start () {
    const started = new Process(this, ++this.pids)
    this.processes.add(started)
    return started
  }

  /**
   * @param {Process} process
   * @param {string} [why]
   */
  kill (process, why = '') {
    if (!process.isAlive) return
    this.note(`process ${process.pid} is killed ${why}`)
    process.kill()
    this.processes.delete(process)
    this.dead.push(process)
    this.onkill(process)
  }

  cutPower () {
    this.note('the power is cut')
    for (const process of [...this.processes]) this.kill(process, 'by the power cut')
    // what the kernel was about to do is not done
    this.timeline.heap = []
    this.disk.cutPower()
  }

  /**
   * @param {Process} process
   * @param {string} name
   * @param {any[]} args
   */
  faultOf (process, name, args) {
    const code = this.fault(process, name, args)
    if (code === null) return null
    this.note(`process ${process.pid}: ${name} fails with ${code}`)
    return failure(code, name, '')
  }

  uncaught (process, err) {
    if (process.thrown.delete(err)) return
    this.problem(`process ${process.pid}: uncaught exception: ${err?.stack ?? err}`)
  }

  warned (process, warning) {
    this.note(`process ${process.pid} warns: ${warning?.message ?? warning}`)
  }

  /**
   * Lets things happen.
   * @param {() => boolean} isDone
   * @param {number} limit milliseconds
   * @returns {Promise<boolean>} false: the limit came first
   */
  run (isDone, limit) {
    const end = this.timeline.time + limit
    const last = this.timeline.events + MAX_EVENTS
    return new Promise((resolve, reject) => {
      let isOver = false
      let round = 1
      let left = 0
      const finish = (result) => {
        isOver = true
        resolve(result)
      }
      const goOn = () => {
        left--
        if (isOver) return
        try {
          this.releaseModules()
          if (isDone()) return finish(true)
          if (this.timeline.events > last || !this.timeline.step(end)) return finish(isDone())
        } catch (err) {
          isOver = true
          return reject(err)
        }
        if (left === 0) start()
      }
      // before the next one of them, all that follows from an event without waiting has happened; several in a row save rounds of the event loop
      const start = () => {
        left = round
        for (let i = 0; i < left; i++) setImmediate(goOn)
        round = Math.min(2 * round, MAX_ROUND)
      }
      start()
    })
  }

  /** Nothing of the processes that have died runs any more: others get their modules. */
  releaseModules () {
    for (const { modules } of this.dead) modules.release()
    this.dead.length = 0
  }

  /** The run is over: nothing happens any more. */
  end () {
    this.dead.push(...this.processes)
    this.processes.clear()
    this.releaseModules()
  }
}

/** That of the run in progress. @type {World | null} */
World.current = null

module.exports = { World, EPOCH }
