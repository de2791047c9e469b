'use strict'

// The original log of flumedb: records cross block boundaries.

const path = require('path')
const { drain } = require('../helpers/pull')

module.exports = {
  name: 'flumelog-offset',
  package: 'flumelog-offset',
  kind: 'flumelog',
  cacheNote: 'fixed cache size: 1024 to 2048 blocks of 16 KiB, up to 32 MiB',
  isReady: (log, cb) => log.since.once(() => cb()),
  create: (folder, options) => require('flumelog-offset')(path.join(folder, 'log'), options),
  open (folder) {
    const log = this.create(folder)
    const store = {
      append: log.append,
      get: log.get,
      read: (onValue) => drain(log.stream(), ({ value }) => onValue(value)),
      async keys () {
        const keys = []
        await drain(log.stream({ values: false }), (seq) => { keys.push(seq) })
        return keys
      },
      // it has no close; acknowledged appends are written
      close: async () => {}
    }
    return new Promise(resolve => log.since.once(() => resolve(store)))
  }
}
