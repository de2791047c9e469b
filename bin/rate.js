'use strict'

// How fast a command goes, for those that show it until they are stopped.

/** Milliseconds over which the rate is measured. */
const INTERVAL = 1000

/**
 * @param {() => number} counter
 * @returns {() => number} how much it grows per second: in the last second or so, if this is called at least as often
 */
function rateOf (counter) {
  let at = performance.now()
  let counted = counter()
  let perSecond = 0
  return () => {
    const passed = performance.now() - at
    if (passed < INTERVAL && perSecond > 0) return perSecond
    perSecond = passed === 0 ? 0 : (counter() - counted) / passed * 1000
    if (passed >= INTERVAL) {
      at += passed
      counted = counter()
    }
    return perSecond
  }
}

module.exports = { rateOf }
