'use strict'

// Makes a run that fails shorter: leaves out steps as long as something is wrong without them.

const { runOf } = require('./run-of')

/**
 * @param {number} seed of a run that fails
 * @param {number[]} steps of it
 * @param {number} most runs to try
 * @returns {Promise<{ steps: number[], simulation: ReturnType<typeof runOf> }>} the shortest run that was found to fail
 */
async function shrink (seed, steps, most = 1000) {
  let simulation = runOf(seed)
  await simulation.run(steps)
  let runs = 1
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < steps.length && runs < most; runs++) {
      const fewer = [...steps.slice(0, at), ...steps.slice(at + size)]
      const tried = runOf(seed)
      if ((await tried.run(fewer)).length > 0) [steps, simulation] = [fewer, tried]
      else at += size
    }
  }
  return { steps, simulation }
}

module.exports = { shrink }
