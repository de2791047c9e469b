'use strict'

// An observable of the package obz whose listeners cannot stop the log, or each other: what one throws is thrown on a stack of its own.

const Obv = require('obz')
const { rethrowLater } = require('flumelog-random-access-file/direct')

/**
 * @template V
 * @returns {import('./types').Obz<V>}
 */
function observable () {
  const inner = Obv()
  const outer = /** @type {any} */ (/** @type {any} */ listener, /** @type {boolean | undefined} */ immediately) => inner(guarded(listener), immediately)
  outer.once = (/** @type {any} */ listener, /** @type {boolean | undefined} */ immediately) => inner.once(guarded(listener), immediately)
  outer.set = (/** @type {V} */ value) => {
    outer.value = value
    inner.set(/** @type {any} */ (value))
    return outer
  }
  return outer
}

/**
 * @param {(value: any) => unknown} listener
 * @returns {(value: any) => unknown}
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

module.exports = { observable }
