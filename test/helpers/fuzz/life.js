'use strict'

// The life of a fuzzed log, from one seed: it is opened, asked for many things at once,
// closed or struck by a power cut at some moment, compared with the model, and opened again.

const { Calls, Thrown } = require('./calls')
const { Model } = require('./model')
const { Session } = require('./session')
const { operate, operateNested, close } = require('./operations')
const { framesOf, reconcile, wholeFrames } = require('./reconcile')
const { buffers, objects } = require('./values')
const { worldOf, NAMES } = require('./worlds')

/** How often one log is opened. */
const OPENINGS = 4

/**
 * @param {string} kind of the world
 * @param {number} seed
 * @param {{ folder: string, operations?: number, ignored?: RegExp | null }} options operations: at most this many in all;
 *   ignored: violations that are known
 * @returns {Promise<{ violation: string | null, history: string[], hash: number | undefined, operations: number }>}
 */
async function live (kind, seed, { folder, operations = Infinity, ignored = null }) {
  const world = worldOf(kind, seed, folder)
  world.ignored = ignored
  const life = new Life(world, operations)
  const uncaught = (err) => life.uncaught(err)
  process.on('uncaughtException', uncaught)
  try {
    await world.run(life.run())
  } catch (err) {
    world.violate(err.stack)
  } finally {
    process.off('uncaughtException', uncaught)
  }
  return { violation: world.violation, history: world.history, hash: world.simulation?.hash, operations: life.made }
}

class Life {
  constructor (world, most) {
    const { random } = world
    this.world = world
    this.most = most
    this.made = 0
    const values = random() < 0.75 || world.blockSize < 128 ? buffers : objects(world.violate)
    this.model = new Model(values, world.violate)
    this.options = {
      blockSize: world.blockSize,
      checksum: random() < 0.8,
      large: random() < 0.3,
      ...values.options
    }
    // of a record that is larger than a block, only the last chunk's place is known: see `isInBlock`
    world.largestBytes = this.options.large ? world.blockSize * random.pick([3, 20]) : world.mostBytes
    this.throwing = random.pick([0, 0, 0.02, 0.2])
    // more of it would never end: such logs have more records, and each that a stream gives may make a call
    this.nesting = this.options.large ? 0 : random.pick([0, 0.02, 0.2])
    this.length = random.pick([5, 30, 150])
    /** @type {Calls | null} */
    this.calls = null
  }

  uncaught (err) {
    this.world.simulation?.interrupted()
    if (err instanceof Thrown && this.calls !== null) this.calls.caught(err)
    else this.world.violate(`an exception that nobody threw on purpose: ${err?.stack ?? err}`)
  }

  async run () {
    const { world } = this
    for (let n = 0; n < OPENINGS; n++) {
      const isLast = n === OPENINGS - 1
      const goesOn = await this.session(isLast || this.made >= this.most)
      if (world.violation !== null || !goesOn || this.made >= this.most) return
    }
  }

  drawSettings () {
    const { random } = this.world
    return {
      ...this.options,
      cacheSize: random.pick([0, 2000, 20000, 1 << 20]),
      sync: random.pick(['always', 'interval', 'interval', 'interval', 'never']),
      syncInterval: random.pick([0, 1, 20, 1000]),
      syncBytes: random.pick([1, 300, 5000, 65536, 1 << 24]),
      highWaterMark: random.pick([100, 5000, 1 << 24, 1 << 24]),
      overflow: random.pick(['queue', 'queue', 'queue', 'reject'])
    }
  }

  /**
   * @param {boolean} isLast
   * @returns {Promise<boolean>} whether the log can be opened again
   */
  async session (isLast) {
    const { world, model, throwing, nesting } = this
    const { random, note, violate } = world
    const settings = this.drawSettings()
    const calls = this.calls = new Calls({ random, note, violate, throwing, nesting })
    note(`open ${JSON.stringify({ ...settings, codec: undefined })} kind ${world.kind}`)
    const session = new Session({ log: world.open(settings), settings, model, world, calls })
    calls.nest = () => operateNested(session)
    this.ready(session)
    await this.work(session)
    if (world.violation !== null) return this.end(false)
    if (!isLast && world.canCrash && random() < 0.4) return this.crash(session)
    return this.close(session)
  }

  ready (session) {
    session.call('onReady', cb => session.log.onReady(cb), (call, err) => {
      session.openError = err
      session.isOpen = !err
      this.world.opened()
      if (err && session.closeCalledAt === Infinity) session.checkError(call, err)
    })
  }

  async work (session) {
    const { world, calls } = this
    const { random } = world
    const pause = random.pick([0.05, 0.3, 0.8])
    // mostly, what is asked for before the log is open is little
    if (random() < 0.8) await Promise.race([[...calls.pending][0].done])
    for (let n = 0; n < this.length && this.made < this.most && world.violation === null; n++) {
      this.made++
      operate(session)
      if (random() < pause) await world.pause()
      else if (random() < 0.02 && calls.pending.size > 0) await Promise.race([random.pick([...calls.pending]).done, world.pause()])
      else if (random() < 0.01) await this.rest(session)
    }
    if (random() < 0.3) await this.rest(session)
  }

  /** Until all has been answered that ever will be. */
  async rest (session) {
    const { world, calls } = this
    const isDone = () => {
      const waiting = [...session.readers].filter(({ mayWait }) => mayWait).length
      // appends without a callback are not pending, and in flight all the same
      return calls.pending.size <= waiting && session.log.stats().inFlight.records === 0
    }
    await world.rest(isDone)
    if (world.violation === null) session.checkRest()
  }

  async close (session) {
    const { world, model } = this
    const { random } = world
    if (random() < 0.5) world.healthy()
    while (session.closeCalledAt === Infinity) close(session)
    for (let n = random.below(4); n > 0; n--) operate(session)
    await this.rest(session)
    world.healthy()
    this.checkMisuses()
    if (world.violation !== null) return this.end(false)
    // without a recovery point, what a failed write has left is not looked for
    if (session.closeError !== null && world.isStorage) return this.end(false)
    await this.compare({ isCrash: false, isCertain: session.closeError === null && session.openError === null, hasFaults: true })
    return this.end(model.violate !== null)
  }

  async crash (session) {
    const { world } = this
    const { faults } = world
    const hasFaults = faults.change + faults.sync > 0
    this.checkMisuses()
    this.calls.isOver = true
    const { isKill } = world.crash()
    if (!isKill) for (const record of this.model.records) if (record.deletedAt > session.erasedBefore) record.deletedAt = Infinity
    if (isKill) for (const record of this.model.records) record.isDurable ||= record.acknowledgedAt < Infinity
    await this.compare({ isCrash: true, isCertain: false, hasFaults })
    return this.end(true)
  }

  end (goesOn) {
    this.calls.isOver = true
    return goesOn && this.world.violation === null
  }

  /** Opens the log and closes it, so that it is recovered, and compares it with the model. */
  async compare (how) {
    const { world } = this
    const log = world.open({ ...this.options })
    const opened = await new Promise(resolve => log.onReady(err => resolve(err)))
    if (opened) return world.violate(`the log cannot be opened: ${opened.stack}`)
    const { start } = log
    const closed = await new Promise(resolve => log.close(err => resolve(err)))
    if (closed) return world.violate(`the log cannot be closed: ${closed.stack}`)
    const frames = framesOf(world.bytes(), this.options.blockSize, world.violate, start)
    reconcile(this.model, this.options.large ? wholeFrames(frames, this.model) : frames, { ...how, start })
  }

  checkMisuses () {
    const misuses = this.world.misuses()
    if (misuses.length > 0) this.world.violate(misuses.slice(0, 5).join('; '))
  }
}

module.exports = { live, NAMES }
