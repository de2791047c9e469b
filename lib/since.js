'use strict'

// The observable `since` of a log.

const Obv = require('obz')
const { mustBeFunction, rethrowLater } = require('./callbacks')

/**
 * @typedef {(seq: number) => unknown} Listener
 * @typedef {import('./types').Since['next']} Next
 */

/**
 * @typedef {object} Setters
 * @property {(seq: number) => void} set calls the listeners
 * @property {(err: Error) => boolean} refuse the log could not be opened, and no callback was given the error: whether listeners were
 *   there. They take no error, so it is thrown, once for those that wait, and to each that is added later
 */

/**
 * An `obz` observable of which a listener that throws does not keep the others from being called: what it throws is
 * thrown again on a stack of its own.
 * @param {Next} next waits for the next change
 * @returns {import('./types').Since & { value: number | undefined } & Setters}
 */
function createSince (next) {
  const obv = Obv()
  let hasListeners = false
  /** @type {Error | null} */
  let refusal = null
  const added = (/** @type {Listener} */ listener) => {
    const call = guarded(listener)
    if (refusal !== null) throw refusal
    hasListeners = true
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
    },
    refuse (/** @type {Error} */ err) {
      refusal = err
      if (hasListeners) rethrowLater(err)
      return hasListeners
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

module.exports = { createSince }
