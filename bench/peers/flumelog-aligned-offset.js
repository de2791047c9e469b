'use strict'

// The log with the same file format as ours.

const path = require('path')
const { promisify } = require('util')
const { drainPush } = require('../helpers/pull')
const { fileReaches } = require('../helpers/whole')

module.exports = {
  name: 'flumelog-aligned-offset',
  package: 'flumelog-aligned-offset',
  kind: 'flumelog',
  note: 'acknowledges before writing',
  cacheNote: 'its cache is to hold 1024 blocks of 64 KiB, but evicts only every other time, so it grows without limit',
  isEarly: true,
  cachesAll: true,
  isReady: (log, cb) => log.onReady(cb),
  create: (folder, options) => require('flumelog-aligned-offset')(path.join(folder, 'log'), { blockSize: 65536, ...options }),
  whole: (log) => fileReaches(log.filename, () => log.length),
  open (folder) {
    const log = this.create(folder)
    const store = {
      append: log.append,
      whole: () => this.whole(log),
      get: log.get,
      read: (onValue) => drainPush(log.stream({}), ({ value }) => onValue(value)),
      async keys () {
        const keys = []
        await drainPush(log.stream({ values: false }), (seq) => { keys.push(seq) })
        return keys
      },
      async close () {
        await store.whole()
        await promisify(log.close)()
      }
    }
    return new Promise(resolve => log.onReady(() => resolve(store)))
  }
}
