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
  cacheNote: 'fixed cache size, which it exceeds',
  isEarly: true,
  create: (folder) => require('flumelog-aligned-offset')(path.join(folder, 'log'), { blockSize: 65536 }),
  open (folder) {
    const log = this.create(folder)
    const whole = () => fileReaches(log.filename, () => log.length)
    const store = {
      append: log.append,
      whole,
      get: log.get,
      read: (onValue) => drainPush(log.stream({}), ({ value }) => onValue(value)),
      async keys () {
        const keys = []
        await drainPush(log.stream({ values: false }), (seq) => { keys.push(seq) })
        return keys
      },
      async close () {
        await whole()
        await promisify(log.close)()
      }
    }
    return new Promise(resolve => log.onReady(() => resolve(store)))
  }
}
