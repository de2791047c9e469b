'use strict'

// The suite every flumelog has to pass, as published, run on a log in a stream.

const suite = require('test-flumelog')
const codec = require('flumecodec').json
const JetStreamLog = require('..')
const { withNats, startServer, streamName } = require('./helpers/nats')

withNats('the suite of test-flumelog', async (file) => {
  const server = await startServer(file)
  const stream = streamName()
  const logs = []
  suite(() => {
    const log = JetStreamLog({ servers: server.url, stream, codec })
    logs.push(log)
    return log
  }, () => {
    let left = logs.length
    for (const log of logs) log.close(() => --left === 0 && server.stop())
  })
})
