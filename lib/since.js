'use strict'

// The observable `since` of a log.

const Obv = require('obz')
const { mustBeFunction, rethrowLater } = require('./callbacks')

/**
 * @typedef {(seq: number) => unknown} Listener
 * @typedef {import('./types').Since['next']} Next
 */

/**
 * An `obz` observable of which a listener that throws does not keep the others from being called: what it throws is
 * thrown again on a stack of its own.
 * @param {Next} next waits for the next change
 * @param {() => void} [onlisten] called when a listener is added
 * @returns {import('./types').Since & { value: number | undefined, set: (seq: number) => void }} set: the listeners are told
 */
function createSince (next, onlisten = noop) {
  const obv = Obv()
  const added = (/** @type {Listener} */ listener) => {
    const call = guarded(listener)
    onlisten()
    return call
  }
  /** @type {(listener: Listener, immediately?: boolean) => () => void} */
  const since = (listener, immediately) => obv(added(listener), immediately)
  return Object.assign(since, {
    /** @type {number | undefined} */
    value: undefined,
    /** @type {(listener: Listener, immediately?: boolean) => () => void} */
    once: (listener, immediately) => obv.once(added(listener), immediately),
    next,
    set (/** @type {number} */ seq) {
      this.value = seq
      obv.set(seq)
    }
  })
}

/**
 * @param {Listener} listener
 * @returns {Listener}
 * @throws flumelog:invalid
 */
function guarded (listener) {
  mustBeFunction('the listener', listener)
  return (seq) => {
    try {
      return listener(seq)
    } catch (err) {
      rethrowLater(err)
    }
  }
}

function noop () {}

module.exports = { createSince }
