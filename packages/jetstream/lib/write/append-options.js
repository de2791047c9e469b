'use strict'

// The options of an append, as callers give them.

const { format, optionNames } = require('flumelog-random-access-file/blocks')
const { checkAfter } = require('flumelog-random-access-file/parts')
const errors = require('../errors')

/** Of a key, which is the id of a message, and goes into a header: what that keeps as it is, and leaves room for the others. */
const PATTERN = /^[!-~]{1,256}$/

const checkNames = optionNames('append', ['sync', 'atomic', 'after', 'key'])

/**
 * @param {any} options as they are given; a boolean is what flumelog-aligned-offset takes
 * @returns {any} those that say something
 * @throws flumelog:invalid
 */
function givenOptions (options) {
  const given = typeof options === 'boolean' ? {} : options ?? {}
  checkNames(given)
  for (const name of ['sync', 'atomic']) {
    if (typeof (given[name] ?? false) !== 'boolean') throw errors.invalid(`${name} must be true or false; it is ${format(given[name])}`)
  }
  return given
}

/**
 * @param {unknown} value that is appended
 * @param {any} options
 * @returns {{ atomic: boolean, terms: import('./batch-sender').Terms }}
 * @throws flumelog:invalid
 */
function appendOptionsOf (value, options) {
  const { atomic = false, after, key } = givenOptions(options)
  checkAfter(value, after)
  checkKey(value, { after, key })
  return { atomic: atomic === true, terms: { after: after ?? null, key: key ?? null } }
}

/**
 * @param {unknown} value
 * @param {{ key?: unknown, after?: unknown }} options
 */
function checkKey (value, { key, after }) {
  if (key === undefined) return
  if (typeof key !== 'string' || !PATTERN.test(key)) throw errors.invalid(`key must be a string of 1 to 256 visible characters of ASCII; it is ${format(key)}`)
  if (Array.isArray(value)) throw errors.invalid('key must be that of one record, not of an array')
  // which of the two the server compares first depends on the stream's replicas
  if (after !== undefined) throw errors.invalid('key must not be given with after')
}

module.exports = { appendOptionsOf, givenOptions }
