'use strict'

const fc = require('fast-check')

/**
 * Numbers of which each is about as likely as any other. Of those that fc.double draws, nearly all are next to 0.
 * @param {number} [min]
 * @param {number} [max]
 */
function part (min = 0, max = 1) {
  return fc.integer({ min: min * 1000, max: max * 1000 }).map(n => n / 1000)
}

module.exports = { part }
