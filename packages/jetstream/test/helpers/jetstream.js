'use strict'

// Logs in streams of a server.

const JetStreamLog = require('../..')
const { modelOf } = require('../../../../test/helpers/model')
const { streamName } = require('./nats')
const { promises } = require('../../../../test/helpers/promises')

/** Logs that are open. @type {Set<any>} */
const open = new Set()

/**
 * @param {{ url: string }} server
 * @param {object} [options]
 * @returns {any} with promises
 */
function openLog (server, options = {}) {
  const log = promises(JetStreamLog({ servers: server.url, stream: streamName(), ...options }))
  open.add(log)
  return log
}

/** Closes all that tests have opened: open ones would keep the process alive. */
async function closeLogs () {
  await Promise.all([...open].map(log => log.close().catch(() => {})))
  open.clear()
}

/** A model of a log in a stream: seqs are 1, 2, 3 … */
function streamModel () {
  const model = modelOf({ blockSize: 65536, checksum: true })
  model.end = 1
  model.place = () => model.end++
  return model
}

module.exports = { openLog, closeLogs, streamModel }
