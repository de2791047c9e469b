'use strict'

// SQLite with a write-ahead log, which all processes write themselves.

const path = require('path')

/** How long a process waits for the others, in milliseconds. */
const PATIENCE = 60000

module.exports = {
  name: 'better-sqlite3',
  package: 'better-sqlite3',
  note: 'WAL, synchronous=OFF; processes wait for each other as busy_timeout does, which is by sleeping',
  async open (folder) {
    const db = connect(folder)
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = OFF')
    db.exec('CREATE TABLE IF NOT EXISTS records (seq INTEGER PRIMARY KEY, value BLOB)')
    const insert = db.prepare('INSERT INTO records (value) VALUES (?)')
    // takes the lock first: a transaction that takes it later fails if another process has written meanwhile
    const insertAll = db.transaction((values) => { for (const value of values) insert.run(value) }).immediate
    return {
      append (data, cb) {
        insert.run(data)
        cb(null)
      },
      appendBatch (values, cb) {
        insertAll(values)
        cb(null)
      },
      close: async () => { db.close() }
    }
  },
  async count (folder) {
    const db = connect(folder)
    const count = db.prepare('SELECT count(*) FROM records').pluck().get()
    db.close()
    return count
  }
}

function connect (folder) {
  return require('better-sqlite3')(path.join(folder, 'records.sqlite'), { timeout: PATIENCE })
}
