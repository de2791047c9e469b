'use strict'

// A memory-mapped B+ tree; it groups writes into transactions itself.

const path = require('path')

module.exports = {
  name: 'lmdb',
  package: 'lmdb',
  kind: 'database',
  note: 'default options; synced appends wait for `flushed`',
  cacheNote: 'no cache of its own: it reads from the page cache of the operating system, which contains the whole file',
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
      async fill (count, valueOf) {
        db.transactionSync(() => { while (last < count) db.putSync(last + 1, valueOf(last++)) })
      },
      // the fastest method according to its documentation; the result is valid until the next get
      get: (key, cb) => cb(null, db.getBinaryFast(key)),
      async read (onValue) {
        for (const { value } of db.getRange()) onValue(value)
      },
      keys: async () => Array.from({ length: last }, (_, i) => i + 1),
      close: () => db.close()
    }
  }
}
