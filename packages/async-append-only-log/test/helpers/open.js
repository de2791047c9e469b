'use strict'

// The interface of async-append-only-log with promises.

const { promisify } = require('util')
const AsyncAppendOnlyLog = require('../..')

/**
 * @param {string} file
 * @param {object} [options]
 * @param {Function} [open] this package's, or the original
 */
function openLog (file, options, open = AsyncAppendOnlyLog) {
  const log = open(file, { writeTimeout: 1, ...options })
  const promised = { log }
  for (const name of ['get', 'append', 'appendTransaction', 'del', 'onDrain', 'onDeletesFlushed', 'compact', 'stats', 'close']) promised[name] = promisify(log[name])
  promised.collect = (options) => collect(log, options)
  promised.store = async (...values) => {
    const offsets = []
    for (const value of values) offsets.push(await promised.append(value))
    await promised.onDrain()
    return offsets
  }
  return promised
}

/** @returns {Promise<any[]>} what a stream gives, up to its end */
function collect (log, options) {
  return new Promise((resolve, reject) => {
    const items = []
    log.stream(options).pipe({ paused: false, write: (item) => items.push(item), end: (err) => err ? reject(err) : resolve(items) })
  })
}

module.exports = { openLog, collect }
