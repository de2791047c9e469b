'use strict'

// How often a random test repeats: `npm test` has to take minutes, `node test/run.js --thorough` need not.

/**
 * @param {number} few
 * @param {number} many with `--thorough`
 * @returns {number} `RUNS`, if it is set
 */
function repetitions (few, many) {
  return Number(process.env.RUNS ?? (process.env.TEST_THOROUGH === undefined ? few : many))
}

module.exports = { repetitions }
