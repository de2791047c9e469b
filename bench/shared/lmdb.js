'use strict'

// A memory-mapped B+ tree, which all processes write themselves.

const path = require('path')

/** Each process has keys of its own, in ascending order, which is cheaper than one order for all. */
const KEYS_PER_PROCESS = 2 ** 27

module.exports = {
  name: 'lmdb',
  package: 'lmdb',
  note: 'noSync: true; synchronous transactions; each process has a range of keys of its own, in ascending order',
  async open (folder, number) {
    const db = connect(folder)
    let key = number * KEYS_PER_PROCESS
    return {
      append (data, cb) {
        db.putSync(key++, data)
        cb(null)
      },
      appendBatch (values, cb) {
        db.transactionSync(() => { for (const value of values) db.putSync(key++, value) })
        cb(null)
      },
      close: () => db.close()
    }
  },
  async count (folder) {
    const db = connect(folder)
    const count = db.getKeysCount()
    await db.close()
    return count
  }
}

function connect (folder) {
  return require('lmdb').open({ path: path.join(folder, 'records.mdb'), encoding: 'binary', keyEncoding: 'uint32', noSync: true })
}
