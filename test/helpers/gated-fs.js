'use strict'

// Holds back what some logs of this process read, and what their owner tells them, until a test lets it go on. To be loaded before
// the library, whose file system calls it replaces.

const fs = require('fs')
const { AsyncLocalStorage } = require('async_hooks')
const { promisify } = require('util')

/** What runs on behalf of a gate. @type {AsyncLocalStorage<Gate>} */
const running = new AsyncLocalStorage()

class Gate {
  /** @param {() => boolean} isHeld whether the next call is held back */
  constructor (isHeld) {
    this.isHeld = isHeld
    /** @type {Array<{ what: string, run: () => void }>} */
    this.calls = []
    /** In the order in which they have come. @type {Array<{ what: string, run: () => void }>} */
    this.messages = []
    /** Calls of the system that were begun. */
    this.pending = 0
    this.isOpen = false
    /** Whether a client becomes the owner when there is none. */
    this.mayLock = false
  }

  /** @param {() => T} call @returns {T} @template T */
  run (call) {
    return running.run(this, call)
  }

  /**
   * @param {string} what
   * @param {() => void} call
   */
  hold (what, call) {
    const run = () => this.run(call)
    if (this.isOpen || !this.isHeld()) run()
    else this.calls.push({ what, run })
  }

  /** @param {(n: number) => number} below */
  releaseCall (below) {
    const [call] = this.calls.splice(below(this.calls.length), 1)
    call.run()
    return call.what
  }

  releaseMessage () {
    const message = /** @type {{ what: string, run: () => void }} */ (this.messages.shift())
    message.run()
    return message.what
  }

  open () {
    this.isOpen = true
    while (this.messages.length > 0) this.releaseMessage()
    while (this.calls.length > 0) this.releaseCall(() => 0)
  }

  shut () {
    this.isOpen = false
  }

  get isQuiet () {
    return this.pending === 0 && this.calls.length === 0 && this.messages.length === 0
  }
}

/**
 * Each call is held back before it is made, and before it is answered.
 * @param {string} name of a function of `fs`
 */
function gate (name) {
  const real = /** @type {any} */ (fs)[name]
  const custom = real[promisify.custom] ?? promisify(real)
  /** @type {any} */
  const gated = function (...args) {
    const gate = running.getStore()
    const answer = args.at(-1)
    if (gate === undefined || typeof answer !== 'function') return real.apply(fs, args)
    const what = `${name} ${args.slice(0, -1).map(short).join(' ')}`
    gate.hold(what, () => {
      gate.pending++
      real.call(fs, ...args.slice(0, -1), (...results) => {
        gate.pending--
        gate.hold(`${what} ->`, () => answer(...results))
      })
    })
  }
  gated[promisify.custom] = (...args) => promised(name, custom, args)
  Object.assign(fs, { [name]: gated })
}

/**
 * @param {string} name
 * @param {(...args: any[]) => Promise<any>} call
 * @param {any[]} args
 */
function promised (name, call, args) {
  const gate = running.getStore()
  if (gate === undefined) return call(...args)
  const what = `${name} ${args.map(short).join(' ')}`
  return new Promise((resolve, reject) => gate.hold(what, () => {
    gate.pending++
    const end = (settle) => (result) => {
      gate.pending--
      gate.hold(`${what} ->`, () => settle(result))
    }
    call(...args).then(end(resolve), end(reject))
  }))
}

const short = (arg) => Buffer.isBuffer(arg) ? `<${arg.length}>` : Array.isArray(arg) ? `[${arg.map(short)}]` : typeof arg === 'object' ? '{}' : String(arg).split('/').at(-1)

for (const name of ['read', 'readv', 'open', 'stat', 'fstat', 'readFile']) gate(name)
const { stat } = fs.promises
fs.promises.stat = (...args) => promised('stat', stat.bind(fs.promises), args)

/** Holds back what owners tell their clients. */
function gateMessages () {
  const { Connection } = require('../../lib/sharing/connection')
  const { Sharing } = require('../../lib/sharing/sharing')
  const { tryLock } = Sharing.prototype
  Sharing.prototype.tryLock = function () {
    const gate = running.getStore()
    return (gate === undefined || gate.mayLock) && tryLock.call(this)
  }
  const { onframe, over, close, release } = Connection.prototype
  Connection.prototype.onframe = function (type, body) {
    const gate = running.getStore()
    if (gate === undefined || this.isReleasing || (gate.messages.length === 0 && (gate.isOpen || !gate.isHeld()))) return onframe.call(this, type, body)
    const copy = Buffer.from(body)
    gate.messages.push({
      what: `frame ${type}`,
      run: () => gate.run(() => {
        onframe.call(this, type, copy)
        if (this.isWelcome && !this.isOver) this.listeners.oninput()
      })
    })
  }
  Connection.prototype.over = function () {
    const gate = running.getStore()
    if (gate === undefined || gate.messages.length === 0 || this.isClosing) return over.call(this)
    gate.messages.push({ what: 'over', run: () => gate.run(() => over.call(this)) })
  }
  // what comes then was held back here before
  Connection.prototype.release = function () {
    this.isReleasing = true
    release.call(this)
    this.isReleasing = false
  }
  Connection.prototype.close = function () {
    this.isClosing = true
    return close.call(this)
  }
}

module.exports = { Gate, gateMessages }
