'use strict'

const errors = require('../errors')

/** Bytes of a line, on which memory depends. */
const MAX_LINE = 256 * 1024 * 1024

/**
 * @param {number} offset of the line
 * @param {number} size of what is known of it, in bytes
 * @throws flumelog:invalid
 */
function mustNotBeEndless (offset, size) {
  if (size > MAX_LINE) throw errors.invalid(`the line at offset ${offset} has more than ${MAX_LINE} bytes, so this is no file of lines`)
}

module.exports = { mustNotBeEndless }
