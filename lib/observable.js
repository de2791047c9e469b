'use strict'

// An observable with the interface of the package obz, whose listeners cannot stop the log, or each other: what one throws is thrown on a
// stack of its own, and each may remove any of them, and add others, while they are called.

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
  /** In the order in which they were added. @type {Set<(value: V) => void>} */
  const listeners = new Set()
  /**
   * @param {(value: V) => unknown} listener
   * @param {boolean | undefined} immediately
   * @param {boolean} isOnce
   */
  const add = (listener, immediately, isOnce) => {
    mustBeFunction('the listener', listener)
    onlisten()
    const call = (/** @type {V} */ value) => {
      if (isOnce) remove()
      try {
        if (listener(value) === false) remove()
      } catch (err) {
        rethrowLater(err)
      }
    }
    const remove = () => { listeners.delete(call) }
    listeners.add(call)
    if (observed.value !== undefined && immediately !== false) call(observed.value)
    return remove
  }
  /** @type {Listen<V>} */
  const listen = (listener, immediately) => add(listener, immediately, false)
  const observed = Object.assign(listen, {
    value: /** @type {V} */ (/** @type {unknown} */ (undefined)),
    /** @type {Listen<V>} */
    once: (listener, immediately) => add(listener, immediately, true),
    set (/** @type {V} */ value) {
      observed.value = value
      for (const call of [...listeners]) {
        // one before it has removed it, or has set another value, which all of them have been given
        if (listeners.has(call) && observed.value === value) call(value)
      }
    }
  })
  return observed
}

function noop () {}

module.exports = { observable }
