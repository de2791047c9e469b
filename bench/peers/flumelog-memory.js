'use strict'

// A log that is an array in memory: the cost of the interface alone.

const { drain } = require('../helpers/pull')

module.exports = {
  name: 'flumelog-memory',
  package: 'flumelog-memory',
  kind: 'flumelog',
  note: 'stores nothing: an array in memory',
  isVolatile: true,
  create: () => require('flumelog-memory')(),
  async open () {
    const log = this.create()
    return {
      append: log.append,
      get: log.get,
      read: (onValue) => drain(log.stream(), ({ value }) => onValue(value)),
      keys: async () => Array.from({ length: log.since.value + 1 }, (_, i) => i),
      close: async () => {}
    }
  }
}
