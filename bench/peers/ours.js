'use strict'

// The log itself.

const path = require('path')
const { promisify } = require('util')
const { drain } = require('../helpers/pull')

module.exports = {
  name: 'flumelog-random-access-file',
  kind: 'flumelog',
  canSync: true,
  isReady: (log, cb) => log.onReady(cb),
  create: (folder, options) => require('../..')(path.join(folder, 'log'), options),
  open (folder, { sync, ...options } = {}) {
    const log = this.create(folder, { ...options, sync: sync === true ? 'always' : sync })
    const store = {
      log,
      append: log.append,
      get: log.get,
      read: (onValue) => drain(log.stream(), ({ value }) => onValue(value)),
      async keys () {
        const keys = []
        await drain(log.stream({ values: false }), (seq) => { keys.push(seq) })
        return keys
      },
      close: promisify(log.close)
    }
    return new Promise((resolve, reject) => log.onReady((err) => err ? reject(err) : resolve(store)))
  }
}
