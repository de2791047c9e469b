'use strict'

// The original log of flumedb: records cross block boundaries.

const path = require('path')
const { drain } = require('../helpers/pull')

module.exports = {
  name: 'flumelog-offset',
  package: 'flumelog-offset',
  kind: 'flumelog',
  cacheNote: 'fixed cache size, 16 to 32 MiB',
  create: (folder) => require('flumelog-offset')(path.join(folder, 'log')),
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
