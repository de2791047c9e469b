'use strict'

/** @returns {string} a UUID */
function randomId () {
  // only then: readers need none, and it takes a while to load
  return require('crypto').randomUUID()
}

module.exports = { randomId }
