'use strict'

// A simulated process. When it is killed, nothing that it has started calls back, its files are closed and its connections broken.

const { PAGE_SIZE, failure } = require('./disk')
const { Calls } = require('./file-system')
const { Modules } = require('./modules')
const { randomFrom } = require('../random')

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
    /** A write that does not write everything ends at a multiple of this many bytes; 0: the write in progress writes everything. */
    this.tornAt = 0
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
    /** Called before each call of the system: it can be stopped, killed (`callsToLive`) or joined by others there. @type {(name: string, args: any[]) => void} */
    this.oncall = () => {}
    this.calls = new Calls(this)
    this.modules = Modules.of(this)
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
    if (!this.countCall(name, args, apply)) throw dead()
    this.world.timeline.now()
    this.letOthersRun()
    const fault = this.world.faultOf(this, name, args)
    if (fault !== null) {
      this.tear(name, apply, false)
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
    if (!this.countCall(name, args, apply)) return
    const { world } = this
    const fault = world.faultOf(this, name, args)
    const finish = (isDone = true) => {
      if (!this.inKernel.delete(finish)) return
      let result
      let error = fault
      try {
        if (fault === null && isDone) result = apply()
        else this.tear(name, apply, fault === null)
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
   * @param {number} fd
   * @param {(err: any) => void} cb
   */
  syncLater (name, fd, cb) {
    if (!this.countCall(name, [fd])) return
    const { world } = this
    let fault = world.faultOf(this, name, [fd])
    let finish = (_) => false
    const inode = this.calls.files.get(fd)?.inode
    try {
      finish = world.disk.startSync(this.calls.file(fd, name))
    } catch (err) {
      fault = err
    }
    if (inode !== undefined) inode.syncs++
    world.timeline.add(world.latency('fsync'), () => {
      if (inode !== undefined) inode.syncs--
      if (finish(fault === null)) fault ??= failure('EIO', name, '')
      this.after(world.latency('answer'), () => cb(fault))
    })
  }

  /**
   * @param {string} name
   * @param {number} fd
   */
  syncNow (name, fd) {
    let hasFailed = true
    const sync = () => this.world.disk.startSync(this.calls.file(fd, name))
    try {
      this.callNow(name, [fd], () => {
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
   * @param {boolean} isKilled then whole pages are written: Linux looks for a kill between two of them
   */
  tear (name, apply, isKilled) {
    if (!['write', 'writev'].includes(name) || this.world.random() < 0.5) return
    this.tornAt = isKilled ? PAGE_SIZE : 1
    try {
      apply()
    } catch {
      // it fails anyway
    } finally {
      this.tornAt = 0
    }
  }

  /**
   * A process may die between any two calls, and in the middle of a write.
   * @param {string} name of the call
   * @param {any[]} args
   * @param {() => any} [apply]
   * @returns {boolean} whether it is alive
   */
  countCall (name, args, apply) {
    if (this.isAlive) this.oncall(name, args)
    if (this.isAlive && --this.callsToLive > 0) return true
    if (this.isAlive && apply !== undefined) this.tear(name, apply, true)
    if (this.isAlive) this.world.kill(this, 'at a call of the system')
    return false
  }

  /** @param {string} id of a module of the project, from its root: './promises' */
  require (id) {
    return this.modules.require(id)
  }
}

function dead () {
  return Object.assign(new Error('the process is dead'), { code: 'EDEAD' })
}

module.exports = { Process }
