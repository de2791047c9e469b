'use strict'

// For tests that call the log in one process of a simulated machine after the other, instead of letting a seed choose.

/** Milliseconds of simulated time in which every call is answered. */
const PATIENCE = 60_000

/**
 * @param {import('./world').World} world
 * @param {() => boolean} isDone
 */
async function until (world, isDone) {
  if (!await world.run(isDone, PATIENCE)) throw new Error(`it did not happen within ${PATIENCE / 1000} s of simulated time`)
}

/**
 * @template T
 * @param {import('./world').World} world
 * @param {Promise<T>} promise
 * @returns {Promise<T>} the same, when the world has gone on until it is settled
 */
async function settled (world, promise) {
  let isOver = false
  promise.then(() => {}, () => {}).finally(() => { isOver = true })
  await until(world, () => isOver)
  return promise
}

/**
 * The power is cut, and nothing is left that was not fsynced.
 * @param {import('./world').World} world
 */
function loseUnsynced (world) {
  world.disk.random = Object.assign(() => 0, { below: () => 0, pick: (/** @type {any[]} */ values) => values[0] })
  world.cutPower()
}

module.exports = { loseUnsynced, settled, until }
