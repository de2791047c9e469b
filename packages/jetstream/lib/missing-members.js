'use strict'

// Members that a log in a file has, and this one has not.

/**
 * @param {string[]} names
 * @param {(name: string) => Error} errorOf
 * @returns {{ [name: string]: (...args: any[]) => void }} members that give the error to the callback, or throw it if there is none
 */
function missingMembers (names, errorOf) {
  return Object.fromEntries(names.map(name => [name, (...args) => {
    const cb = args.at(-1)
    if (typeof cb !== 'function') throw errorOf(name)
    process.nextTick(cb, errorOf(name))
  }]))
}

module.exports = { missingMembers }
