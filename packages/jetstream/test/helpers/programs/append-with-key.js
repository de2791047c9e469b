'use strict'

// Appends a record with a key to a stream, and tells what became of it.

const JetStreamLog = require('../../..')
const { argument, listen, tell } = require('../../../../../test/helpers/processes')

const { options, value, key } = argument()
listen()
const log = JetStreamLog(options)
log.append(value, { key }, (err, seq) => {
  tell({ code: err?.code, seq })
  log.close(() => process.exit())
})
