'use strict'

// Mirrors a log, as a reader of it, until it is killed; tells when it starts and what it has done. While another process mirrors it, it tries again.

const FlumeLog = require('flumelog-random-access-file')
const { mirror } = require('../../..')
const { argument, listen, tell } = require('../../../../../test/helpers/processes')

const { file, target, options = {} } = argument()
listen()
run().catch(({ code, message }) => tell({ what: 'failed', code, message }))

async function run () {
  for (;;) {
    const log = FlumeLog(file, { readOnly: true })
    try {
      await mirror(log, target, { ...options, onProgress: ({ records }) => tell({ what: 'mirroring', records }) })
    } catch (err) {
      // compacted twice while this process was held up; or another one is mirroring
      if (err.code !== 'flumelog:replaced' && err.code !== 'flumelog:locked') throw err
      if (err.code === 'flumelog:locked') await new Promise(resolve => setTimeout(resolve, 20))
    }
    await new Promise(resolve => log.close(resolve))
  }
}
