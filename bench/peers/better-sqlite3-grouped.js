'use strict'

// SQLite with group commit in the application: all appends in flight go into one transaction.

const single = require('./better-sqlite3')

module.exports = {
  ...single,
  name: 'better-sqlite3, grouped',
  storedBy: single.name,
  note: 'WAL, synchronous=OFF (FULL where appends are synced), one transaction for all appends in flight',
  async open (folder, options) {
    const store = await single.open(folder, options)
    const insertAll = store.db.transaction((calls) => {
      for (const call of calls) call.key = store.insert.run(call.data).lastInsertRowid
    })
    let pending = []
    const flush = () => {
      const calls = pending
      pending = []
      insertAll(calls)
      for (const { cb, key } of calls) cb(null, key)
    }
    return {
      ...store,
      append (data, cb) {
        if (pending.push({ data, cb, key: 0 }) === 1) setImmediate(flush)
      }
    }
  }
}
