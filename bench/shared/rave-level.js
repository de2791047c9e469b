'use strict'

// LevelDB in one process, the leader, which the others send their writes over a socket.

const path = require('path')

module.exports = {
  name: 'rave-level',
  package: 'rave-level',
  /** The leader, if it is a process that does nothing else. */
  async own (folder) {
    const db = connect(folder)
    await new Promise(resolve => db.once('leader', resolve))
    return { close: () => db.close() }
  },
  async open (folder, number) {
    const db = connect(folder)
    let last = 0
    const nextKey = () => `${number}-${String(++last).padStart(10, '0')}`
    return {
      append (data, cb) { db.put(nextKey(), data, cb) },
      appendBatch (values, cb) { db.batch(values.map(value => ({ type: 'put', key: nextKey(), value })), cb) },
      close: () => db.close()
    }
  },
  async count (folder) {
    const db = connect(folder)
    const keys = db.keys()
    let count = 0
    for (let some = await keys.nextv(1000); some.length > 0; some = await keys.nextv(1000)) count += some.length
    await db.close()
    return count
  }
}

function connect (folder) {
  const { RaveLevel } = require('rave-level')
  return new RaveLevel(path.join(folder, 'records.level'), { keyEncoding: 'utf8', valueEncoding: 'buffer' })
}
