'use strict'

// For peers that acknowledge before they have written.

const fs = require('fs')

/** Milliseconds between two looks at the file. */
const INTERVAL = 1

/**
 * @param {string} filename
 * @param {() => number} size what the file must have, in bytes
 * @returns {Promise<void>} when it has
 */
async function fileReaches (filename, size) {
  while ((fs.statSync(filename, { throwIfNoEntry: false })?.size ?? 0) < size()) {
    await new Promise(resolve => setTimeout(resolve, INTERVAL))
  }
}

module.exports = { fileReaches }
