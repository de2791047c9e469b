// SQLite in WebAssembly, on its pool of synchronous handles of OPFS: a table with a row for each record, and one transaction for all appends that are
// in flight. It is not fsynced, as the log is not when an append is acknowledged, and survives a kill.

import sqlite3InitModule from '@sqlite.org/sqlite-wasm'

let pool

export async function open (name) {
  if (pool === undefined) {
    const sqlite3 = await sqlite3InitModule({ locateFile: () => '/sqlite3.wasm' })
    pool = await sqlite3.installOpfsSAHPoolVfs({ initialCapacity: 24 })
  }
  const db = new pool.OpfsSAHPoolDb(`/${name}`)
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536')
  const mode = db.selectValue(`PRAGMA journal_mode = ${globalThis.journalMode ?? 'WAL'}`)
  globalThis.usedMode = mode
  db.exec('CREATE TABLE IF NOT EXISTS log (seq INTEGER PRIMARY KEY, value BLOB)')
  const insert = db.prepare('INSERT INTO log (value) VALUES (?)')
  const select = db.prepare('SELECT value FROM log WHERE seq = ?')
  const all = db.prepare('SELECT value FROM log ORDER BY seq')
  const begin = db.prepare('BEGIN')
  const commit = db.prepare('COMMIT')
  const run = (statement) => statement.step() || statement.reset()
  return {
    append (records) {
      if (records.length > 1) run(begin)
      for (const record of records) run(insert.bind(1, record))
      if (records.length > 1) run(commit)
    },
    stream () {
      let count = 0
      let bytes = 0
      while (all.step()) {
        count++
        bytes += all.getBlob(0).length
      }
      all.reset()
      return { count, bytes }
    },
    keys: () => db.selectValues('SELECT seq FROM log'),
    get (seq) {
      select.bind(1, seq).step()
      const value = select.getBlob(0)
      select.reset()
      return value
    },
    close () {
      for (const statement of [insert, select, all, begin, commit]) statement.finalize()
      db.close()
    }
  }
}
