'use strict'

// The log itself, with a process of its own that owns the file.

const path = require('path')
const { promisify } = require('util')

module.exports = {
  name: 'flumelog-random-access-file',
  own: (folder, options) => openAs('owner', folder, options),
  open: (folder) => openAs('client', folder),
  /** @returns the log, in whichever role */
  join: (folder, options) => ready(path.join(folder, 'log'), { ...options, shared: true }),
  async count (folder) {
    const { log, close } = await ready(path.join(folder, 'log'), { readOnly: true })
    let count = 0
    await new Promise((resolve, reject) => log.scan({}, () => { count++ }, (err) => err ? reject(err) : resolve()))
    await close()
    return count
  }
}

/**
 * @param {'owner' | 'client'} role the only one that is right
 * @param {string} folder
 * @param {object} [options] of the log
 */
async function openAs (role, folder, options) {
  const { log, close } = await module.exports.join(folder, options)
  if (log.role !== role) throw new Error(`expected to be the ${role}, not '${log.role}'`)
  return { append: log.append, close }
}

function ready (filename, options) {
  const log = require('../..')(filename, options)
  return new Promise((resolve, reject) => log.onReady((err) => err ? reject(err) : resolve({ log, close: promisify(log.close) })))
}
