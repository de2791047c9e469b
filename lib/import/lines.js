'use strict'

/** Bytes of a line, or of a row, on which memory depends. */
const MAX_LINE = 256 * 1024 * 1024

module.exports = { MAX_LINE }
