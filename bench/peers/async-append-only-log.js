'use strict'

// The log that succeeded flumedb.

const path = require('path')
const { promisify } = require('util')
const { drainPush } = require('../helpers/pull')

module.exports = {
  name: 'async-append-only-log',
  package: 'async-append-only-log',
  kind: 'flumelog',
  note: 'acknowledges before writing; starts to write after 250 ms without an append, then fsyncs each block',
  cacheNote: 'fixed cache size: 1024 to 2048 blocks of 64 KiB, up to 128 MiB',
  isEarly: true,
  isReady: (log, cb) => log.since.once(() => cb()),
  create: (folder, options) => require('async-append-only-log')(path.join(folder, 'log'), { blockSize: 65536, ...options }),
  whole: (log) => promisify(log.onDrain)(),
  open (folder) {
    const log = this.create(folder)
    const store = {
      append: log.append,
      whole: () => this.whole(log),
      get: log.get,
      read: (onValue) => drainPush(log.stream({}), ({ value }) => onValue(value)),
      async keys () {
        const keys = []
        await drainPush(log.stream({ values: false }), (offset) => { keys.push(offset) })
        return keys
      },
      close: promisify(log.close)
    }
    return new Promise(resolve => log.since.once(() => resolve(store)))
  }
}
