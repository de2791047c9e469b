'use strict'

// SQLite with a write-ahead log, one transaction per record.

const path = require('path')

module.exports = {
  name: 'better-sqlite3',
  package: 'better-sqlite3',
  kind: 'database',
  note: 'WAL, synchronous=OFF (FULL where appends are synced), one transaction per record',
  cacheNote: 'its page cache has the same size as our cache',
  canSync: true,
  async open (folder, { sync = false, cacheSize } = {}) {
    const db = require('better-sqlite3')(path.join(folder, 'records.sqlite'))
    db.pragma('journal_mode = WAL')
    db.pragma(`synchronous = ${sync ? 'FULL' : 'OFF'}`)
    // negative: in KiB
    if (cacheSize) db.pragma(`cache_size = ${-cacheSize / 1024}`)
    db.exec('CREATE TABLE IF NOT EXISTS records (seq INTEGER PRIMARY KEY, value BLOB)')
    const insert = db.prepare('INSERT INTO records (value) VALUES (?)')
    const select = db.prepare('SELECT value FROM records WHERE seq = ?').pluck()
    return {
      db,
      insert,
      append: (data, cb) => cb(null, insert.run(data).lastInsertRowid),
      get: (key, cb) => cb(null, select.get(key)),
      async read (onValue) {
        for (const value of db.prepare('SELECT value FROM records ORDER BY seq').pluck().iterate()) onValue(value)
      },
      async fill (count, valueOf) {
        db.transaction(() => { for (let n = 0; n < count; n++) insert.run(valueOf(n)) })()
      },
      keys: async () => db.prepare('SELECT seq FROM records ORDER BY seq').pluck().all(),
      close: async () => { db.close() }
    }
  }
}
