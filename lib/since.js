'use strict'

// The observable `since` of a log.

const { rethrowLater } = require('./callbacks')
const { observable } = require('./observable')

/**
 * @typedef {object} Setters
 * @property {(seq: number) => void} set calls the listeners
 * @property {(err: Error) => boolean} refuse the log could not be opened, and no callback was given the error: whether listeners were
 *   there. They take no error, so it is thrown, once for those that wait, and to each that is added later
 */

/**
 * @param {import('./types').Since['next']} next waits for the next change
 * @returns {import('./types').Since & { value: number | undefined } & Setters}
 */
function createSince (next) {
  let hasListeners = false
  /** @type {Error | null} */
  let refusal = null
  /** @type {import('./observable').Observable<number>} */
  const since = observable(() => {
    if (refusal !== null) throw refusal
    hasListeners = true
  })
  return Object.assign(since, {
    next,
    refuse (/** @type {Error} */ err) {
      refusal = err
      if (hasListeners) rethrowLater(err)
      return hasListeners
    }
  })
}

module.exports = { createSince }
