'use strict'

// Opens logs in sequence, reports results and warnings, and keeps them open. On the message
// `{ append: text }`, it appends to the first; on `{ close: true }`, it closes all and
// exits.

const FlumeLog = require('../../..')
const { argument, tell, listen } = require('../processes')
const { promises } = require('../promises')

const opened = []

process.on('warning', ({ code, message }) => tell({ what: 'warning', code, message }))

async function main () {
  for (const { file, options } of argument()) {
    const log = promises(FlumeLog(file, options))
    try {
      await log.onReady()
      opened.push(log)
      tell({ what: 'opened', file, since: log.log.since.value })
    } catch ({ code, message, filename }) {
      tell({ what: 'refused', file, code, message, filename })
    }
  }
  // warnings are emitted slightly later than their cause
  setImmediate(() => tell({ what: 'ready' }))
}

listen(async ({ append, close }) => {
  if (append !== undefined) tell({ what: 'appended', seq: await opened[0].append(Buffer.from(append)) })
  if (close) {
    for (const log of opened) await log.close()
    tell({ what: 'closed' })
    process.exit()
  }
})
main()
