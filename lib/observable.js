'use strict'

// An observable of the package obz whose listeners cannot stop the log, or each other: what one throws is thrown on a stack of its own.

const Obv = require('obz')
const { mustBeFunction, rethrowLater } = require('./callbacks')

/**
 * @template V
 * @typedef {(listener: (value: V) => unknown, immediately?: boolean) => () => void} Listen returns a function that removes the listener
 */

/**
 * @template V
 * @typedef {Listen<V> & { value: V, once: Listen<V>, set: (value: V) => void }} Observable `value`: undefined until it is set
 */

/**
 * @template V
 * @param {() => void} [onlisten] called before a listener is added; may throw
 * @returns {Observable<V>}
 */
function observable (onlisten = noop) {
  const obv = Obv()
  /** @param {(value: V) => unknown} listener */
  const added = (listener) => {
    mustBeFunction('the listener', listener)
    onlisten()
    return guarded(listener)
  }
  /** @type {Listen<V>} */
  const listen = (listener, immediately) => obv(/** @type {any} */ (added(listener)), immediately)
  return Object.assign(listen, {
    value: /** @type {V} */ (/** @type {unknown} */ (undefined)),
    /** @type {Listen<V>} */
    once: (listener, immediately) => obv.once(/** @type {any} */ (added(listener)), immediately),
    set (/** @type {V} */ value) {
      this.value = value
      obv.set(/** @type {any} */ (value))
    }
  })
}

/**
 * @template V
 * @param {(value: V) => unknown} listener
 * @returns {(value: V) => unknown}
 */
function guarded (listener) {
  return (value) => {
    try {
      return listener(value)
    } catch (err) {
      rethrowLater(err)
    }
  }
}

function noop () {}

module.exports = { observable }
