'use strict'

// Short series of operations on small logs, each in a process that is interrupted at one of its calls of the system: it is killed, the power is cut,
// a call fails, the disk is full, or another process joins. Simulation (simulation.js) has more of everything at once; this has what is left half done
// by one, found by the next, and cut off again, often enough to come through most pairs of places at which that can happen.

const { CursorModel } = require('./cursor-model')
const { LogModel, nameOf } = require('./log-model')
const { World } = require('./world')
const { randomFrom } = require('../random')

/** Records that leave fewer bytes of a block are stored as chunks, at most. */
const CHUNKED = 30
/** A round takes as long as so many steps of a simulation. */
const STEPS = 10
/** Of the stages that are interrupted, in how many the process is a reader. */
const READERS = 0.2
/** Milliseconds of simulated time in which a stage is over. */
const PATIENCE = 60_000
/** In which a reader that waits for more is told of what others have changed. */
const TOLD = 1000
/** How many calls go by before the one at which a process is interrupted, at most. */
const REACHES = [3, 10, 10, 30, 30, 100]
/** The same of calls of one kind. */
const NEAR = [6]
/** Calls that change something, or make it durable: others leave nothing to the next process. */
const CHANGES = new Set(['write', 'writev', 'writeFile', 'fsync', 'fdatasync', 'rename', 'link', 'unlink', 'rm', 'ftruncate', 'punch', 'open', 'mkdir', 'copyFile', 'chmod', 'fchmod'])
/** Calls that change names, or make them durable. */
const NAMES = new Set(['rename', 'link', 'unlink', 'fsync'])
const WRITES = new Set(['write', 'writev'])
/** At which of the calls a process is interrupted. @type {Array<[Set<string> | null, number[]]>} */
const PLACES = [[null, REACHES], [CHANGES, REACHES], [CHANGES, REACHES], [NAMES, NEAR], [NAMES, NEAR], [WRITES, NEAR]]
/** What a process does with a log that it has open, one after the other. */
const ACTIONS = ['append', 'append', 'append', 'appendSeveral', 'appendBatch', 'consume', 'consume', 'delete', 'delete', 'deleteSeveral', 'trim', 'compact', 'compact', 'backup', 'backup', 'fullBackup', 'sync']
/** What happens at the call. */
const INTERRUPTIONS = ['kill', 'kill', 'killWithPower', 'killWithPower', 'fail', 'fillDisk', 'join', 'join']
/** What happens at a call of a reader. */
const JOININGS = ['join', 'hold', 'hold']
/** What a power cut leaves of names and of contents: all that was changed, nothing of it, or any part. */
const LOSSES = ['all', 'nothing', 'any', 'any']
/** Codes of errors of calls in a process that goes on: with a fault, and without. */
const AFTER_FAULTS = ['EIO', 'ENOSPC', 'flumelog:failed']
const EXPECTED = ['flumelog:closed', 'flumelog:unreachable', 'flumelog:replaced', 'flumelog:not-found', 'flumelog:deleted', 'flumelog:trimmed', 'flumelog:compacted']
/** The process cannot go on with the log as it has it. */
const FINAL = ['flumelog:closed', 'flumelog:replaced', 'flumelog:failed']
/** Files that may be beside those of the logs. */
const BESIDE = /^(log|new|backup)(\.(meta(\.new)?|offset-map|unfinished|unfinished\.offset-map|cut-\d+(\.\d+)?|socket(\.new)?|cursor-mailer(\.new)?))?$/

class Interruptions {
  /** @param {number} seed */
  constructor (seed) {
    this.seed = seed
    this.world = new World(seed)
    this.operations = 0
    /** Of all rounds. */
    this.events = this.time = 0
  }

  /**
   * @param {number[]} steps some are rounds, each on a machine of its own
   * @returns {Promise<string[]>} what was wrong in one of them
   */
  async run (steps) {
    for (const step of steps.filter(step => step % STEPS === 0)) {
      const round = new Round(this.seed * 1009 + step)
      this.world = round.world
      await round.run()
      this.operations += round.operations
      this.events += round.world.timeline.events
      this.time += round.world.timeline.time
      if (round.world.problems.length > 0) break
    }
    return this.world.problems
  }
}

/** One series of stages. In each, a process works with a log, and perhaps another one. */
class Round {
  /** @param {number} seed */
  constructor (seed) {
    const world = this.world = new World(seed)
    const random = this.random = randomFrom(seed + 1)
    this.operations = 0
    this.written = 0
    /** Of this stage. */
    this.hasFaults = this.isJoined = false
    /** Others that have the log open. @type {Array<{ process: import('./process').Process, run: Promise<void> }>} */
    this.joined = []
    const shared = random() < 0.4
    const problem = (/** @type {string} */ line) => world.problem(line)
    /** Of each record that was appended atomically, all that were appended with it. @type {Map<string, string[]>} */
    this.batches = new Map()
    this.logs = ['log', 'new', 'backup'].map(name => new LogModel(`/data/${name}`, this.batches, problem))
    this.logs[0].add({ id: null, previousId: null, records: new Map() })
    this.options = {
      blockSize: random.pick([128, 512]),
      sync: random.pick(['always', 'always', 'interval', 'never']),
      syncInterval: random.pick([0, 1000]),
      shared,
      blocking: random() < 0.5,
      timeout: 2000,
      ...(random() < 0.2 ? { checksum: false } : {}),
      ...(random() < 0.3 ? { large: true } : {})
    }
    /** Whether all records have the same size: what one process has truncated, the next one may fill exactly. */
    this.isUniform = random() < 0.3
    this.cursor = new CursorModel('mailer', nameOf)
    /** Compactions of the first log that were started: two of them may lose the cursor. */
    this.compactions = 0
    /** Whether it is the cursor of a log that was replaced. */
    this.isReplaced = false
    world.lostEvents = random.pick([0, 0, 1])
    world.onkill = (process) => { if (this.dyingWithPower === process) world.timeline.add(0, () => this.cutPower()) }
    /** @type {import('./process').Process | null} */
    this.dyingWithPower = null
    world.note(`round ${seed}: ${JSON.stringify(this.options)}`)
  }

  async run () {
    const { world, random } = this
    world.disk.change(world.disk.root, { data: world.disk.create('directory', 0o755) })
    world.disk.startSync({ inode: world.disk.root, failedSyncs: 0 })()
    await this.stage(false)
    for (let left = 1 + random.below(5); left > 0 && world.problems.length === 0; left--) await this.stage(random() < 0.8)
    for (const log of this.logs) if (world.problems.length === 0) await this.settle(log)
    world.end()
  }

  /** @param {boolean} isInterrupted */
  async stage (isInterrupted) {
    const { world, random } = this
    const [log, other, backup] = this.logs
    this.begin()
    const process = world.start()
    const target = random() < 0.3 ? other : log
    const subject = this.exists(target) ? target : log
    const isReplacement = this.exists(backup) && random() < 0.4
    const isReader = isInterrupted && !isReplacement && random() < READERS
    if (isInterrupted) this.interrupt(process, isReplacement ? null : subject, isReader)
    const run = isReader
      ? this.watch(process, subject)
      : isReplacement ? this.restore(process, target, backup) : this.use(process, subject, this.actions(random.pick([1, 1, 4])), random() < 0.3)
    await this.until(run, process)
    for (const joined of this.joined) await this.until(joined.run, joined.process)
    this.joined = []
    // the power goes a moment after the process whose end it is
    await world.run(() => false, 1)
    world.fault = () => null
    if (random() < (this.hasFaults ? 0.6 : 0.3)) this.cutPower()
    else for (const left of [...world.processes]) world.kill(left, 'at the end of the stage')
    world.disk.capacity = Infinity
  }

  begin () {
    for (const log of this.logs) log.begin()
    // an fsync of the last stage that fails in this one is an error for whoever has the file open by then
    this.hasFaults &&= [...this.world.disk.find('/data', 'ls').entries.values()].some(({ syncs }) => syncs > 0)
    this.isJoined = false
  }

  /** Whether what is acknowledged is durable. */
  get isDurable () {
    return this.options.sync === 'always'
  }

  /** @param {number} most */
  actions (most) {
    return Array.from({ length: 1 + this.random.below(most) }, () => this.random.pick(ACTIONS))
  }

  /** @param {LogModel} model */
  exists ({ path, mayBeAbsent }) {
    const { world, logs } = this
    const isThere = world.disk.find('/data', 'ls').entries.has(path.slice('/data/'.length))
    if (!isThere && !mayBeAbsent) world.problem(`${path} is not there`)
    // the first one is created when it is opened
    return isThere || path === logs[0].path
  }

  /**
   * At one of its calls, something happens.
   * @param {import('./process').Process} process
   * @param {LogModel | null} subject the log that it has open; null: others have to wait for it
   * @param {boolean} isReader which another process joins that writes
   */
  interrupt (process, subject, isReader) {
    const { world, random } = this
    const what = random.pick(isReader ? JOININGS : INTERRUPTIONS)
    if (what === 'join' && subject === null) return
    this.isJoined ||= what === 'join' || what === 'hold'
    const [calls, reaches] = isReader ? [null, REACHES] : random.pick(PLACES)
    let left = random.below(random.pick(reaches))
    process.oncall = (name, args) => {
      if (calls !== null && !calls.has(name)) return
      if (left-- > 0) return
      process.oncall = () => {}
      world.note(`process ${process.pid}: ${what} at ${name} ${args[0] ?? ''}`)
      this[what](process, subject, isReader)
    }
  }

  kill (process) {
    // before this call, or, while it is made, before the next one
    process.callsToLive = 1 + this.random.below(2)
  }

  killWithPower (process) {
    this.dyingWithPower = process
    this.kill(process)
  }

  fail (process) {
    const { world, random } = this
    this.hasFaults = true
    let left = random.pick([1, 1, 2, 5])
    const code = random.pick(['EIO', 'ENOSPC'])
    world.fault = (caller, name) => caller === process && CHANGES.has(name) && left-- > 0 ? code : null
  }

  fillDisk () {
    const { disk } = this.world
    this.hasFaults = true
    disk.capacity = disk.used + this.random.pick([0, 10, 1000])
  }

  /**
   * Another process opens the log, does something, and perhaps the first one ends when that is acknowledged.
   * @param {import('./process').Process} first
   * @param {LogModel} subject
   * @param {boolean} isFirstReader then the other one writes
   */
  join (first, subject, isFirstReader) {
    const { world, random } = this
    world.timeline.add(0, () => {
      this.goBeside(subject, !isFirstReader && (!this.options.shared || random() < 0.2), () => {
        const end = random()
        if (end < 0.3) world.kill(first, 'when another one has an answer')
        else if (end < 0.4) this.cutPower()
      })
    })
  }

  /** The same, in turns: one waits while the other one does something whole, and that one while the first one makes a few calls. */
  hold (first, subject, isFirstReader) {
    const { world, random } = this
    first.stop()
    world.timeline.add(0, () => {
      const { process, run } = this.goBeside(subject, !isFirstReader && !this.options.shared, () => new Promise((resolve) => {
        const goOn = () => process.after(0, () => resolve(undefined))
        let left = 1 + random.below(random.pick(REACHES))
        first.oncall = () => {
          if (left-- > 0) return
          first.oncall = () => {}
          first.stop()
          goOn()
        }
        first.continue()
        // it may have nothing more to do
        world.timeline.add(TOLD, goOn)
      }))
      let isOver = false
      run.catch(() => {}).finally(() => { isOver = true })
      const release = () => {
        if (!isOver && process.isAlive) return world.timeline.add(0.2, release)
        first.oncall = () => {}
        first.continue()
      }
      release()
    })
  }

  /**
   * Another process does something, whose outcome is looked at later.
   * @param {LogModel} subject
   * @param {boolean} isReader
   * @param {() => any} onanswer called, and waited for, after each of its actions that has no error
   */
  goBeside (subject, isReader, onanswer) {
    const { world, random } = this
    const process = world.start()
    if (random() < 0.3) this.interrupt(process, subject, false)
    const run = isReader ? this.watch(process, subject) : this.use(process, subject, this.actions(4), random() < 0.5, onanswer)
    run.catch(() => {})
    this.joined.push({ process, run })
    return { process, run }
  }

  cutPower () {
    const { world, random } = this
    const [names, contents] = [random.pick(LOSSES), random.pick(LOSSES)]
    world.note(`names left: ${names}, contents: ${contents}`)
    const below = (n) => names === 'all' ? n - 1 : names === 'nothing' ? 0 : random.below(n)
    const pick = (list) => contents === 'all' ? list.at(-1) : contents === 'nothing' ? list[0] : random.pick(list)
    world.disk.random = Object.assign(() => random(), { below, pick })
    world.cutPower()
    for (const log of this.logs) log.powerCut()
    this.cursor.powerCut()
  }

  /**
   * @param {Promise<void>} run of a process
   * @param {import('./process').Process} process
   */
  async until (run, process) {
    let isOver = false
    run.then(() => { isOver = true }, (err) => {
      isOver = true
      if (process.isAlive) this.world.problem(`process ${process.pid}: ${err?.stack ?? err}`)
    })
    if (await this.world.run(() => isOver || !process.isAlive || this.world.problems.length > 0, PATIENCE)) return
    this.world.problem(`process ${process.pid} has no answer`)
  }

  /** @param {any} err of a call */
  isExpected ({ code }) {
    return (code === 'flumelog:locked' && this.isJoined) || EXPECTED.includes(code) || (this.hasFaults && AFTER_FAULTS.includes(code))
  }

  /**
   * A process opens a log, does a few things, and closes it.
   * @param {import('./process').Process} process
   * @param {LogModel} model
   * @param {string[]} actions
   * @param {boolean} leavesOpen
   * @param {() => any} [onanswer] called, and waited for, after each of them that has no error
   */
  async use (process, model, actions, leavesOpen, onanswer = () => {}) {
    const { world } = this
    let log = null
    try {
      const { open } = process.require('./promises')
      const known = model.known()
      this.operations++
      log = await open(model.path, this.options)
      await this.observe(process, model, log, known)
      for (const action of actions) {
        if (world.problems.length > 0) return
        this.operations++
        world.note(`process ${process.pid}: ${action}`)
        await this[action](process, model, log)
        if (!process.isAlive) return
        await onanswer()
      }
      if (leavesOpen) return
      this.operations++
      await log.close()
    } catch (err) {
      if (!process.isAlive) return
      world.note(`process ${process.pid}: ${err.code ?? err.stack} ${err.message}`)
      if (!this.isExpected(err)) throw err
      await log?.close().catch(() => {})
    }
  }

  /**
   * A process reads a log that others write.
   * @param {import('./process').Process} process
   * @param {LogModel} model
   */
  async watch (process, model) {
    const { world } = this
    const { mayBeAbsent } = model
    let log = null
    try {
      const known = model.known()
      log = await process.require('./promises').open(model.path, { readOnly: true, large: this.options.large })
      await this.observe(process, model, log, known, true)
      await this.observe(process, model, log, known, true)
      // where file events are lost, it looks when it begins to wait
      let told = known
      for (let i = 0; i < 2; i++) {
        // readers are not told of an append if that cannot be written to FILE.meta
        if (!this.hasFaults) told = model.known()
        const stream = log.stream({ live: true, old: false })
        const next = stream.next().catch(() => {})
        await new Promise(resolve => process.after(TOLD, () => resolve(undefined)))
        await Promise.all([stream.return(), next])
      }
      await this.observe(process, model, log, told, true)
      await log.close()
    } catch (err) {
      if (!process.isAlive) return
      world.note(`process ${process.pid}: ${err.code ?? err.stack} ${err.message}`)
      if (!this.isExpected(err) && !(err.code === 'ENOENT' && mayBeAbsent)) throw err
      await log?.close().catch(() => {})
    }
  }

  /** What is in the log is what may be there. */
  async observe (process, model, log, known, isReader = false) {
    const { world } = this
    const { id } = log.flumelog
    this.operations++
    const seqs = new Map()
    for await (const { seq, value } of log.stream()) seqs.set(String(value), seq)
    const map = await process.require('./maintenance').openOffsetMap(model.path)
    if (!process.isAlive || log.flumelog.id !== id) return
    world.note(`process ${process.pid}: ${model.path} has ${seqs.size} records, id ${id}`)
    const isOf = map?.id === id
    // others compact it meanwhile
    const found = model.found(seqs, id, this.isJoined ? undefined : isOf ? map.previousId : null, known, isReader)
    if (found !== null && isOf) {
      for (const [text, seq] of found.before) {
        const now = await map.map(seq)
        if (seqs.has(text) && now !== seqs.get(text)) world.problem(`${model.path}: the map leads from ${seq} to ${now}, and ${nameOf(text)} is at ${seqs.get(text)}`)
      }
    }
    await map?.close()
  }

  // Actions

  /** @param {number} [most] bytes */
  newText (most) {
    const { random, options: { blockSize, large } } = this
    if (this.isUniform) most = 1
    else most ??= large && random() < 0.2 ? 3 * blockSize : random() < 0.2 ? blockSize - CHUNKED : 40
    return `${++this.written}:`.padEnd(8 + random.below(most), 'x')
  }

  /** Some records of the log as this process sees it. */
  pick (model, log, count) {
    if (model.id !== log.flumelog.id || model.seqs.size === 0) return []
    const texts = [...model.seqs.keys()]
    return [...new Set(Array.from({ length: count }, () => this.random.pick(texts)))]
  }

  append (process, model, log) { return this.appendTexts(process, model, log, [this.newText()]) }
  appendSeveral (process, model, log) { return this.appendTexts(process, model, log, Array.from({ length: 1 + this.random.below(6) }, () => this.newText())) }

  appendBatch (process, model, log) {
    // it has to fit into a block
    const texts = Array.from({ length: 2 + this.random.below(2) }, () => this.newText(16))
    for (const text of texts) this.batches.set(text, texts)
    return this.appendTexts(process, model, log, texts, true)
  }

  async appendTexts (process, model, log, texts, atomic = false) {
    model.start(texts, 'appended')
    const { id } = log.flumelog
    const acknowledged = model.acknowledged('there')
    try {
      // the seqs of a batch, or that of the last record
      const seqs = [await log.append(texts.length === 1 ? texts[0] : texts, { atomic })].flat()
      if (!process.isAlive) return
      model.end(texts, 'there', this.isDurable)
      // not what was deleted before
      if (atomic) model.confirm(new Map([...acknowledged, ...texts.map(text => /** @type {const} */ ([text, 'there']))]))
      if (log.flumelog.id === id && model.id === id) seqs.forEach((seq, i) => model.seqs.set(texts[texts.length - seqs.length + i], seq))
    } catch (err) {
      // some of it may be stored, or none is
      if (process.isAlive && ['EIO', 'ENOSPC'].includes(err.code)) model.refuse(texts)
      return this.failed(process, err)
    }
  }

  delete (process, model, log) { return this.deleteTexts(process, model, log, 1) }
  deleteSeveral (process, model, log) { return this.deleteTexts(process, model, log, 5) }

  async deleteTexts (process, model, log, count) {
    const texts = this.pick(model, log, count)
    if (texts.length === 0) return
    const seqs = texts.map(text => model.seqs.get(text))
    model.start(texts, 'deleted')
    try {
      await log.del(count === 1 ? seqs[0] : seqs)
      if (!process.isAlive) return
      for (const text of texts) model.seqs.delete(text)
      model.end(texts, 'gone', this.isDurable)
    } catch (err) {
      return this.failed(process, err)
    }
  }

  async trim (process, model, log) {
    const [text] = this.pick(model, log, 1)
    if (text === undefined) return
    const { id } = log.flumelog
    const lt = model.seqs.get(text)
    // of those whose seq is not known yet, any may be meant
    const older = [...model.current.records].flatMap(([text, state]) => state === 'gone' || model.seqs.get(text) >= lt ? [] : [text])
    model.start(older, 'deleted')
    try {
      const start = await log.trim({ lt })
      if (!process.isAlive || log.flumelog.id !== id || model.id !== id) return
      // of a large record, which is where its last chunk is, the others may be before the start
      const isWhole = (/** @type {string} */ text) => text.length <= this.options.blockSize - CHUNKED
      const [gone, kept] = [older.filter(text => model.seqs.get(text) < start), older.filter(text => model.seqs.get(text) >= start && isWhole(text))]
      for (const text of gone) model.seqs.delete(text)
      // another process may have deleted some meanwhile
      if (!this.isJoined) model.end(kept, 'there', false)
      model.end(gone, 'gone', false)
      model.confirm(new Map(gone.map(text => [text, 'gone'])))
    } catch (err) {
      return this.failed(process, err)
    }
  }

  async sync (process, model, log) {
    const acknowledged = model.acknowledged('there', 'gone')
    try {
      await log.sync()
      // who has nothing to write asks for nothing
      if (process.isAlive && model.seqs.size > 0) model.confirm(acknowledged)
    } catch (err) {
      return this.failed(process, err)
    }
  }

  /** The cursor of the first log gives what follows, and some of that is committed. */
  async consume (process, model, log) {
    const { cursor: cursorModel, random, world } = this
    if (model !== this.logs[0]) return
    const limit = 1 + random.below(10)
    const sync = random() < 0.2
    const what = `process ${process.pid}`
    try {
      const cursor = log.cursor('mailer')
      await cursor.ready()
      if (!process.isAlive) return
      const { id } = log.flumelog
      const before = model.known().states.get(model.current.records)
      const records = []
      for await (const record of cursor.stream({ limit, fromStart: true })) records.push(record)
      if (!process.isAlive) return
      const given = records.map(({ value }) => String(value))
      const now = model.current.records
      const isReached = (/** @type {string} */ text) => records.length < limit || model.seqs.get(text) < records.at(-1).seq
      // a process sees a moment later what another one is told
      const isKnown = before !== undefined && !this.isJoined && model.id === id && log.flumelog.id === id
      const expected = isKnown ? [...before.keys()].filter(text => before.get(text) === 'there' && now.get(text) === 'there' && isReached(text)) : []
      if (!this.isReplaced) cursorModel.gave(given, { who: what, expected, problem: (problem) => world.problem(problem) })
      else cursorModel.reset(given, model.current.records.keys())
      this.isReplaced = false
      if (given.length > 0) {
        const index = random.below(given.length)
        const done = cursorModel.commit(given[index])
        // a power cut may bring back what is deleted, in front of it
        for (const text of model.acknowledged('gone', 'deleted').keys()) cursorModel.uncertain.add(text)
        await cursor.commit(records[index].seq, sync ? { sync } : {})
        if (!process.isAlive) return
        const front = done(sync || this.isDurable)
        if (model.id === id && log.flumelog.id === id) model.keep(front)
        world.note(`${what}: the cursor is at ${nameOf(given[index])}`)
      }
      if (random() < 0.5) return
      const { acknowledged } = cursorModel
      await cursor.close()
      if (process.isAlive) cursorModel.closed(acknowledged)
    } catch (err) {
      if (err.code !== 'flumelog:invalid' || (!this.isReplaced && this.compactions < 2)) return this.failed(process, err)
      world.note(`${what}: ${err.message}`)
      if (!process.isAlive) return
      cursorModel.reset()
      await log.cursor('mailer').commit(-1, { rewind: true }).catch((/** @type {any} */ err) => this.failed(process, err))
    }
  }

  async compact (process, model, log) {
    if (model.isBusy) return
    model.isBusy = true
    if (model === this.logs[0]) this.compactions++
    const isByClient = log.flumelog.role === 'client'
    const before = new Map(isByClient || model.id !== log.flumelog.id ? [] : model.seqs)
    const former = model.current
    const made = model.add({ id: null, formerId: log.flumelog.id, previousId: isByClient ? undefined : log.flumelog.id, records: former.records, before })
    const acknowledged = model.acknowledged('there', 'gone')
    try {
      const known = model.known()
      await log.compact()
      if (!process.isAlive) return
      model.confirm(acknowledged)
      model.replaceBy(made, former)
      Object.assign(model, { current: made, id: log.flumelog.id, seqs: new Map(), isBusy: false })
      await this.observe(process, model, log, known)
    } catch (err) {
      if (process.isAlive) model.isBusy = false
      return this.failed(process, err)
    }
  }

  backup (process, model, log) { return this.copy(process, model, log, false) }
  fullBackup (process, model, log) { return this.copy(process, model, log, true) }

  async copy (process, model, log, full) {
    const target = this.logs[2]
    // two at once would refuse each other
    if (target.isBusy) return
    target.isBusy = true
    const { id, previousId, before } = model.current
    const known = model.known().states.get(model.current.records)
    const records = partOf(known, target.variants)
    // it may be compacted before it is read
    const made = target.add(this.isJoined ? { id: null, previousId: undefined, records } : { id: id ?? model.id, previousId, before, records })
    model.copies.push(made)
    const acknowledged = model.acknowledged('there')
    try {
      await log.backup(target.path, { full })
      if (!process.isAlive) return
      model.confirm(acknowledged)
      for (const [text, state] of known) if (made.records.get(text) === 'appended' && model.current.records.get(text) === state) made.records.set(text, state)
      // what only an earlier backup had
      for (const text of made.records.keys()) if (known.get(text) === 'gone' || !model.current.records.has(text)) made.records.set(text, 'gone')
      target.replaceBy(made, target.current)
      target.isBusy = false
    } catch (err) {
      if (!process.isAlive) return
      target.isBusy = false
      // it is one of another log, or of before two compactions
      if (err.code === 'flumelog:invalid' && !full) return
      return this.failed(process, err)
    }
  }

  /** @param {any} err of an action: who cannot go on after it throws it */
  failed (process, err) {
    if (!process.isAlive) return
    this.world.note(`process ${process.pid}: ${err.code} ${err.message}`)
    if (!this.isExpected(err) || FINAL.includes(err.code)) throw err
  }

  /** A log is replaced by the backup. */
  async restore (process, target, backup) {
    const { world } = this
    this.operations++
    try {
      const { open } = process.require('./promises')
      // what a backup that was interrupted has left
      const known = backup.known()
      const recovered = await open(backup.path, { ...this.options, shared: false })
      await this.observe(process, backup, recovered, known)
      await recovered.close()
      if (!process.isAlive || world.problems.length > 0) return
      const { seqs, id, current: { previousId, before } } = backup
      const made = target.add({ id, previousId, before, records: new Map(Array.from(seqs.keys(), text => [text, 'there'])) })
      world.note(`process ${process.pid}: restores ${target.path}`)
      if (target === this.logs[0]) this.isReplaced = true
      await process.require('./maintenance').restore(backup.path, target.path, { force: true })
      if (!process.isAlive) return
      world.note(`process ${process.pid}: restored`)
      target.replaceBy(made, target.current)
    } catch (err) {
      if (!process.isAlive) return
      world.note(`process ${process.pid}: ${err.code ?? err.stack} ${err.message}`)
      if (!this.isExpected(err)) throw err
    }
  }

  /**
   * The log is what it may be, and can be used.
   * @param {LogModel} model
   */
  async settle (model) {
    const { world } = this
    if (!this.exists(model) || world.problems.length > 0) return
    this.begin()
    const process = world.start()
    await this.until(this.use(process, model, model === this.logs[2] ? [] : ['append'], false), process)
    if (world.problems.length > 0) return
    const run = async () => {
      const { valid, closed, ranges } = await process.require('./maintenance').verify(model.path)
      if (!valid || !closed) world.problem(`verify says of ${model.path}: ${JSON.stringify({ valid, closed, ranges })}`)
    }
    await this.until(run(), process)
    for (const name of world.disk.find('/data', 'ls').entries.keys()) if (!BESIDE.test(name)) world.problem(`the file ${name} is left over`)
  }
}

/**
 * @param {Map<string, import('./log-model').State>} known of a log
 * @param {import('./log-model').Variant[]} earlier backups
 * @returns {Map<string, import('./log-model').State>} what a backup may have while it is made
 */
function partOf (known, earlier) {
  const records = new Map()
  for (const { records: old } of earlier) for (const text of old.keys()) records.set(text, 'deleted')
  for (const [text, state] of known) if (state !== 'gone' && state !== 'refused') records.set(text, state === 'deleted' ? state : 'appended')
  return records
}

module.exports = { Interruptions }
