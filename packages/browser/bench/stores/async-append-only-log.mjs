// The log that succeeded flumedb, on random-access-web, as its polyraf chooses it: on a page. It acknowledges before it writes, so appends are timed
// until everything is written.

import AsyncLog from 'async-append-only-log'

const promised = (call) => new Promise((resolve, reject) => call((err, result) => err ? reject(err) : resolve(result)))

export async function open (name) {
  const log = AsyncLog(`bench-${name}`, { blockSize: 65536 })
  await new Promise(resolve => log.since.once(resolve))
  const read = (options, onRecord) => new Promise((resolve) => {
    log.stream(options).pipe({ paused: false, write: onRecord, end: resolve })
  })
  return {
    append: (records) => Promise.all(records.map(record => promised(cb => log.append(Buffer.from(record), cb)))),
    written: () => new Promise(resolve => log.onDrain(resolve)),
    async stream () {
      let count = 0
      let bytes = 0
      await read({ offsets: false }, (value) => {
        count++
        bytes += value.length
      })
      return { count, bytes }
    },
    async keys () {
      const keys = []
      await read({ values: false }, (offset) => { keys.push(offset) })
      return keys
    },
    get: (offset) => promised(cb => log.get(offset, cb)),
    close: () => promised(cb => log.close(cb))
  }
}
