'use strict'

// Opens logs and appends to them as fast as it can, single records and batches, with some
// deletions, and reports every acknowledgement, until it is killed.

const FlumeLog = require('../../..')
const layout = require('../../../lib/format/layout')
const { argument, tell, listen } = require('../processes')
const { numbered, sizeOf } = require('../numbered')
const { randomFrom } = require('../random')

/** Concurrent calls. */
const MOST = 40
const LARGEST_BATCH = 60

const { seed, logs } = argument()
listen()
logs.forEach((log, index) => run(log, index, randomFrom(seed + index)))

function run ({ file, options, first, calls }, index, random) {
  const log = FlumeLog(file, { ...options, lock: 'required' })
  const most = layout.maxRecordSize(options.blockSize, options.checksum)
  let number = first
  let underWay = 0
  let left = calls

  log.onReady((err, cut) => {
    if (err) return fail(err)
    tell({ log: index, what: 'opened', size: log.stats().size, cut })
    goOn()
  })

  function goOn () {
    while (underWay < MOST && left > 0) {
      left--
      underWay++
      append(random() < 0.7 ? 1 : random.below(LARGEST_BATCH) + 1, random() < 0.03)
    }
    if (left > 0 || underWay > 0) return
    tell({ log: index, what: 'closing' })
    log.close((err) => {
      if (err) return fail(err)
      tell({ log: index, what: 'closed' })
    })
  }

  function append (count, sync) {
    const records = Array.from({ length: count }, (_, i) => numbered(number + i, sizeOf(number + i, most)))
    number += count
    const last = number - 1
    log.append(count === 1 ? records[0] : records, { sync }, (err, seq) => {
      if (err) return fail(err)
      tell({ log: index, what: 'appended', number: last, seq })
      if (random() < 0.15) return erase(last, seq)
      done()
    })
  }

  function erase (number, seq) {
    tell({ log: index, what: 'deleting', number })
    log.del(seq, (err) => {
      if (err) return fail(err)
      tell({ log: index, what: 'deleted', number })
      done()
    })
  }

  function done () {
    underWay--
    setImmediate(goOn)
  }

  function fail (err) {
    tell({ log: index, what: 'failed', message: err.message, code: err.code })
  }
}
