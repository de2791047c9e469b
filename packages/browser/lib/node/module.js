'use strict'

// The optional packages of the log: its locks are those of the files, and there is no native CRC-32.

const { native } = /** @type {any} */ (require('./fs'))

module.exports = {
  createRequire: () => (/** @type {string} */ name) => {
    if (name === 'fs-native-extensions') return native
    throw new Error(`${name} cannot be loaded in a browser`)
  }
}
