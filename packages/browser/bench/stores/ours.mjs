// The log of this package: in a worker the log itself, on a page that of a worker of its own.

import { open as openLog } from '../index.mjs' // eslint-disable-line import/no-unresolved

/** Sequential reads use a quarter of it: as much as the other stores keep in memory. */
const CACHE_SIZE = 4 * 64 * 1024 * 1024

export async function open (name) {
  const log = await openLog(`bench-${typeof document}-${name}`, { cacheSize: CACHE_SIZE })
  return {
    append: (records) => records.length === 1 ? log.append(records[0]) : Promise.all(records.map(record => log.append(record))),
    async stream () {
      let count = 0
      let bytes = 0
      for await (const batch of log.batches({ seqs: false })) {
        count += batch.length
        for (const value of batch) bytes += value.length
      }
      return { count, bytes }
    },
    async keys () {
      const keys = []
      for await (const batch of log.batches({ values: false })) keys.push(...batch)
      return keys
    },
    get: (seq) => log.get(seq),
    close: () => log.close()
  }
}
