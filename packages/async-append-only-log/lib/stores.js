'use strict'

// The stores of this process, by path: whoever opens a file that is open already gets the same store, so that no
// file has two writers.

const fs = require('fs')
const path = require('path')
const { Store } = require('./store')

/** @type {Map<string, Store>} */
const stores = new Map()

/**
 * @param {string} filename
 * @param {import('./types').Options<any>} options those of the first one count
 * @returns {Store} to which the caller adds itself, until it calls `release`
 */
function storeFor (filename, options) {
  const key = realPath(filename)
  const open = stores.get(key) ?? null
  if (open !== null && !open.isClosing && open.problem() === null && open.isAtItsPath()) return open
  // one that is being closed has the lock until it has ended; so does one that has failed, or whose file was deleted, or replaced by another
  const before = open === null ? null : open.close()
  const store = new Store(key, options, before, () => { if (stores.get(key) === store) stores.delete(key) })
  stores.set(key, store)
  return store
}

/**
 * @param {string} filename
 * @returns {string} the same for all names of a file
 */
function realPath (filename) {
  const absolute = path.resolve(filename)
  for (const [found, rest] of [[absolute, ''], [path.dirname(absolute), path.basename(absolute)]]) {
    try {
      return path.join(fs.realpathSync(found), rest)
    } catch {}
  }
  return absolute
}

module.exports = { storeFor }
