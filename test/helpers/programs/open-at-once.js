'use strict'

// At the instant that a message says, opens a shared log and appends a numbered record; closes
// it when it is told to. Again and again.

const FlumeLog = require('../../..')
const { tell, listen } = require('../processes')
const { numbered } = require('../numbered')

let log

listen(({ time, file, number, at, close }) => {
  if (close) return log.close(err => tell({ time, what: 'closed', role: log.role, code: err?.code, message: err?.message }))
  while (Date.now() < at);
  log = FlumeLog(file, { shared: true })
  log.append(numbered(number, 20), (err) => tell({ time, what: 'appended', role: log.role, code: err?.code, message: err?.message }))
})
tell({ what: 'started' })
