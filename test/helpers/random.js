'use strict'

// A random source with a seed (mulberry32), so that a run can be repeated.

/** @param {number} seed */
function randomFrom (seed) {
  let state = seed >>> 0
  const random = () => {
    state = (state + 0x6D2B79F5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ mixed >>> 15, mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61)
    return ((mixed ^ mixed >>> 14) >>> 0) / 4294967296
  }
  random.below = (n) => Math.floor(random() * n)
  random.pick = (list) => list[random.below(list.length)]
  return random
}

module.exports = { randomFrom }
