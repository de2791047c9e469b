'use strict'

// Mirrors a log, as a reader of it, until it is killed; tells when it starts and what it has done.

const FlumeLog = require('../../..')
const { mirror } = require('../../../jetstream')
const { argument, listen, tell } = require('../processes')

const { file, target, cursor } = argument()
listen()
run().catch(({ code, message }) => tell({ what: 'failed', code, message }))

async function run () {
  for (;;) {
    const log = FlumeLog(file, { readOnly: true })
    try {
      await mirror(log, target, { cursor, onProgress: ({ records }) => tell({ what: 'mirroring', records }) })
    } catch (err) {
      // compacted twice while this process was held up
      if (err.code !== 'flumelog:replaced') throw err
    }
    await new Promise(resolve => log.close(resolve))
  }
}
