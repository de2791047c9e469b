'use strict'

// A live reader pauses at random while a million records are appended and some are deleted:
// it neither skips nor repeats records.

const tape = require('tape')
const FlumeLog = require('../..')
const { randomFrom } = require('../helpers/disk')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')

const RECORDS = Number(process.env.RECORDS ?? 1e6)
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const BATCH = 1000

tape(`a live reader that pauses reads each of ${RECORDS} records once, except deleted ones`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const random = randomFrom(SEED)
  const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 4096, cacheSize: 1 << 20 }))
  const deleted = new Set()
  const finished = reading(log.log.stream({ live: true }), random, deleted)
  for (let first = 1; first <= RECORDS; first += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, i) => record(first + i))
    const last = await log.append(batch)
    if (first + BATCH <= RECORDS && random() < 0.2) {
      // the reader may or may not have read it
      deleted.add(first + BATCH - 1)
      await log.del(last)
    }
  }
  const { seen, missed } = await finished
  t.equal(seen + missed, RECORDS, `${seen} were seen, ${missed} were deleted before they were`)
  t.ok(deleted.size >= missed, `${deleted.size} were deleted`)
  await log.close()
})

/** Reads until the last record. */
function reading (read, random, deleted) {
  return new Promise((resolve, reject) => {
    const counts = { seen: 0, missed: 0 }
    let expected = 1
    next()

    function next () {
      for (let isAtOnce = true, again = true; again;) {
        again = false
        read(null, (end, item) => {
          if (end) return reject(end === true ? new Error('it ended') : end)
          const number = item.value.readUInt32LE()
          for (; expected < number; expected++) {
            if (!deleted.has(expected)) return reject(new Error(`record ${expected} was skipped`))
            counts.missed++
          }
          if (number !== expected) return reject(new Error(`record ${number} came after ${expected - 1}`))
          counts.seen++
          expected++
          // the last one is never deleted
          if (number >= RECORDS) return read(true, () => resolve(counts))
          if (random() < 0.0005) setTimeout(next, random.below(3))
          else if (isAtOnce) again = true
          else next()
        })
        isAtOnce = again
      }
    }
  })
}

/** @param {number} number */
function record (number) {
  const value = Buffer.alloc(8, 1)
  value.writeUInt32LE(number)
  return value
}
