'use strict'

// The log that came after flumedb.

const path = require('path')
const { promisify } = require('util')
const { drainPush } = require('../helpers/pull')

module.exports = {
  name: 'async-append-only-log',
  package: 'async-append-only-log',
  kind: 'flumelog',
  note: 'acknowledges before it has written, and begins to write when no append came for 250 ms; then syncs each block',
  cacheNote: 'its cache has a size of its own, 64 to 128 MiB: in the quick size it holds about half or more',
  isEarly: true,
  create: (folder) => require('async-append-only-log')(path.join(folder, 'log'), { blockSize: 65536 }),
  open (folder) {
    const log = this.create(folder)
    const whole = promisify(log.onDrain)
    const store = {
      append: log.append,
      whole,
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
