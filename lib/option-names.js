'use strict'

// Refuses options that do not exist: an option that is ignored is a promise not kept.

const { types } = require('util')
const errors = require('./errors')
const { format } = require('./format-value')

/**
 * @param {string} of what takes the options
 * @param {readonly string[]} names that exist
 * @returns {(options: any) => void} throws flumelog:invalid for an option that does not exist, and for what is no object.
 *   An option that is undefined counts as not given; inherited options count like own ones, as when they are read
 */
function optionNames (of, names) {
  return (options) => {
    mustBeOptions(of, options)
    for (const name in options) {
      if (names.includes(name) || options[name] === undefined || isInheritedByAll(options, name)) continue
      throw errors.invalid(`unknown option \`${name}\` of ${of}: it takes ${names.map(known => `\`${known}\``).join(', ') || 'none'}`)
    }
  }
}

/**
 * @param {string} of what takes the options
 * @param {any} options
 * @throws flumelog:invalid
 */
function mustBeOptions (of, options) {
  if (options === null || typeof options !== 'object' || Array.isArray(options) || types.isMap(options) || types.isSet(options)) {
    throw errors.invalid(`the options of ${of} must be an object, not ${format(options)}`)
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

/**
 * @param {any} options
 * @param {string[]} names
 * @param {(options: any) => void} check
 * @returns {any} a copy of valid options, since the caller may change them before they are read; others are returned as they are, and
 *   refused then
 */
function copyOptions (options, names, check) {
  try {
    check(options)
    return pick(options, names)
  } catch {
    return options
  }
}

module.exports = { copyOptions, mustBeOptions, optionNames, pick }
