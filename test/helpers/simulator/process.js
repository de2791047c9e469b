'use strict'

// A simulated process: the log's modules, loaded anew, with the `fs`, `net`, timers and random numbers of the world. When it is killed,
// nothing that it has started calls back, its files are closed and its connections broken.

const { createRequire } = require('module')
const nodeFs = require('fs')
const path = require('path')
const vm = require('vm')
const { failure } = require('./disk')
const { Calls, fileSystem } = require('./file-system')
const { localSockets } = require('./sockets')
const { randomFrom } = require('../random')

const ROOT = path.resolve(__dirname, '..', '..', '..')
const GLOBALS = ['process', 'setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'setInterval', 'clearInterval', 'performance', 'Date', 'Math']

/** Compiled once: filename -> function that makes a module. @type {Map<string, Function>} */
const compiled = new Map()
/** Which module is meant: filename of the one that requires it -> id -> filename. @type {Map<string, Map<string, { filename: string, isOwn: boolean, require: (id: string) => any }>>} */
const resolved = new Map()

class Process {
  /**
   * @param {import('./world').World} world
   * @param {number} pid
   */
  constructor (world, pid) {
    this.world = world
    this.pid = pid
    this.random = randomFrom(world.random.below(2 ** 31))
    this.isAlive = true
    this.isStopped = false
    /** Whether it waits for a synchronous call, while other processes run. */
    this.isInCall = false
    /** Whether the write in progress fails, and writes a part. */
    this.isTorn = false
    /** What was to run while it was stopped. @type {Array<() => void>} */
    this.backlog = []
    /** @type {Set<any>} */
    this.sockets = new Set()
    /** @type {Set<any>} */
    this.servers = new Set()
    /** @type {Set<any>} */
    this.watchers = new Set()
    /** Ends calls that are in progress, done or not. @type {Set<(isDone?: boolean) => void>} */
    this.inKernel = new Set()
    /** What its callbacks have thrown, and nobody has caught yet. */
    this.thrown = new Set()
    /** Calls of `fs` after which it is killed, in the middle of what it does. */
    this.callsToLive = Infinity
    this.calls = new Calls(this)
    /** @type {Map<string, any>} */
    this.modules = new Map()
    this.builtins = this.makeBuiltins()
    this.globals = this.makeGlobals()
  }

  // Time

  /**
   * @param {number} delay milliseconds
   * @param {() => void} run in this process, unless it is dead by then
   */
  after (delay, run) {
    const event = this.world.timeline.add(delay, () => this.run(() => {
      // a timer may be cleared after it was due, while the process was stopped
      if (!event.isCancelled) run()
    }))
    return event
  }

  /**
   * @param {number} time milliseconds since the start of the run
   * @param {() => void} run
   */
  at (time, run) {
    return this.world.timeline.addAt(time, () => this.run(run))
  }

  run (run) {
    if (!this.isAlive) return
    // nothing overtakes what waits
    if (this.isStopped || this.isInCall || this.backlog.length > 0) this.backlog.push(run)
    else this.execute(run)
  }

  execute (run) {
    try {
      run()
    } catch (err) {
      if (this.isAlive) this.world.uncaught(this, err)
    }
  }

  stop () {
    this.isStopped = true
  }

  continue () {
    if (!this.isAlive || !this.isStopped) return
    this.isStopped = false
    this.runBacklog()
  }

  runBacklog () {
    this.world.timeline.add(0, () => {
      if (!this.isAlive || this.isStopped || this.isInCall) return
      const run = this.backlog.shift()
      if (run === undefined) return
      if (this.backlog.length > 0) this.runBacklog()
      this.execute(run)
    })
  }

  kill () {
    if (!this.isAlive) return
    this.isAlive = false
    // locks are released when the last call of the process has ended
    for (const finish of [...this.inKernel]) finish(this.random() < 0.5)
    this.calls.closeAll()
    for (const watcher of this.watchers) watcher.close()
    for (const server of [...this.servers]) server.stop()
    for (const socket of [...this.sockets]) {
      socket.destroyed = true
      const { peer } = socket
      if (peer !== null) peer.owner.after(this.world.latency('socket'), () => peer.onbroken())
    }
    this.backlog = []
  }

  // Calls of the system

  /**
   * @param {string} name
   * @param {any[]} args
   * @param {() => any} apply
   */
  callNow (name, args, apply) {
    if (!this.countCall(name, apply)) throw dead()
    this.world.timeline.now()
    this.letOthersRun()
    const fault = this.world.faultOf(this, name, args)
    if (fault !== null) {
      this.tear(name, apply)
      throw fault
    }
    return apply()
  }

  /** Others go on between two synchronous calls of this process, as on another core. */
  letOthersRun () {
    const { world } = this
    if (world.interleaving === 0 || world.isInterleaving || world.random() >= world.interleaving) return
    world.isInterleaving = this.isInCall = true
    for (let events = 1 + world.random.below(10); events > 0; events--) world.timeline.step(world.timeline.time + 0.5)
    world.isInterleaving = this.isInCall = false
    if (!this.isAlive) throw dead()
    if (!this.isStopped) this.runBacklog()
  }

  /**
   * @param {string} name
   * @param {any[]} args
   * @param {() => any} apply
   * @param {(err: any, result?: any) => void} cb
   */
  callLater (name, args, apply, cb) {
    if (!this.countCall(name, apply)) return
    const { world } = this
    const fault = world.faultOf(this, name, args)
    const finish = (isDone = true) => {
      if (!this.inKernel.delete(finish)) return
      let result
      let error = fault
      try {
        if (fault === null && isDone) result = apply()
        else this.tear(name, apply)
      } catch (err) {
        error = err
      }
      this.after(world.latency('answer'), () => cb(error, result))
    }
    // the kernel goes on with a call of a process that is stopped
    this.inKernel.add(finish)
    world.timeline.add(world.latency('file'), () => finish())
  }

  /**
   * @param {string} name
   * @param {() => import('./file-system').OpenFile} fileOf
   * @param {(err: any) => void} cb
   */
  syncLater (name, fileOf, cb) {
    if (!this.countCall()) return
    const { world } = this
    let fault = world.faultOf(this, name, [])
    let finish = (_) => false
    try {
      finish = world.disk.startSync(fileOf())
    } catch (err) {
      fault = err
    }
    world.timeline.add(world.latency('fsync'), () => {
      if (finish(fault === null)) fault ??= failure('EIO', name, '')
      this.after(world.latency('answer'), () => cb(fault))
    })
  }

  /**
   * @param {string} name
   * @param {() => import('./file-system').OpenFile} fileOf
   */
  syncNow (name, fileOf) {
    let hasFailed = true
    const sync = () => this.world.disk.startSync(fileOf())
    try {
      this.callNow(name, [], () => {
        hasFailed = false
        if (sync()()) throw failure('EIO', name, '')
      })
    } catch (err) {
      if (hasFailed && this.isAlive) sync()(false)
      throw err
    }
  }

  /**
   * A write that fails, or whose process is killed, may have written a part.
   * @param {string} name of the call
   * @param {() => any} apply
   */
  tear (name, apply) {
    if (!['write', 'writev'].includes(name) || this.world.random() < 0.5) return
    this.isTorn = true
    try {
      apply()
    } catch {
      // it fails anyway
    } finally {
      this.isTorn = false
    }
  }

  /**
   * A process may die between any two calls, and in the middle of a write.
   * @param {string} [name] of the call
   * @param {() => any} [apply]
   * @returns {boolean} whether it is alive
   */
  countCall (name = '', apply) {
    if (this.isAlive && --this.callsToLive > 0) return true
    if (this.isAlive && apply !== undefined) this.tear(name, apply)
    if (this.isAlive) this.world.kill(this, 'at a call of the system')
    return false
  }

  // Modules

  makeBuiltins () {
    const { random, world } = this
    const fs = fileSystem(this)
    const randomBytes = (size) => Buffer.from(Array.from({ length: size }, () => random.below(256)))
    const native = {
      tryLock: (fd, options) => this.calls.tryLock(fd, options),
      unlock: (fd) => this.calls.unlock(fd),
      trim: (fd, offset, length) => new Promise((resolve, reject) => this.callLater('punch', [fd], () => this.calls.punch(fd, offset, length), (err) => err ? reject(err) : resolve(undefined))),
      sparse: async () => {}
    }
    // that of Node.js calls back outside of this process
    const callbackify = (run) => (...args) => {
      const cb = args.pop()
      const answer = (err, result) => process.nextTick(() => this.run(() => cb(err, result)))
      run(...args).then((result) => answer(null, result), (err) => answer(err))
    }
    const own = {
      fs,
      util: { ...require('util'), callbackify },
      net: localSockets(this),
      perf_hooks: { performance: { now: () => world.timeline.now() } },
      crypto: {
        ...require('crypto'),
        randomBytes,
        randomUUID: () => randomBytes(16).toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
      },
      module: { createRequire: (filename) => (id) => this.requireFrom(filename, id) },
      'fs-native-extensions': native
    }
    return new Map(Object.entries(own))
  }

  makeGlobals () {
    const { world } = this
    const timer = (run, delay, args) => {
      const event = this.after(Math.max(1, Number(delay) || 0), () => run(...args))
      return { event, ref () { return this }, unref () { return this }, hasRef: () => false, [Symbol.toPrimitive]: () => event.order }
    }
    const clear = (made) => { if (made?.event) world.timeline.cancel(made.event) }
    const immediate = (run, ...args) => {
      const event = this.after(0, () => run(...args))
      return { event, ref () { return this }, unref () { return this } }
    }
    const ownProcess = Object.create(process, {
      pid: { value: this.pid },
      env: { value: {} },
      // the machine locks files as Node.js does, whatever runs it
      versions: { value: { ...process.versions, bun: undefined, deno: undefined } },
      permission: { value: undefined },
      nextTick: { value: (run, ...args) => process.nextTick(() => this.run(() => run(...args))) },
      emitWarning: { value: (warning) => world.warned(this, warning) }
    })
    class SimulatedDate extends Date {
      constructor (...args) {
        if (args.length === 0) super(SimulatedDate.now())
        else super(...(args))
      }

      static now () { return Math.floor(world.epoch + world.timeline.now()) }
    }
    const values = {
      process: ownProcess,
      setTimeout: (run, delay, ...args) => timer(run, delay, args),
      clearTimeout: clear,
      setImmediate: immediate,
      clearImmediate: clear,
      setInterval: () => { throw new Error('no intervals are simulated') },
      clearInterval: clear,
      performance: { now: () => world.timeline.now() },
      Date: SimulatedDate,
      Math: Object.create(Math, { random: { value: this.random } })
    }
    return GLOBALS.map(name => values[name])
  }

  /** @param {string} id of a module of the project, from its root: './promises' */
  require (id) {
    return this.requireFrom(path.join(ROOT, 'index.js'), id)
  }

  /**
   * @param {string} from filename of the module that requires
   * @param {string} id
   */
  requireFrom (from, id) {
    const builtin = this.builtins.get(id.startsWith('node:') ? id.slice('node:'.length) : id)
    if (builtin !== undefined) return builtin
    const { filename, isOwn, require } = resolve(from, id)
    return isOwn ? this.load(filename) : require(id)
  }

  /** @param {string} filename */
  load (filename) {
    const known = this.modules.get(filename)
    if (known !== undefined) return known.exports
    const module = { exports: {}, filename }
    this.modules.set(filename, module)
    const require = (id) => this.requireFrom(filename, id)
    compile(filename)(...this.globals)(module.exports, require, module, filename, path.dirname(filename))
    return module.exports
  }
}

function dead () {
  return Object.assign(new Error('the process is dead'), { code: 'EDEAD' })
}

/** @param {string} filename */
function isOfProject (filename) {
  const relative = path.relative(ROOT, filename)
  return !relative.startsWith('..') && !relative.startsWith('node_modules')
}

/**
 * @param {string} from filename of the module that requires
 * @param {string} id
 */
function resolve (from, id) {
  let ids = resolved.get(from)
  if (ids === undefined) resolved.set(from, ids = new Map())
  let found = ids.get(id)
  if (found === undefined) {
    const require = createRequire(from)
    const filename = require.resolve(id)
    // packages have no state, and are shared
    const isOwn = path.isAbsolute(filename) && filename.endsWith('.js') && isOfProject(filename)
    ids.set(id, found = { filename, isOwn, require })
  }
  return found
}

/**
 * @param {string} filename
 * @returns {Function}
 */
function compile (filename) {
  let made = compiled.get(filename)
  if (made === undefined) {
    const source = nodeFs.readFileSync(filename, 'utf8')
    // a module may declare a name that is a global
    const inner = `return function (exports, require, module, __filename, __dirname) {${source}\n}`
    made = vm.compileFunction(inner, GLOBALS, { filename })
    compiled.set(filename, made)
  }
  return made
}

module.exports = { Process }
