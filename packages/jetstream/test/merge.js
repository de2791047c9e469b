'use strict'

// One source of several that answer at once, as streams do while their records are in memory.

const test = require('tape')
const { merge } = require('../lib/read/merge')
const { PartitionedLog } = require('../lib/partitions/partitioned-log')

/** @param {number} from @param {number} to */
function numbers (from, to) {
  return (/** @type {any} */ abort, /** @type {(end: any, item?: number) => void} */ cb) => {
    if (abort || from > to) cb(abort || true)
    else cb(null, from++)
  }
}

test('a reader that asks from within each answer reads any number of records', (t) => {
  const source = merge([numbers(1, 100_000), numbers(100_001, 200_000)])
  let [count, sum] = [0, 0]
  source(null, function next (end, n) {
    if (end) {
      t.equal(end, true)
      t.deepEqual([count, sum], [200_000, 200_000 * 200_001 / 2])
      return t.end()
    }
    count++
    sum += n
    source(null, next)
  })
})

test('a read that an answer to another one has made is answered once, with the end, if the source is aborted', (t) => {
  const source = merge([numbers(1, 1000)])
  /** @type {any[]} */
  const ends = []
  let isAborted = false
  source(null, function next (end) {
    if (end) return ends.push(end)
    source(null, next)
    if (isAborted) return
    isAborted = true
    source('aborted', (end) => ends.push(end))
    setImmediate(() => {
      t.deepEqual(ends, ['aborted', 'aborted'])
      t.end()
    })
  })
})

test('a source is aborted without a callback', (t) => {
  const aborted = []
  const source = merge([(abort, cb) => {
    aborted.push(abort)
    cb(abort)
  }])
  source(true)
  t.deepEqual(aborted, [true])
  t.end()
})

test('a source of a log with partitions that has invalid options is aborted without a callback', (t) => {
  const log = new PartitionedLog(/** @type {any} */ ({ stream: 'S', partitions: 0, key: String }))
  const source = log.source({ limit: 0.5 }, false)
  source(true)
  source(null, (err) => {
    t.equal(err.code, 'flumelog:invalid')
    t.end()
  })
})
