'use strict'

// LevelDB: a log-structured merge tree.

const path = require('path')

/** Records per batch. */
const FILLING = 10000

module.exports = {
  name: 'classic-level',
  package: 'classic-level',
  kind: 'database',
  cacheNote: 'its block cache has the same size as our cache',
  canSync: true,
  async open (folder, { sync = false, cacheSize } = {}) {
    const { ClassicLevel } = require('classic-level')
    const db = new ClassicLevel(path.join(folder, 'records.level'), {
      keyEncoding: 'utf8', valueEncoding: 'buffer', ...(cacheSize ? { cacheSize } : {})
    })
    await db.open()
    const [lastKey = '0'] = await db.keys({ reverse: true, limit: 1 }).all()
    let last = Number(lastKey)
    const nameOf = (n) => String(n).padStart(10, '0')
    return {
      append (data, cb) {
        const key = nameOf(++last)
        db.put(key, data, { sync }).then(() => cb(null, key), cb)
      },
      async fill (count, valueOf) {
        while (last < count) {
          await db.batch(Array.from({ length: Math.min(FILLING, count - last) }, () => ({ type: 'put', value: valueOf(last), key: nameOf(++last) })))
        }
      },
      get: (key, cb) => { db.get(key).then((value) => cb(null, value), cb) },
      async read (onValue) {
        const values = db.values()
        for (let some = await values.nextv(1000); some.length > 0; some = await values.nextv(1000)) some.forEach(onValue)
        await values.close()
      },
      keys: async () => Array.from({ length: last }, (_, i) => nameOf(i + 1)),
      close: () => db.close()
    }
  }
}
