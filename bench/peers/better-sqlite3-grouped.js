'use strict'

// SQLite as a careful user drives it: what has gathered goes into one transaction.

const single = require('./better-sqlite3')

module.exports = {
  ...single,
  name: 'better-sqlite3, grouped',
  note: 'WAL, synchronous=OFF (FULL where appends are synced), one transaction for all that is in flight',
  async open (folder, options) {
    const store = await single.open(folder, options)
    const insertAll = store.db.transaction((calls) => {
      for (const call of calls) call.key = store.insert.run(call.data).lastInsertRowid
    })
    let gathered = []
    const flush = () => {
      const calls = gathered
      gathered = []
      insertAll(calls)
      for (const { cb, key } of calls) cb(null, key)
    }
    return {
      ...store,
      append (data, cb) {
        if (gathered.push({ data, cb, key: 0 }) === 1) setImmediate(flush)
      }
    }
  }
}
