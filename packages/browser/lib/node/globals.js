'use strict'

// What the log uses of the global objects of Node.js; the build puts it in their place.

const { Buffer } = require('./buffer')
const { later } = require('../later')

const process = {
  pid: 1,
  platform: 'browser',
  versions: {},
  permission: undefined,
  nextTick: (/** @type {Function} */ run, /** @type {any[]} */ ...args) => queueMicrotask(() => run(...args)),
  emitWarning: (/** @type {string} */ message) => console.warn(message)
}

/** What Node.js gives: an object that can be told not to keep the process alive, which nothing does here. */
class Timer {
  /** @param {number} id */
  constructor (id) {
    this.id = id
  }

  ref () { return this }
  unref () { return this }
}

const nativeSetTimeout = globalThis.setTimeout
const nativeClearTimeout = globalThis.clearTimeout
const setTimeout = (/** @type {() => void} */ run, /** @type {number} */ delay, /** @type {any[]} */ ...args) => new Timer(/** @type {any} */ (nativeSetTimeout)(run, delay, ...args))
const clearTimeout = (/** @type {Timer | null} */ timer) => nativeClearTimeout(timer?.id)

/**
 * @param {(...args: any[]) => void} run
 * @param {any[]} args
 */
function setImmediate (run, ...args) {
  const timer = Object.assign(new Timer(0), { isCleared: false })
  later(() => { if (!timer.isCleared) run(...args) })
  return timer
}

/** @param {{ isCleared: boolean }} timer */
function clearImmediate (timer) {
  timer.isCleared = true
}

module.exports = { Buffer, process, setTimeout, clearTimeout, setImmediate, clearImmediate }
