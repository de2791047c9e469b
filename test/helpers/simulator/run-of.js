'use strict'

const { Interruptions } = require('./interruptions')
const { Simulation } = require('./simulation')

/**
 * @param {number} seed
 * @returns {Simulation | Interruptions} a run that follows from it
 */
function runOf (seed) {
  return seed % 4 === 1 ? new Interruptions(seed) : new Simulation(seed)
}

module.exports = { runOf }
