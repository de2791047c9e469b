'use strict'

// The optional packages of the log: its locks are those of the files, and there is no native CRC-32.

// here the build takes fs.js
const fs = require('fs')

const { native } = /** @type {any} */ (fs)

const createRequire = () => (/** @type {string} */ name) => {
  if (name === 'fs-native-extensions') return native
  throw new Error(`${name} cannot be loaded in a browser`)
}

module.exports = { createRequire }
