'use strict'

// Members that are computed, and can be replaced like any other property: assigning to one gives the object a value of
// its own.

/**
 * @param {string} name
 * @param {() => unknown} get
 * @returns {PropertyDescriptor}
 */
function replaceable (name, get) {
  return { enumerable: true, configurable: true, get, set (value) { replace(this, name, value) } }
}

/**
 * @param {object} object
 * @param {string} name
 * @param {unknown} value
 */
function replace (object, name, value) {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

module.exports = { replaceable, replace }
