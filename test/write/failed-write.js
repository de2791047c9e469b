'use strict'

// What is appended between a failed write and the moment its callers are told of it.

const test = require('tape')
const RAM = require('random-access-memory')
const FlumeLog = require('../..')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')
const { dataOf } = require('../helpers/bytes')

/** So many bytes fit on it. While it is cut back after a failed write, `ontruncate` runs. */
class SmallStorage extends RAM {
  constructor (size) {
    super()
    this.most = size
    this.ontruncate = () => {}
  }

  _write (req) {
    if (req.offset + req.size <= this.most) return super._write(req)
    setImmediate(() => req.callback(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })))
  }

  _truncate (req) {
    this.ontruncate()
    setImmediate(() => super._truncate(req))
  }
}

test('what is appended before a failed write is told of fails with it: records never come after a gap', async (t) => {
  const storage = new SmallStorage(5000)
  const log = FlumeLog(storage)
  const { append, close } = promises(log)
  await append(dataOf(100, 1))

  const told = []
  const failing = new Promise((resolve) => {
    const tell = (name) => (err) => {
      told.push([name, err?.code])
      if (name === 'small') resolve()
    }
    storage.ontruncate = () => {
      storage.ontruncate = () => {}
      log.append(dataOf(100, 3), tell('small'))
    }
    log.append(dataOf(6000, 2), tell('large'))
  })
  await failing
  t.deepEqual(told, [['large', 'ENOSPC'], ['small', 'ENOSPC']], 'both get the error, in the order of the calls')
  t.equal((await collect(log)).length, 1, 'neither is stored')
  t.deepEqual(log.stats().inFlight, { records: 0, bytes: 0 })

  await append(dataOf(100, 4))
  t.deepEqual((await collect(log, { seqs: false })).map(([first]) => first), [1, 4], 'the next one is')
  await close()
})
