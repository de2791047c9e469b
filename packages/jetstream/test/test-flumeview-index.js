'use strict'

// Two parts of test-flumeview-index, as published, with flumeview-level, on a log in a stream. (The third part is not run, as for a log in
// a file.)

const path = require('path')
const test = require('tape')
const Flume = require('flumedb')
const Level = require('flumeview-level')
const codec = require('flumecodec').json
const JetStreamLog = require('..')
const { processFolder } = require('../../../test/helpers/folder')
const { withNats, startServer } = require('./helpers/nats')

process.env.TMPDIR = processFolder()

withNats('the suites of test-flumeview-index', (file) => {
  const opened = []
  let server

  function create (folder, seed) {
    const log = JetStreamLog({ servers: server.url, stream: path.basename(folder).replaceAll('.', '-'), codec, filename: path.join(folder, 'log') })
    const db = Flume(log).use('index', Level(seed, (record) => [record.key]))
    opened.push({ db, log })
    return db
  }

  test('the server starts', async () => {
    server = await startServer(file)
    require('test-flumeview-index')(create)
    // they name what they make after the time
    await new Promise(resolve => setTimeout(resolve, 2))
    require('test-flumeview-index/live')(create)
    // after the tests of both
    test('all are closed', async () => {
      for (const { db, log } of opened) {
        if (!db.closed) await new Promise(resolve => db.close(resolve))
        await new Promise(resolve => log.close(resolve))
      }
      await server.stop()
    })
  })
})
