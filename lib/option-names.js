'use strict'

// Refuses options that do not exist: an option that is ignored is a promise not kept.

const { types } = require('util')
const errors = require('./errors')
const { format } = require('./format-value')

/** Names that other libraries have for an option of this one. @type {Record<string, string>} */
const NAMES_ELSEWHERE = { start: 'gte', end: 'lte', min: 'gte', max: 'lte', offsets: 'seqs', tail: 'live', validateRecord: 'validate' }

/**
 * @param {string} of what takes the options
 * @param {readonly string[]} names that exist
 * @param {readonly string[]} [ignored] names that are accepted, but never suggested
 * @param {boolean} [isOpen] whether to accept every name that resembles none of `names`
 * @returns {(options: any) => void} throws flumelog:invalid for an option that does not exist, and for what is no object.
 *   An option that is undefined counts as not given; inherited options count like own ones, as when they are read
 */
function optionNames (of, names, ignored = [], isOpen = false) {
  const known = new Set([...names, ...ignored])
  return (options) => {
    if (options === null || typeof options !== 'object' || Array.isArray(options) || types.isMap(options) || types.isSet(options)) {
      throw errors.invalid(`the options of ${of} must be an object, not ${format(options)}`)
    }
    for (const name in options) {
      if (known.has(name) || options[name] === undefined || isInheritedByAll(options, name)) continue
      const nearest = nearestOf(name, names)
      if (nearest !== null || !isOpen) throw unknown(of, name, names, nearest)
    }
  }
}

/**
 * @param {object} options
 * @param {string} name
 * @returns {boolean} whether every object has this property, perhaps because a program has extended all of them
 */
function isInheritedByAll (options, name) {
  return name in Object.prototype && !Object.hasOwn(options, name)
}

/**
 * @param {string} of
 * @param {string} name
 * @param {readonly string[]} names
 * @param {string | null} nearest
 */
function unknown (of, name, names, nearest) {
  return errors.invalid(`unknown option \`${name}\` of ${of}: ` +
    (nearest === null ? `it takes ${names.map(known => `\`${known}\``).join(', ')}` : `did you mean \`${nearest}\`?`))
}

/**
 * @param {string} name
 * @param {readonly string[]} names
 * @returns {string | null} the one that was probably meant
 */
function nearestOf (name, names) {
  const elsewhere = Object.hasOwn(NAMES_ELSEWHERE, name) ? NAMES_ELSEWHERE[name] : null
  if (elsewhere !== null && names.includes(elsewhere)) return elsewhere
  let nearest = null
  let least = Math.ceil(name.length / 3) + 1
  for (const known of names) {
    const distance = editDistance(name.toLowerCase(), known.toLowerCase())
    if (distance < least) {
      least = distance
      nearest = known
    }
  }
  return nearest
}

/**
 * @param {string} a
 * @param {string} b
 * @returns {number} the Levenshtein distance: how many characters to insert, delete or replace
 */
function editDistance (a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]
}

/**
 * @param {any} options
 * @param {string[]} names
 * @returns {object} those of these names, as they would be read: also if they are inherited, or not enumerable
 */
function pick (options, names) {
  /** @type {Record<string, unknown>} */
  const picked = {}
  for (const name of names) {
    const value = options[name]
    if (value !== undefined) picked[name] = value
  }
  return picked
}

module.exports = { optionNames, pick }
