'use strict'

// Calls to append that are many: in which order, how often and with what each is called back, also when callbacks append again.

const tape = require('tape')
const RandomAccessMemory = require('random-access-memory')
const FlumeLog = require('../..')

tape('calls that fill many blocks and several writes are called back once each, in order, with their seqs', (t) => {
  const blockSize = 64
  const log = FlumeLog(new RandomAccessMemory(), { blockSize })
  const count = 40000
  const seqs = []
  log.onReady(() => {
    for (let i = 0; i < count; i++) log.append(Buffer.alloc(1 + i % 40, 1), onappended)
  })

  function onappended (err, seq) {
    if (err) return t.end(err)
    seqs.push(seq)
    // from within a callback, behind all that are waiting
    if (seqs.length === 100) log.append([Buffer.alloc(30, 2), Buffer.alloc(40, 2), Buffer.alloc(7, 2)], onlast)
    if (seqs.length > count) t.fail('called back twice')
  }

  function onlast (err, last) {
    if (err) return t.end(err)
    t.equal(seqs.length, count, 'the one appended last is called back last')
    const stored = []
    log.scan({}, (block, start, end, seq) => { stored.push(seq) }, (err) => {
      t.error(err)
      t.deepEqual(seqs, stored.slice(0, count), 'the seqs are those of the records')
      t.equal(last, stored[count + 2], 'of a batch, the last one\'s')
      t.deepEqual(log.stats().inFlight, { records: 0, bytes: 0 })
      t.deepEqual(log.stats().written.records, count + 3)
      log.close(t.end)
    })
  }
})
