'use strict'

// The key of an append, as callers give it: it is the id of a message, which goes into a header.

const { format } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')

/** What a header keeps as it is, and leaves room for the others. */
const PATTERN = /^[!-~]{1,256}$/

/**
 * @param {unknown} value that is appended
 * @param {{ key?: unknown, after?: unknown }} options
 * @throws flumelog:invalid
 */
function checkKey (value, { key, after }) {
  if (key === undefined) return
  if (typeof key !== 'string' || !PATTERN.test(key)) throw errors.invalid(`key must be a string of 1 to 256 visible characters of ASCII; it is ${format(key)}`)
  if (Array.isArray(value)) throw errors.invalid('key must be that of one record, not of an array')
  // which of the two the server compares first depends on the stream's replicas
  if (after !== undefined) throw errors.invalid('key must not be given with after')
}

module.exports = { checkKey }
