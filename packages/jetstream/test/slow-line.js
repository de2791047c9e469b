'use strict'

// A line that takes seconds for what a fast one takes milliseconds for.

const test = require('tape')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withServer, streamName } = require('./helpers/nats')
const { slowLine } = require('./helpers/slow-line')
const { collect } = require('../../../test/helpers/reading')

const RATE = 250_000
const RECORD = 10_000

withServer('a log in a stream behind a slow line', (shared) => {
  test('all that is appended at once is stored, over one connection', async (t) => {
    const line = await slowLine(shared.server.port, RATE)
    const stream = streamName()
    const log = openLog(line, { stream })
    await log.append(Array.from({ length: 80 }, (_, i) => Buffer.alloc(RECORD, 1 + i)))
    await log.append(Buffer.alloc(500_000, 1))
    t.equal(log.log.stats().reconnects, 0)
    t.equal(log.log.stats().written.records, 81)
    await log.close()
    const direct = openLog(shared.server, { stream })
    t.equal((await collect(direct.log)).length, 81)
    await direct.close()
    line.close()
  })

  test.onFinish(closeLogs)
})
