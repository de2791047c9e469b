'use strict'

// The log's modules as one simulated process has them, with the `fs`, `net`, timers and random numbers of the world. To load them takes longer than what most
// processes do with them, so when a run is over, the processes of the next one get them. They keep nothing of it that could make a difference: no module
// has a state but caches.

const { createRequire } = require('module')
const nodeFs = require('fs')
const path = require('path')
const { promisify } = require('util')
const vm = require('vm')
const { fileSystem } = require('./file-system')
const { localSockets } = require('./sockets')

const ROOT = path.resolve(__dirname, '..', '..', '..')
const GLOBALS = ['process', 'setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'setInterval', 'clearInterval', 'performance', 'Date', 'Math']
/** Modules that the machine has in another way: its kernel has no accounts of threads. */
const SUBSTITUTES = new Map([[path.join(ROOT, 'lib', 'schedstat.js'), { bytesFetched: () => null, schedstat: () => null }]])

/** What some runs have far smaller, so that what takes several writes, frames or files in large logs does so in theirs: file, name, value there. @type {Array<[string, string, number]>} */
const LIMITS = [
  ['write/packer.js', 'MAX_WRITE', 300],
  ['write/trimmer.js', 'SLICE_SIZE', 65536],
  ['write/trimmer.js', 'BATCH_SIZE', 1000],
  ['write/hole-maker.js', 'MAX_BLOCKS', 2],
  ['write/deleter.js', 'MAX_BLOCKS', 2],
  ['write/deleter.js', 'MAX_RECORDS', 3],
  ['write/recorded-deletions.js', 'MAX_PATCHES', 2],
  ['write/metadata-keeper.js', 'MAX_LISTED', 500],
  ['storage/metadata-file.js', 'MAX_SIZE', 1500],
  ['storage/metadata-file.js', 'MAX_GROWTH', 2],
  ['storage/cut-file.js', 'COPY_SIZE', 100],
  ['recovery/recover.js', 'REWRITE_SIZE', 1000],
  ['sharing/frame-packer.js', 'FULL_FRAME', 600],
  ['sharing/frames.js', 'WINDOW', 16384],
  ['space/compaction.js', 'MIN_HEADROOM', 500],
  ['space/offset-map.js', 'MAX_KEPT', 0]
]

/** Compiled once: filename -> function that makes a module, with the limits that the code has, and with small ones. @type {Array<Map<string, Function>>} */
const compiled = [new Map(), new Map()]
/** Which module is meant: filename of the one that requires it -> id -> filename. @type {Map<string, Map<string, { filename: string, isOwn: boolean, require: (id: string) => any }>>} */
const resolved = new Map()
/** Those that no process uses, with either limits. @type {Modules[][]} */
const unused = [[], []]

class Modules {
  /** @param {boolean} hasSmallLimits */
  constructor (hasSmallLimits) {
    this.kind = Number(hasSmallLimits)
    /** The process that has them. @type {import('./process').Process} */
    this.user = /** @type {any} */ (null)
    /** @type {Map<string, any>} */
    this.loaded = new Map()
    this.builtins = this.makeBuiltins()
    this.globals = this.makeGlobals()
  }

  /**
   * @param {import('./process').Process} user
   * @returns {Modules}
   */
  static of (user) {
    const { hasSmallLimits } = user.world
    const modules = unused[Number(hasSmallLimits)].pop() ?? new Modules(hasSmallLimits)
    modules.user = user
    return modules
  }

  /** Nothing that their process has started can call back any more. */
  release () {
    unused[this.kind].push(this)
  }

  makeBuiltins () {
    const randomBytes = (size) => Buffer.from(Array.from({ length: size }, () => this.user.random.below(256)))
    const punch = promisify((fd, offset, length, cb) => {
      const { user } = this
      user.callLater('punch', [fd], () => user.calls.punch(fd, offset, length), cb)
    })
    const native = {
      tryLock: (fd, options) => this.user.calls.tryLock(fd, options),
      unlock: (fd) => this.user.calls.unlock(fd),
      trim: punch,
      sparse: async () => {}
    }
    // that of Node.js calls back outside of this process
    const callbackify = (run) => (...args) => {
      const { user } = this
      const cb = args.pop()
      const answer = (err, result) => process.nextTick(() => user.run(() => cb(err, result)))
      run(...args).then((result) => answer(null, result), (err) => answer(err))
    }
    const own = {
      fs: fileSystem(this),
      util: { ...require('util'), callbackify },
      net: localSockets(this),
      perf_hooks: { performance: { now: () => this.user.world.timeline.now() } },
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
    const modules = this
    const timer = (run, delay, args) => {
      const event = this.user.after(Math.max(1, Number(delay) || 0), () => run(...args))
      return { event, ref () { return this }, unref () { return this }, hasRef: () => false, [Symbol.toPrimitive]: () => event.order }
    }
    const clear = (made) => { if (made?.event) this.user.world.timeline.cancel(made.event) }
    const immediate = (run, ...args) => {
      const event = this.user.after(0, () => run(...args))
      return { event, ref () { return this }, unref () { return this } }
    }
    const nextTick = (run, ...args) => {
      const { user } = this
      process.nextTick(() => user.run(() => run(...args)))
    }
    const ownProcess = Object.create(process, {
      pid: { get: () => this.user.pid },
      env: { value: {} },
      // the machine locks files as Node.js does, whatever runs it
      versions: { value: { ...process.versions, bun: undefined, deno: undefined } },
      permission: { value: undefined },
      nextTick: { value: nextTick },
      emitWarning: { value: (warning) => this.user.world.warned(this.user, warning) }
    })
    class SimulatedDate extends Date {
      constructor (...args) {
        if (args.length === 0) super(SimulatedDate.now())
        else super(...(args))
      }

      static now () {
        const { epoch, timeline } = modules.user.world
        return Math.floor(epoch + timeline.now())
      }
    }
    const values = {
      process: ownProcess,
      setTimeout: (run, delay, ...args) => timer(run, delay, args),
      clearTimeout: clear,
      setImmediate: immediate,
      clearImmediate: clear,
      setInterval: () => { throw new Error('no intervals are simulated') },
      clearInterval: clear,
      performance: { now: () => this.user.world.timeline.now() },
      Date: SimulatedDate,
      Math: Object.create(Math, { random: { value: () => this.user.random() } })
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
    return SUBSTITUTES.get(filename) ?? (isOwn ? this.load(filename) : require(id))
  }

  /** @param {string} filename */
  load (filename) {
    const known = this.loaded.get(filename)
    if (known !== undefined) return known.exports
    const module = { exports: {}, filename }
    this.loaded.set(filename, module)
    const require = (id) => this.requireFrom(filename, id)
    compile(filename, this.kind)(...this.globals)(module.exports, require, module, filename, path.dirname(filename))
    return module.exports
  }
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
 * @param {number} kind 1: with small limits
 * @returns {Function}
 */
function compile (filename, kind) {
  let made = compiled[kind].get(filename)
  if (made === undefined) {
    let source = nodeFs.readFileSync(filename, 'utf8')
    const limits = LIMITS.filter(([name]) => path.join(ROOT, 'lib', name) === filename)
    if (kind === 1) for (const [, name, value] of limits) source = source.replace(new RegExp(`^const ${name} = .*$`, 'm'), `const ${name} = ${value}`)
    // a module may declare a name that is a global
    const inner = `return function (exports, require, module, __filename, __dirname) {${source}\n}`
    made = vm.compileFunction(inner, GLOBALS, { filename })
    compiled[kind].set(filename, made)
  }
  return made
}

module.exports = { LIMITS, Modules }
