'use strict'

// One run: a few processes, what they do with one log, and what goes wrong meanwhile, all chosen by a seed.

const { World } = require('./world')
const { Member } = require('./member')
const { CursorModel } = require('./cursor-model')
const { Generation } = require('./generation')
const { Model, nameOf } = require('./model')
const { randomFrom } = require('../random')

/** Milliseconds of simulated time in which every call has an answer when nothing goes wrong any more. */
const PATIENCE = 120_000
/** Files that may be beside a log that was closed. */
const BESIDE = /^(log|log\.(meta|offset-map|unfinished|unfinished\.offset-map|cut-\d+(\.\d+)?|cursor-[a-z]+(\.(new|unfinished))?)|restored)$/

/** The same for backups. */
const BESIDE_BACKUPS = /^(one|two)(\.meta|\.offset-map|\.cut-\d+(\.\d+)?)?$/

/** Bytes of a block; from three pages on, one becomes a hole when all in it is deleted. */
const BLOCKS = [64, 128, 512, 4096]
const LARGE_BLOCKS = [12288, 12288, 65536]
/** How often things are done, relative to each other. */
const WEIGHTS = { append: 40, delete: 8, deleteSeveral: 2, deleteRange: 3, sync: 4, compact: 3, trim: 2, close: 1, get: 12, getPrevious: 4, search: 4, read: 8, follow: 2, consume: 5, backup: 1.5, command: 0.7, exit: 0.3, kill: 0.3, killSoon: 0.3, stop: 0.3, cutPower: 0.15, fillDisk: 0.15, failCalls: 0.15, failDisk: 0.1, failCompaction: 0.1, failSync: 0.6, failMetadata: 0.3, disconnect: 0.2, takeOver: 0.4, storm: 1, bulk: 0.3, leave: 0.2, hold: 0.5, wait: 0.1 }
/** The weight of what is rare in most runs, and common in one. */
const THEME = 4
/** What a log that is read only does, too. */
const OF_READERS = ['close', 'get', 'getPrevious', 'search', 'read', 'follow', 'consume', 'backup', 'exit', 'killSoon']
/** What happens to any process, whatever it does. */
const OF_THE_WORLD = ['kill', 'stop', 'command', 'cutPower', 'fillDisk', 'failCalls', 'failDisk', 'failCompaction', 'failSync', 'failWrite', 'failConsumer', 'failMetadata', 'disconnect', 'takeOver', 'storm', 'leave', 'hold', 'wait']
/** What happens to a log that is shared, of that. */
const OF_SHARED = ['disconnect', 'takeOver', 'leave']
/** What a call of the system that changes or reads a file may fail with. */
const CHANGES = ['write', 'writev', 'open', 'rename', 'ftruncate', 'unlink', 'punch', 'writeFile', 'read', 'readv']
const SYNCS = ['fsync', 'fdatasync']
/** What is done in a storm: few things often, since another one can make up for what is missing. */
const STORMS = [['append'], ['append', 'sync'], ['append', 'append', 'consume'], ['delete', 'sync'], ['delete'], ['append', 'trim'], ['append', 'delete', 'deleteSeveral', 'sync', 'trim', 'get'], ['append', 'consume', 'consume'], ['append', 'delete', 'compact', 'read']]
/** The same where arrays take several writes: an fsync can start, and a write fail, between two of them. */
const BULK_STORMS = [['bulk', 'append', 'append', 'sync', 'sync', 'sync'], ['bulk', 'compact', 'read', 'follow']]
/** What a command does beside others. */
const OF_COMMANDS = ['read', 'append', 'append', 'delete', 'deleteSeveral', 'sync', 'trim', 'compact']
/** Calls near which a process is killed: those between which something is broken for a moment. */
const LAST_CALLS = ['rename', 'unlink', 'ftruncate', 'fsync', 'fdatasync', 'punch', 'open']
/** Calls at which a process is stopped. */
const ANY_CALLS = ['stat', 'fstat', 'read', 'open', 'write', 'fdatasync']
/** Calls by which one of two processes is held while the other one does something, at most. */
const REACHES = [3, 10, 10, 30, 100]
/** What is done by a process that is held. */
const HELD = [['read'], ['read'], ['get'], ['follow'], ['consume'], ['append', 'close'], ['append', 'compact'], ['bulk', 'compact'], ['compact'], ['delete', 'append'], ['deleteSeveral'], ['trim', 'append']]
/** What another one does meanwhile, one after the other. */
const MEANWHILE = [['append'], ['delete', 'append'], ['append', 'deleteSeveral', 'append'], ['bulk', 'deleteSeveral', 'bulk'], ['trim', 'append'], ['compact'], ['compact', 'append'], ['compact', 'delete', 'append'], ['bulk', 'compact'], ['compact', 'close'], ['consume']]
/** Files of which calls fail. */
const FILES = ['log', 'log', 'log.meta', 'log.unfinished']
/** Milliseconds after which the owner forgets a client that is not connected, and a few more. */
const FORGOTTEN_AFTER = 62_000
/** Power cuts and kills of a run that follow at once on an answer. */
const MAX_STRIKES = 4
/** On answers of which calls. */
const STRUCK = [/^(append|sync|close|cursor)/, /^(open|compact|trim|backup|del)/, /^/]
/** Power cuts that may follow on the answers after a fault: what it has broken shows only then. */
const AFTERSHOCKS = 2
/** Calls of a process without an answer. */
const MAX_PENDING = 50
/** How often processes that cannot go on are opened again at the end, at most. */
const MOST_TRIES = 10

/**
 * @typedef {object} Backup
 * @property {string} target
 * @property {Set<import('./model').Entry>} expected what was in the log when it was made last
 * @property {Set<import('./model').Entry>} deleted what was deleted in it then
 * @property {import('./process').Process | null} user the process that changes it
 * @property {boolean} isTried it was started
 * @property {boolean} needsFull
 */

class Simulation {
  /** @param {number} seed */
  constructor (seed) {
    this.seed = seed
    const world = this.world = new World(seed)
    const { random } = world
    this.random = random
    this.filename = '/data/log'
    this.calls = 0
    this.hadCrash = false
    /** Whether nothing goes wrong any more. */
    this.isHealing = false
    this.isToBeRepaired = false
    this.operations = 0
    /** Milliseconds for which nothing new is done. */
    this.waits = 0
    this.members = 0
    this.strikes = 0
    this.aftershocks = 0
    /** Whether what could not be written is tried again at once. */
    this.retries = false
    /** Processes with whose end the power is cut. @type {Set<import('./process').Process>} */
    this.endWithPower = new Set()
    /** Calls of `compact`. */
    this.compactions = 0
    this.generation = new Generation((problem) => world.problem(problem))
    this.cursors = ['mailer', 'indexer'].map(name => new CursorModel(name, nameOf))
    this.backups = ['/backups/one', '/backups/two'].map(target => /** @type {Backup} */ ({ target, expected: new Set(), deleted: new Set(), user: null, isTried: false, needsFull: false }))
    /** @type {Member[]} */
    this.all = []
    const large = random() < 0.3
    this.blockSize = random.pick(random() < 0.1 ? LARGE_BLOCKS : BLOCKS)
    const { pageSize } = world.disk
    this.options = {
      blockSize: this.blockSize,
      sync: random.pick(['always', 'interval', 'interval', 'never']),
      ...(random() < 0.7 ? { syncInterval: random.pick([0, 1, 5, 50]) } : {}),
      ...(random() < (world.hasSmallLimits ? 0.9 : 0.3) ? { syncBytes: random.pick([1, 500, 1000, 20000]) } : {}),
      checksum: random() < 0.8,
      large,
      blocking: random() < 0.5,
      cacheSize: random.pick([0, 1 << 16, 1 << 20]),
      timeout: 2000,
      // a record on several pages can have a hole after a power cut
      ...(this.blockSize > pageSize ? { validate: isWhole } : {}),
      ...(random() < 0.2 ? { retain: random.pick([{ bytes: 2000 }, { bytes: 20000 }]) } : {})
    }
    this.model = new Model((problem) => world.problem(problem), this.options.retain !== undefined)
    this.readOptions = { checksum: this.options.checksum, large, blocking: this.options.blocking, cacheSize: this.options.cacheSize, ...(this.blockSize > pageSize ? { validate: isWhole } : {}) }
    this.isShared = random() < 0.6
    // only commands write the log, so it is closed most of the time
    this.isVisited = !this.isShared && randomFrom(seed + 5)() < 0.3
    // of how many of the last records some is deleted, mostly; 0: any
    this.focus = randomFrom(seed + 6).pick([0, 0, 10, 40])
    // how often what comes after a crash is killed, too
    this.killsAgain = randomFrom(seed + 7).pick([0, 0, 0.1, 0.5])
    this.largest = this.blockSize - 14
    world.lostEvents = random.pick([0, 0, 0.1, 1])
    world.shortWrites = random.pick([0, 0, 0, 0.02, 0.3])
    // one that writes too little counts as a full disk
    this.hadFaults = world.shortWrites > 0
    world.interleaving = randomFrom(seed + 1).pick([0, 0, 0.02, 0.2])
    // how many appends have a condition
    this.conditions = randomFrom(seed + 2).pick([0, 0, 0.1, 0.5])
    world.slowness = random.pick([0, 0.01, 0.05])
    world.slowSyncs = random.pick([1, 1, 5, 20])
    // some things often, some never: what is rare together is common in some runs
    this.weights = Object.entries(WEIGHTS).map(([name, weight]) => /** @type {[string, number]} */ ([name, weight * random.pick([0, 0.3, 1, 1, 3])]))
    // bytes of another record that takes the place of one that was rolled back start and end where its bytes did
    this.usualSize = random.pick([0, 0, 20])
    // a large block is full after a few
    this.usualMost = Math.max(60, this.blockSize / 8)
    // how often the power is cut, or a process killed, at once when it has said that something is durable, or stored
    this.cutsPower = random.pick([0, 0, 0.05, 0.5])
    this.kills = random.pick([0, 0, 0.02, 0.2])
    this.struck = random.pick(STRUCK)
    // or one of the rare things is common
    const rare = this.weights.filter(([name]) => WEIGHTS[name] < 1 && (this.isShared || !OF_SHARED.includes(name)))
    const theme = randomFrom(seed + 8).pick(rare)
    if (seed % 2 === 0) theme[1] = THEME
    // who is stopped often misses what is done and undone meanwhile
    else if (seed % 4 === 1) for (const weight of this.weights) if (['hold', 'stop'].includes(weight[0])) weight[1] = 2 * THEME
    for (const weight of this.weights) {
      if (world.hasSmallLimits && weight[0] === 'storm') weight[1] = 2
      if (this.isVisited && weight[0] === 'stop') weight[1] = THEME
    }
    if (seed % 8 === 3) this.interruptWrites()
    else if (seed % 8 === 7) this.weights.push(['failConsumer', THEME])
    this.pauses = random.pick([[0, 0.02], [0, 0, 0.05, 0.3], [0, 0, 0.05, 0.5, 5, 50], [1, 10]])
    world.onkill = (process) => {
      this.hadCrash = true
      if (this.endWithPower.has(process)) this.later(0, () => this.cutPower())
      for (const member of this.all) {
        if (member.process !== process) continue
        this.model.died(member.number)
        member.pending.clear()
      }
    }
    world.note(`seed ${seed}: ${JSON.stringify(this.options)}, shared: ${this.isShared}, lost events: ${world.lostEvents}`)
  }

  /** Arrays take several writes; in between, an fsync starts, and a write fails. */
  interruptWrites () {
    this.retries = true
    this.world.hasSmallLimits = true
    Object.assign(this.options, { sync: 'interval', syncBytes: randomFrom(this.seed + 9).pick([500, 1000]) })
    this.weights.push(['failWrite', THEME])
  }

  /**
   * @param {any} err of a call
   * @param {Member} member
   * @param {string} [what] was called
   */
  isExpected (err, member, what = '') {
    if (this.hadFaults && ['EIO', 'ENOSPC', 'flumelog:failed'].includes(err.code)) return true
    // no process has written it yet
    if (err.code === 'ENOENT' && what === 'open') return member.role === 'reader'
    // a power cut has left a hole in the only record that is not deleted: nothing tells that from a codec of another log, and its user repairs it
    if (what === 'open' && /the codec, or/.test(err.message) && this.model.certain.length === 0) {
      this.isToBeRepaired = true
      return true
    }
    // another process has appended it, or moved it, and this one is told a little later
    if (err.code === 'flumelog:not-found') return member.role !== 'alone' && member.log?.flumelog.role !== 'owner'
    return what.startsWith('compact') && err.code === 'flumelog:invalid' && /is being compacted already|of another one/.test(err.message)
  }

  get events () {
    return this.world.timeline.events
  }

  /** Milliseconds of simulated time. */
  get time () {
    return this.world.timeline.time
  }

  get isOver () {
    return this.isToBeRepaired || this.world.problems.length > 0
  }

  /** @param {import('./process').Process} process */
  pause (process) {
    return new Promise(resolve => process.after(this.random() * 20, () => resolve(undefined)))
  }

  /**
   * @param {number[]} steps numbers of what is done: each does the same whatever others there are, as far as it can
   * @returns {Promise<string[]>} what was wrong
   */
  async run (steps) {
    const { world, random } = this
    // the name of a directory need not be durable if the process that has created it was killed at once
    for (const name of ['data', 'backups']) world.disk.change(world.disk.root, { [name]: world.disk.create('directory', 0o755) })
    world.disk.startSync({ inode: world.disk.root, failedSyncs: 0 })()
    const writers = this.isVisited ? 0 : this.isShared ? 2 + random.below(3) : 1
    for (let i = 0; i < writers; i++) this.add(this.isShared ? 'shared' : 'alone')
    for (let i = random.below(3) + Number(this.isVisited); i > 0; i--) this.add('reader')
    const middle = random() < 0.2 ? random.below(steps.length) : -1
    for (const step of steps) {
      if (this.isOver) break
      if (step === middle) await this.rest()
      // numbers of its own: without some of the steps, the others do the same
      this.random = randomFrom(this.seed * 1009 + step)
      this.waits = 0
      // or steps would pass while the log is being opened
      if (!this.isUsable) await world.run(() => this.isUsable || this.lasting.length === 0, 100)
      this.step()
      await world.run(() => false, this.waits + this.random.pick(this.pauses))
    }
    // most of what is not durable shows only then
    this.random = randomFrom(this.seed * 1009 - 1)
    if (!this.isOver && this.random() < 0.5) this.cutPower()
    if (!this.isOver) await this.heal()
    world.end()
    return world.problems
  }

  add (role) {
    const member = new Member(this, ++this.members, role)
    this.all.push(member)
    member.open()
    return member
  }

  get alive () {
    return this.all.filter(({ process }) => process.isAlive)
  }

  /** Without those that end by themselves. */
  get lasting () {
    return this.alive.filter(({ isCommand }) => !isCommand)
  }

  /** Whether a process can do something with the log. */
  get isUsable () {
    return this.lasting.some(({ isOpen, process }) => isOpen && !process.isStopped)
  }

  step () {
    const { random } = this
    this.operations++
    if (this.isVisited && random() < 0.1) return this.command()
    if (this.lasting.length === 0) return this.add(this.isVisited ? 'reader' : this.isShared ? 'shared' : 'alone')
    // a log that is shared by one process hides most of what sharing can break
    if (this.isShared && random() < 0.05 && this.lasting.filter(({ role }) => role === 'shared').length < 2) return this.add('shared')
    const shut = this.lasting.filter(({ log, isBusy, process }) => log === null && !isBusy && !process.isStopped)
    if (shut.length > 0 && random() < 0.2) return random.pick(shut).open()
    const open = this.lasting.filter(({ isOpen, process }) => isOpen && !process.isStopped)
    if (open.length === 0) return
    const member = random.pick(open)
    if (member.isBroken) return member.close()
    const name = this.draw()
    if (OF_THE_WORLD.includes(name)) this[name](random.pick(this.lasting))
    else this.do(name, member)
  }

  /**
   * @param {string} name
   * @param {Member} member
   */
  do (name, member) {
    if (member.pending.size <= MAX_PENDING && (member.role !== 'reader' || OF_READERS.includes(name))) this[name](member)
  }

  /** @returns {string} what to do next */
  draw () {
    let left = this.random() * this.weights.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of this.weights) if ((left -= weight) < 0) return name
    return 'append'
  }

  close (member) { member.close() }
  sync (member) { member.sync() }
  compact (member) { member.compact() }
  read (member) { member.read(this.random() < 0.3) }

  getPrevious (member) {
    const entry = this.known(member)
    if (entry !== null) member.getPrevious(entry)
  }

  search (member) {
    const entry = this.known(member)
    if (entry !== null) member.search(entry)
  }

  consume (member) {
    const { random } = this
    member.consume(random.pick(this.cursors), 1 + random.below(random() < 0.3 ? 1000 : 10), random() < 0.1, random() < 0.5)
  }

  backup (member) {
    const backup = this.random.pick(this.backups)
    member.backup(backup, backup.needsFull || this.random() < 0.2)
  }

  /** A command beside the others. */
  command () {
    const { random } = this
    const role = this.isVisited ? 'alone' : random.pick(['reader', 'alone', 'shared'])
    // readers that are stopped meanwhile find the log closed, as it was before
    if (this.isVisited && random() < 0.3) for (const { process } of this.lasting) this.stopFor(process, 200)
    this.add(role).runCommand(Array.from({ length: random.below(10) }, () => random.pick(OF_COMMANDS)))
  }

  /** A process ends without waiting for what it has called. */
  exit (member) {
    if (member.role !== 'reader') this.append(member)
    this.world.kill(member.process, 'by itself')
    this.add(member.role)
  }

  get (member) {
    const entry = this.known(member)
    if (entry !== null) member.get(entry)
  }

  follow (member) {
    if (member.live.filter(({ isOver }) => !isOver).length < 2) member.follow()
  }

  killSoon (member) {
    const { process } = member
    if (this.random() < 0.5) process.callsToLive = 1 + this.random.below(60)
    else this.at(process, this.random.pick(LAST_CALLS), () => { process.callsToLive = 1 + process.random.below(5) })
    if (this.random() < 0.3) this.endWithPower.add(process)
    this.world.note(`process ${process.pid} is killed soon`)
  }

  /**
   * @param {Member} member
   * @param {boolean} [sync] whether it is fsynced, whatever the log's options say
   */
  append (member, sync = this.random() < 0.1) {
    const { random } = this
    const count = random() < 0.6 ? 1 : 1 + random.below(6)
    const atomic = count > 1 && random() < 0.3
    const most = this.options.large && !atomic && random() < 0.2 ? Math.min(this.blockSize * 3, 20_000) : Math.min(this.largest, 20_000)
    const size = () => this.usualSize > 0 && random() < 0.9 ? this.usualSize : Math.max(12, Math.min(most, 12 + random.below(random() < 0.2 ? most : Math.min(most, this.usualMost))))
    const sizes = Array.from({ length: count }, size)
    // an atomic batch has to fit into a block
    const fits = sizes.reduce((sum, size) => sum + size + 4, 0) <= this.blockSize - 10
    const options = { ...(atomic && fits ? { atomic: true } : {}), ...(sync ? { sync } : {}) }
    const isConditional = this.conditions > 0 && random() < this.conditions
    member.append(count, isConditional ? { ...options, after: this.lastKnown(member) } : options, sizes)
  }

  /** @returns {number} what this member takes for the last record of the log, mostly */
  lastKnown (member) {
    return this.random() < 0.8 ? member.log.since.value : this.known(member)?.seq ?? -1
  }

  /** An array that takes several writes. */
  bulk (member) {
    const { random } = this
    const sizes = Array.from({ length: 10 + random.below(20) }, () => 12 + random.below(Math.min(this.largest - 12, 100)))
    member.append(sizes.length, {}, sizes)
  }

  /** A record of which this member knows the seq. */
  known (member) {
    const { id } = member.log.flumelog
    const entries = [...this.model.entries.values()].filter(entry => entry.seq !== -1 && entry.id === id)
    if (entries.length === 0) return null
    return this.random.pick(this.focus > 0 && this.random() < 0.8 ? entries.slice(-this.focus) : entries)
  }

  delete (member) {
    const entry = this.known(member)
    if (entry !== null) member.delete(entry)
  }

  deleteSeveral (member) {
    const entries = Array.from({ length: 1 + this.random.below(10) }, () => this.known(member)).filter(entry => entry !== null)
    if (entries.length > 0) member.deleteSeveral([...new Set(entries)])
  }

  deleteRange (member) {
    const [one, other] = [this.known(member), this.known(member)]
    if (one === null || other === null) return
    const [gte, lte] = one.seq < other.seq ? [one.seq, other.seq] : [other.seq, one.seq]
    const { id } = member.log.flumelog
    const entries = [...this.model.entries.values()]
    // of those whose seq is not known yet, any may be meant
    for (const entry of entries) if (entry.seq === -1 || entry.id !== id) entry.deletion = entry.deletion === 'no' ? 'asked' : entry.deletion
    member.deleteRange(entries.filter(({ seq, id: its }) => its === id && seq >= gte && seq <= lte), gte, lte)
  }

  trim (member) {
    const entry = this.known(member)
    if (entry !== null) member.trim(entry.seq)
  }

  kill (member) {
    if (!member.process.isAlive) return
    this.world.kill(member.process)
    if (member.isCommand || this.random() >= 0.9) return
    const next = this.add(member.role)
    if (this.random() < this.killsAgain) this.killSoon(next)
    // what it finds is in the page cache only
    if (member.role === 'reader' || this.random() < 0.5) return
    this.later(1 + this.random() * 20, () => {
      if (next.isOpen && !next.process.isStopped) this[this.random.pick(['sync', 'close', 'consume', 'append'])](next)
    })
  }

  stop (member) {
    const { process, name } = member
    if (this.random() < 0.5) {
      const [name, time] = [this.random.pick(ANY_CALLS), this.random.pick([1, 10, 100])]
      return this.at(process, name, () => this.stopFor(process, time))
    }
    this.world.note(`${name} is stopped`)
    this.stopFor(process, this.random.pick([1, 10, 10, 100, 100, 5000]))
  }

  /**
   * @param {import('./process').Process} process
   * @param {string} call of the system
   * @param {() => void} run before the process makes the next one
   */
  at (process, call, run) {
    process.oncall = (name) => {
      if (name !== call) return
      process.oncall = () => {}
      run()
    }
  }

  stopFor (process, time) {
    process.stop()
    this.world.timeline.add(time, () => process.continue())
  }

  cutPower () {
    const { world, model } = this
    const roles = this.lasting.map(({ role }) => role)
    world.cutPower()
    world.disk.capacity = Infinity
    model.powerCut()
    for (const cursor of this.cursors) cursor.powerCut()
    this.generation.powerCut()
    for (const role of roles) {
      const member = this.add(role)
      if (this.random() < this.killsAgain) this.killSoon(member)
    }
  }

  /** A client that has just appended is away, perhaps for so long that the owner forgets it, and others come. */
  leave () {
    const { random, world, writer } = this
    const clients = this.lasting.filter((member) => member.role === 'shared' && member !== writer && member.isOpen && !member.process.isStopped && member.pending.size <= MAX_PENDING)
    if (writer === undefined || clients.length === 0) return
    const member = random.pick(clients)
    const { process, name } = member
    const time = random.pick([100, 3000, FORGOTTEN_AFTER])
    const isFaulty = random() < 0.5
    this.append(member, isFaulty)
    this.later(random() * 2, () => {
      world.note(`${name} is away`)
      this.disconnect(member)
      process.stop()
      world.timeline.add(time + 1000, () => {
        world.note(`${name} is back`)
        process.continue()
      })
    })
    if (isFaulty) this.comeAfterFailure(writer)
    else {
      this.later(time, () => {
        const others = this.lasting.filter((other) => other !== member && other.role !== 'reader')
        if (others.length > 1) this.kill(random.pick(others))
      })
    }
    if (random() < 0.8) this.waits = time + 3000
  }

  /** New clients come to an owner of which an fsync has failed, before it ends. */
  comeAfterFailure (writer) {
    const { random } = this
    const duration = 10 * this.world.slowSyncs
    this.fail(writer.process, SYNCS, { file: 'log' })
    // a crash would hide what those who come next are told
    this.aftershocks = 0
    for (let i = 0; i < 3; i++) this.later(random() * duration, () => this.add('shared').runCommand(['append']))
    this.later((0.5 + random()) * duration, () => { if (writer.isOpen) writer.close() })
  }

  /** A process waits at one of its calls, in the middle of what it does, while another one does something whole: mostly, one of the two is a reader. */
  hold () {
    const { random, world } = this
    const open = this.lasting.filter(({ isOpen, isBroken, process }) => isOpen && !isBroken && !process.isStopped)
    if (open.length < 2) return
    const held = random.pick(open)
    const others = open.filter(other => other !== held && (random() < 0.2 || (other.role === 'reader') !== (held.role === 'reader')))
    if (others.length === 0) return
    const other = random.pick(others)
    const names = other.role === 'reader' ? ['read', 'read'] : random.pick(MEANWHILE)
    let left = random.below(random.pick(REACHES))
    const { process } = held
    process.oncall = (name) => {
      if (left-- > 0) return
      process.oncall = () => {}
      world.note(`${held.name} is held at ${name}`)
      process.stop()
      const end = world.timeline.time + 200
      const goOn = (/** @type {number} */ done) => world.timeline.add(0.2, () => {
        const isOver = this.isHealing || !other.process.isAlive || world.timeline.time > end
        if (!isOver && other.pending.size > 0) return goOn(done)
        if (!isOver && done < names.length) {
          this.later(0, () => this.callSomewhere(names[done], other))
          return goOn(done + 1)
        }
        world.note(`${held.name} goes on`)
        process.continue()
        this.later(0, () => this.callSomewhere('read', held))
      })
      goOn(0)
    }
    for (const name of held.role === 'reader' ? ['read'] : random.pick(HELD)) this.callSomewhere(name, held)
  }

  wait () {
    this.waits = this.random.pick([100, 1000, 3000])
  }

  /**
   * A process has said that something is durable, or stored: now is the time at which its not being so shows.
   * @param {Member} member
   * @param {string} what was called
   * @param {boolean} isDurable
   */
  strike (member, what, isDurable) {
    const { random } = this.world
    if (this.isHealing) return
    const isAftershock = this.aftershocks > 0 && random() < (isDurable ? 0.3 : 0.1)
    if (!isAftershock && (this.strikes === MAX_STRIKES || !this.struck.test(what))) return
    const cuts = isAftershock ? isDurable || random() < 0.5 : isDurable && random() < this.cutsPower
    if (!cuts && random() >= this.kills) return
    if (isAftershock) this.aftershocks--
    else this.strikes++
    this.later(random.pick([0, 0, 0.2, 2]), () => cuts ? this.cutPower() : this.kill(isAftershock ? this.writer ?? member : member))
  }

  /** The owner ends, or is not there for a while, when it has stored some of what the others have sent, and has not said so. */
  takeOver (member) {
    const { random, writer } = this
    if (writer === undefined) return
    for (let calls = 1 + random.below(5); calls > 0; calls--) this.callSomewhere('append')
    const end = random()
    this.later(random() * random.pick([0.3, 2, 5]), () => {
      if (end < 0.6) this.kill(writer)
      else if (end < 0.8 && writer.isOpen) writer.close()
      else this.stop(writer)
    })
  }

  /** Much at once, while fsyncs are in progress and calls fail; most of the time, a power cut or a kill ends it. */
  storm (member) {
    const { random } = this
    const length = random.pick([0.5, 3, 10])
    // all of it in one process, or anywhere
    const own = random() < 0.5 ? member : null
    const isBulk = this.world.hasSmallLimits && random() < 0.5
    const names = random.pick(isBulk ? BULK_STORMS : STORMS)
    for (let calls = 1 + random.below(isBulk ? 20 : 10); calls > 0; calls--) this.later(random() * length, () => this.callSomewhere(this.random.pick(names), own))
    const fault = random()
    const isFaulty = fault < 0.7
    if (isFaulty && isBulk) this.later(random() * length / 2, () => this.failWrite())
    else if (isFaulty) this.later(random() * length / 2, () => this[fault < 0.2 ? 'failCalls' : fault < 0.4 ? 'failDisk' : 'failSync'](member, own !== null))
    const end = random()
    // what is broken shows after it was called whole
    const until = isFaulty ? (0.5 + random()) * length : random() * length
    if (end < 0.5) this.later(until, () => this.cutPower())
    else if (end < 0.7) this.later(until, () => this.kill(member))
  }

  /**
   * @param {string} name
   * @param {Member | null} [own] who calls it, if that is possible
   */
  callSomewhere (name, own = null) {
    const open = this.lasting.filter(({ isOpen, isBroken, role, pending, process }) => isOpen && !isBroken && !process.isStopped && pending.size <= MAX_PENDING && (role !== 'reader' || OF_READERS.includes(name)))
    if (open.length > 0) this[name](own !== null && open.includes(own) ? own : this.random.pick(open))
  }

  /** The connections of a process are lost, and it lives. */
  disconnect ({ name, process }) {
    this.world.note(`${name} is disconnected`)
    for (const socket of [...process.sockets]) socket.break()
  }

  /**
   * @param {number} delay milliseconds
   * @param {() => void} run not if nothing is to go wrong any more by then
   */
  later (delay, run) {
    const random = randomFrom(this.random.below(2 ** 31))
    this.world.timeline.add(delay, () => {
      if (this.isHealing) return
      // what is drawn in it must not depend on the step that is being done
      const { random: before } = this
      this.random = random
      this.operations++
      run()
      this.random = before
    })
  }

  fillDisk () {
    const { world } = this
    this.hadFaults = true
    world.note('the disk is full')
    world.disk.capacity = world.disk.used + this.random.pick([0, 10, 1000])
    world.timeline.add(this.random.pick([1, 50, 1000]), () => {
      if (world.disk.capacity !== Infinity) world.note('the disk has room again')
      world.disk.capacity = Infinity
    })
  }

  /** A few calls of a process fail. */
  failCalls ({ process }) {
    const { random } = this
    const names = random.pick([['write', 'writev'], ['write', 'writev', 'ftruncate'], CHANGES])
    this.fail(process, names, { count: random.pick([1, 2, 3, 20]), share: random.pick([0.5, 1]), file: random() < 0.5 ? random.pick(FILES) : null })
    this.crashSoon(process)
  }

  /** For a moment, the log can neither be written to nor truncated. */
  failDisk () {
    const { random, writer } = this
    if (writer === undefined) return
    this.fail(writer.process, ['write', 'writev', 'ftruncate'], { file: random.pick(FILES), count: 2 + random.below(3) })
    for (let calls = 1 + random.below(3); calls > 0; calls--) this.later(random(), () => this.callSomewhere('append'))
    // what could not be truncated is left to recovery
    if (random() < 0.8) this.later(random() * random.pick([2, 5, 20]), () => this.kill(writer))
  }

  /** The process that writes the log. */
  get writer () {
    return this.lasting.find(({ isOpen, role, log }) => isOpen && (role === 'alone' || log.flumelog.role === 'owner'))
  }

  /** A write of the process that writes the log, often one of several that an array takes, also when it is tried again. */
  failWrite () {
    const { random, writer } = this
    if (writer === undefined) return
    const duringSync = random() < 0.5
    this.fail(writer.process, ['write', 'writev'], { file: 'log', skipped: duringSync ? 0 : random.below(5), count: 2, duringSync })
    if (this.retries && writer.pending.size <= MAX_PENDING) this.bulk(writer)
  }

  /**
   * What could not be written is tried again, or a part of it: it takes the place of what the failed write has left, some of which a power cut can
   * bring back.
   * @param {Member} member
   * @param {number[]} sizes of the records
   */
  retry (member, sizes) {
    if (!this.retries) return
    this.later(0, () => {
      const { random } = this
      if (random() < 0.2 || !member.isOpen || member.process.isStopped || member.pending.size > MAX_PENDING) return
      const count = Math.min(sizes.length, random.pick([1, 2, 1 + random.below(sizes.length), Infinity, Infinity]))
      member.append(count, {}, sizes.slice(0, count))
      if (random() < 0.8) member.sync()
      if (random() < 0.4) this.later(random() * random.pick([0.2, 1, 5]), () => this.cutPower())
    })
  }

  /** A reader cannot make durable what its cursors are to be behind of, and tries again. */
  failConsumer () {
    const { random } = this
    const readers = this.lasting.filter(({ role, isOpen, process }) => role === 'reader' && isOpen && !process.isStopped)
    if (readers.length === 0) return
    const reader = random.pick(readers)
    this.fail(reader.process, SYNCS, { file: 'log' })
    this.callSomewhere('append')
    const length = random.pick([1, 10])
    for (let calls = 4; calls > 0; calls--) this.later(random() * length, () => this.callSomewhere('consume', reader))
  }

  /** A compaction cannot remove what it has written. */
  failCompaction () {
    const { random, writer } = this
    if (writer === undefined) return
    this.fail(writer.process, random.pick([['unlink', 'rename'], CHANGES]), { file: 'log.unfinished', skipped: random.below(3), count: 20 })
    for (let calls = 3; calls > 0; calls--) this.later(random() * 50, () => this.callSomewhere('compact'))
    this.later(20 + random() * 100, () => { this.world.fault = () => null })
  }

  /** Something fails from now on. */
  shake () {
    this.hadFaults = true
    this.aftershocks = AFTERSHOCKS
  }

  failSync (member, isOwn = false) {
    const { random, writer } = this
    const duringSync = random() < 0.3
    const file = duringSync ? 'log' : random.pick(FILES)
    this.fail((!isOwn && random() < 0.6 ? writer ?? member : member).process, SYNCS, { file: random() < 0.8 ? file : null, skipped: random.below(2), duringSync })
  }

  /** FILE.meta cannot be fsynced when the log is trimmed; its writer is killed before it has replaced it, and the power goes while the next one recovers the log. */
  failMetadata () {
    const { random, world: { slowSyncs }, writer } = this
    if (writer === undefined) return
    this.fail(writer.process, SYNCS, {
      file: 'log.meta',
      onfault: () => {
        const time = (1 + 3 * random()) * slowSyncs
        this.later(time, () => this.kill(writer))
        this.later(time + (3 + 9 * random()) * slowSyncs, () => this.cutPower())
      }
    })
    writer.trim(writer.log.since.value)
  }

  /** Most of what a fault has broken is repaired by what comes next. */
  crashSoon (process) {
    const { random } = this
    const crash = random()
    const member = this.all.find((member) => member.process === process)
    if (crash < 0.3) this.later(random() * random.pick([2, 20]), () => this.cutPower())
    else if (crash < 0.6 && member !== undefined) this.later(random() * random.pick([2, 20]), () => this.kill(member))
  }

  /**
   * Calls of a process fail, one after the other.
   * @param {import('./process').Process} process
   * @param {string[]} names
   * @param {object} which
   * @param {string | null} [which.file] in the log's folder; null: any
   * @param {number} [which.skipped] so many do not
   * @param {number} [which.count]
   * @param {number} [which.share] of them that fail
   * @param {boolean} [which.duringSync] only while an fsync of the file is in progress
   * @param {() => void} [which.onfault] called when the last of them fails
   */
  fail (process, names, { file = null, skipped = 0, count = 1, share = 1, duringSync = false, onfault = () => {} }) {
    this.shake()
    const { entries } = this.world.disk.find('/data', 'ls')
    this.world.fault = (caller, name, [where]) => {
      if (caller !== process || count === 0 || !names.includes(name)) return null
      const inode = caller.calls.files.get(where)?.inode
      if (file !== null && (inode === undefined ? where !== `/data/${file}` : inode !== entries.get(file))) return null
      if (duringSync && !(Number(inode?.syncs) > 0)) return null
      if (share < 1 && this.random() >= share) return null
      if (skipped-- > 0) return null
      if (--count === 0) onfault()
      return 'EIO'
    }
  }

  async heal () {
    await this.calm()
    if (!this.isOver) await this.checkEnd()
  }

  /** Nothing goes wrong for a while. */
  async rest () {
    const { world } = this
    const { lostEvents, shortWrites } = world
    await this.calm()
    Object.assign(world, { lostEvents, shortWrites })
    this.isHealing = false
    for (const member of this.all) member.finished = []
    this.all = this.all.filter(({ process, live }) => process.isAlive || live.length > 0)
  }

  /** All is answered, and the log is what it is to be. */
  async calm () {
    const { world } = this
    this.isHealing = true
    world.note('nothing goes wrong from here on')
    world.lostEvents = 0
    world.shortWrites = 0
    world.disk.capacity = Infinity
    world.fault = () => null
    for (const { process } of this.alive) {
      process.continue()
      process.callsToLive = Infinity
      process.oncall = () => {}
    }
    if (!this.lasting.some(({ role }) => role !== 'reader')) this.add(this.isShared ? 'shared' : 'alone')
    const isQuiet = () => this.alive.every(({ pending }) => pending.size === 0)
    await this.settle('calls', isQuiet)
    // what was called back in a process that was stopped may throw a little later
    await world.run(() => false, 1)
    for (const { process } of this.alive) for (const err of process.thrown) world.problem(`not thrown again: ${err.message}`)
    // one that has missed two compactions finds out, and opens the log again; so does each that hears of a failed fsync
    for (let tries = 0; tries < 3 || (tries < MOST_TRIES && this.alive.some(({ isBroken }) => isBroken)); tries++) {
      for (const member of this.alive) if (member.isBroken && member.log !== null) member.close()
      await this.settle('close', isQuiet)
      for (const member of this.alive) if (member.log === null) member.open()
      await this.settle('open', isQuiet)
      for (const member of this.alive.filter(({ role, log }) => role !== 'reader' && log !== null)) {
        // readers that were not told of something are told of this
        this.append(member)
        // without it, a log that is never synced does not hear of an fsync that has failed
        member.sync()
      }
      await this.settle('append', isQuiet)
    }
    await this.settle('compactions and deletions', () => this.alive.every(member => !member.isAtWork))
    if (!this.isOver) await this.checkAll()
  }

  /** Backups, and what is left of all when the log is closed. */
  async checkEnd () {
    const { world } = this
    const isQuiet = () => this.alive.every(({ pending }) => pending.size === 0)
    const user = this.lasting.find(({ role, isOpen, isBroken }) => role !== 'reader' && isOpen && !isBroken)
    if (user === undefined) return world.problem('no process has the log open for writing')
    for (const backup of this.backups) {
      if (backup.expected.size > 0 && this.random() < 0.5) user.restore(backup)
      await this.settle('restore', isQuiet)
      // the next one completes what was interrupted
      if (backup.isTried) user.backup(backup, backup.needsFull)
      await this.settle('backup', isQuiet)
      if (backup.needsFull) user.backup(backup, true)
      await this.settle('full backup', isQuiet)
      if (backup.expected.size > 0) user.restore(backup)
      await this.settle('restore again', isQuiet)
    }
    this.checkNames('/backups', BESIDE_BACKUPS)
    for (const member of this.alive) if (member.log !== null) member.close()
    await this.settle('close', isQuiet)
    // an owner of which an fsync has failed leaves its recovery point to the next opening
    for (const member of this.alive) if (member.isBroken) member.open()
    await this.settle('open', isQuiet)
    for (const member of this.alive) if (member.log !== null) member.close()
    await this.settle('close', isQuiet)
    this.lasting[0].verify()
    await this.settle('verify', isQuiet)
    this.checkNames('/data', BESIDE)
  }

  /**
   * @param {string} folder
   * @param {RegExp} allowed names of files in it
   */
  checkNames (folder, allowed) {
    const { disk } = this.world
    // what could neither be renamed nor removed stays until it is written again
    const isAllowed = (name) => allowed.test(name) || (this.hadFaults && name.endsWith('.meta.new')) ||
      // who does not share the log leaves the socket of an owner that was killed
      (/\.socket(\.new)?$/.test(name) && this.lasting.some(({ role }) => role === 'alone'))
    for (const name of disk.find(folder, 'ls').entries.keys()) if (!isAllowed(name)) this.world.problem(`the file ${folder}/${name} is left over`)
  }

  async settle (what, isDone) {
    const { world } = this
    if (this.isOver || await world.run(() => isDone() || this.isOver, PATIENCE)) return
    world.problem(`no answer: ${what}: ${this.alive.flatMap(({ name, pending }) => [...pending].map(call => `${name}: ${call}`)).join('; ')}`)
  }

  /** @returns {Promise<any[] | null>} what each member reads in both directions; null: there was a problem */
  async readAll () {
    const results = []
    for (const member of this.alive.filter(({ log }) => log !== null)) {
      for (const reverse of [false, true]) {
        await this.catchUp(member)
        let records = null
        member.start(`reads all${reverse ? ', reverse' : ''}`, async () => {
          const list = []
          for await (const { seq, value } of member.log.stream({ reverse })) list.push({ seq, text: String(value) })
          records = reverse ? list.reverse() : list
        })
        await this.settle('reading', () => member.pending.size === 0)
        if (records === null || this.isOver) return null
        results.push({ member, records })
      }
    }
    return results
  }

  async checkAll () {
    const { world, model } = this
    // a reader that was stopped for two compactions cannot follow, and says so when it reads
    const ids = () => new Set(this.alive.flatMap(({ log, role }) => log === null || role === 'reader' ? [] : [log.flumelog.id]))
    let id
    let results
    // a compaction can still be in progress, whose caller was killed
    do {
      await this.settle('following a compaction', () => ids().size <= 1)
      id = [...ids()].join()
      results = await this.readAll()
      if (results === null) return
    } while ([...ids()].join() !== id)
    const first = results.find(({ member }) => member.role !== 'reader')
    if (first === undefined) return
    const places = [...model.entries.values()].map(entry => ({ entry, seq: entry.seq, id: entry.id }))
    const seen = model.recovered(first.records, `${first.member.name} at the end`, first.member.log.flumelog.id)
    const text = (records) => records.map(({ seq, text }) => `${seq} ${text}`).join('\n')
    for (const { member, records } of results) {
      // what retention has trimmed in one process, others show until the file has its zeros
      const start = this.options.retain === undefined && member.role !== 'reader' ? 0 : Math.max(records[0]?.seq ?? Infinity, first.records[0]?.seq ?? Infinity)
      const [shown, wanted] = [records, first.records].map(list => list.filter(({ seq }) => seq >= start))
      if (text(shown) !== text(wanted)) world.problem(`${member.name} at the end has ${shown.length} records, ${first.member.name} ${wanted.length}: ${difference(shown, wanted)}`)
    }
    first.member.checkMap(places.filter(({ entry, seq, id }) => seq !== -1 && seen.has(entry) && id !== entry.id))
    await this.settle('the map', () => first.member.pending.size === 0)
    await world.run(() => false, 500)
    const present = [...seen.keys()]
    for (const member of this.all) {
      for (const stream of member.live) this.checkLive(stream, present)
      for (const read of member.finished) this.checkFinished(member, read, present)
    }
  }

  /**
   * Other processes are told of the last changes a little later; one that was not told of a change looks only while it waits for more.
   * @param {Member} member
   */
  async catchUp ({ log, number }) {
    const stream = log.stream({ live: true, old: false })
    const next = stream.next().catch(() => {})
    // a reader without checksums goes from block to block
    const last = Math.max(-1, ...this.alive.map((member) => member.log?.since.value ?? -1))
    await this.world.run(() => log.since.value === last, PATIENCE)
    await this.world.run(() => false, 500)
    let isOver = false
    Promise.all([stream.return(), next]).finally(() => { isOver = true })
    await this.settle(`the end of a live stream of member ${number}`, () => isOver)
  }

  /**
   * A stream has given each record that the log had when it was started, and each one between the first and the last that it gave,
   * whatever happened meanwhile.
   * @param {Member} member
   * @param {{ what: string, records: Array<{ seq: number, text: string }>, shown: import('./model').Entry[] }} read
   * @param {import('./model').Entry[]} present what is in the log at the end, in its order
   */
  checkFinished ({ name }, { what, records, shown }, present) {
    const seen = new Set(records.map(({ text }) => this.model.entries.get(text)))
    for (const entry of seen) if (entry?.state === 'refused') this.world.problem(`${name}, ${what}: ${nameOf(entry)} was given, though its append got an error`)
    for (const entry of shown) {
      if (!seen.has(entry) && this.wasThere(entry) && present.includes(entry)) this.world.problem(`${name}, ${what}: ${nameOf(entry)} at ${entry.seq} was not given, ${records.length} were`)
    }
    const indexes = present.flatMap((entry, i) => seen.has(entry) ? [i] : [])
    for (let i = indexes[0]; i < Number(indexes.at(-1)); i++) {
      const entry = present[i]
      if (this.wasThere(entry) && !seen.has(entry)) this.world.problem(`${name}, ${what}: ${nameOf(entry)} at ${entry.seq} was passed over, ${records.length} given`)
    }
  }

  /**
   * @param {import('./model').Entry} entry which is in the log at the end
   * @returns {boolean} whether it was, as readers see it, ever since it was appended
   */
  wasThere (entry) {
    // a crash brings back what only the memory of a process had trimmed
    return entry.deletion === 'no' && !(entry.mayBeTrimmed && this.hadCrash)
  }

  /** A live stream has given each record in front of the last that it gave. */
  checkLive ({ member, records, isOver }, present) {
    const { world, model } = this
    const who = `${member.name}, live`
    const order = new Map(present.map((entry, i) => [entry, i]))
    const seen = new Set()
    let last = -1
    for (const { seq, text } of records) {
      const entry = model.entries.get(text)
      // what a power cut has lost
      if (entry === undefined) continue
      if (seen.has(entry)) world.problem(`${who}: ${nameOf(entry)} twice, the second time at ${seq}`)
      if (entry.state === 'refused') world.problem(`${who}: ${nameOf(entry)}, though its append got an error`)
      seen.add(entry)
      const index = order.get(entry)
      if (index === undefined) continue
      if (index < last) world.problem(`${who}: ${nameOf(entry)} at ${seq} after a later one`)
      last = Math.max(last, index)
    }
    const until = isOver || !member.process.isAlive ? last : present.length
    present.forEach((entry, i) => {
      if (i < until && !seen.has(entry) && this.wasThere(entry)) world.problem(`${who}: ${nameOf(entry)} at ${entry.seq} was passed over, ${records.length} given`)
    })
  }
}

/** @param {Uint8Array} record */
function isWhole (record) {
  return !record.includes(0)
}

function difference (one, other) {
  const a = new Set(one.map(({ text }) => text))
  const b = new Set(other.map(({ text }) => text))
  const more = one.filter(({ text }) => !b.has(text)).map(({ seq, text }) => `+${seq} ${text.slice(0, 12)}`)
  const less = other.filter(({ text }) => !a.has(text)).map(({ seq, text }) => `-${seq} ${text.slice(0, 12)}`)
  return [...more, ...less].slice(0, 10).join(', ') || 'other seqs'
}

module.exports = { Simulation }
