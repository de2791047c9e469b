'use strict'

// Makes the history of a failing seed shorter: the fewest operations after which it still fails.

const { live } = require('./life')

/**
 * @param {string} kind
 * @param {number} seed
 * @param {Awaited<ReturnType<typeof live>>} failed
 * @param {{ folder: string }} options
 */
async function shrink (kind, seed, failed, options) {
  let best = failed
  for (let part = best.operations >> 1; part > 0; part >>= 1) {
    const life = await live(kind, seed, { ...options, operations: best.operations - part })
    if (life.violation !== null) best = life
  }
  return best
}

module.exports = { shrink }
