'use strict'

// The tests of bounds and other options of streams and scans, on a log in a stream.

const test = require('tape')
const { boundsTests, SIZES, DELETED } = require('../../../test/helpers/bounds')
const { openLog, closeLogs, streamModel } = require('./helpers/jetstream')
const { withServer, streamName } = require('./helpers/nats')
const { thorough } = require('../../../test/helpers/thorough')

withServer('bounds of streams in a JetStream stream', (shared) => {
  async function smallLog (options = {}, reopened = false) {
    const stream = streamName()
    const model = streamModel()
    let log = openLog(shared.server, { stream })
    const values = SIZES.map(size => model.make(size))
    model.append(values)
    await log.append(values)
    for (const number of DELETED) model.del(model.records[number].seq)
    await log.del(DELETED.map(number => model.records[number].seq))
    if (reopened) {
      await log.close()
      log = openLog(shared.server, { stream })
    }
    await log.onReady()
    return { log: log.log, close: log.close, model }
  }

  boundsTests({
    // the server has the records in either case
    SOURCES: [['open', {}, false], ...(thorough ? [['opened again', {}, true]] : [])],
    smallLog,
    emptyLog: async () => openLog(shared.server),
    // there is no cache
    caches: [undefined],
    live: { from: 5, lowerStep: 2, upperStep: 2, after: [7, 8, 12], startsLater: true }
  })
  test.onFinish(closeLogs)
})
