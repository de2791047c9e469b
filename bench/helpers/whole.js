'use strict'

// For peers that acknowledge before writing.

const fs = require('fs')

/** Milliseconds between checks of the file. */
const INTERVAL = 1

/**
 * @param {string} filename
 * @param {() => number} size in bytes
 * @returns {Promise<void>} resolves when the file has at least this size
 */
async function fileReaches (filename, size) {
  while ((fs.statSync(filename, { throwIfNoEntry: false })?.size ?? 0) < size()) {
    await new Promise(resolve => setTimeout(resolve, INTERVAL))
  }
}

module.exports = { fileReaches }
