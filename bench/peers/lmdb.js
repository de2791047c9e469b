'use strict'

// A memory-mapped B+ tree; it groups writes into transactions itself.

const path = require('path')

module.exports = {
  name: 'lmdb',
  package: 'lmdb',
  kind: 'database',
  note: 'opened as it is by default; where appends are synced, it is waited for `flushed`',
  cacheNote: 'it has no cache of its own: it reads the file in the memory of the operating system, which has all of it here',
  canSync: true,
  async open (folder, { sync = false } = {}) {
    const db = require('lmdb').open({ path: path.join(folder, 'records.mdb'), encoding: 'binary', keyEncoding: 'uint32' })
    let last = db.getKeys({ reverse: true, limit: 1 }).asArray[0] ?? 0
    return {
      append (data, cb) {
        const key = ++last
        const stored = db.put(key, data)
        if (sync) stored.then(() => db.flushed).then(() => cb(null, key), cb)
        else stored.then(() => cb(null, key), cb)
      },
      // by its documentation the quickest, but only till the next get may it be used
      get: (key, cb) => cb(null, db.getBinaryFast(key)),
      async read (onValue) {
        for (const { value } of db.getRange()) onValue(value)
      },
      keys: async () => Array.from({ length: last }, (_, i) => i + 1),
      close: () => db.close()
    }
  }
}
