'use strict'

// What is behind the members of a log that callers have. In a file of its own, since wrappers are loaded before there is a log.

/** @typedef {import('./log').Log} Log */

/** By the members that callers have. @type {WeakMap<object, Log>} */
const logs = new WeakMap()

/**
 * @param {unknown} members what `createLog` has returned, or anything else
 * @returns {Log | undefined}
 */
function logBehind (members) {
  return logs.get(/** @type {object} */ (members))
}

module.exports = { logBehind, logs }
