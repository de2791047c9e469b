'use strict'

// Opens a shared log, as its owner if it is the first. On a message it tells what the log
// counts and how much memory this process takes, or closes the log.

const FlumeLog = require('../../..')
const { argument, tell, listen } = require('../processes')
const { promises } = require('../promises')

const { file, options } = argument()
const log = promises(FlumeLog(file, { ...options, shared: true }))

listen(async ({ stats, close }) => {
  if (stats) tell({ what: 'stats', stats: log.log.stats(), rss: process.memoryUsage.rss(), asked: stats })
  if (close) {
    await log.close()
    tell({ what: 'closed' })
    process.exit()
  }
})

log.onReady().then(() => tell({ what: 'opened', role: log.log.role }))
