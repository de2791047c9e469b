'use strict'

// At the instant that a message says, opens shared logs and appends a numbered record to each;
// closes them when it is told to. Again and again.

const FlumeLog = require('../../..')
const { tell, listen } = require('../processes')
const { numbered } = require('../numbered')

let logs = []

listen(async ({ files, number, at, close }) => {
  const errors = []
  const called = (start) => new Promise(resolve => start((err) => {
    if (err) errors.push(`${err.code} ${err.message}`)
    resolve()
  }))
  if (close) {
    await Promise.all(logs.map(log => called(cb => log.close(cb))))
    return tell({ what: 'closed', errors })
  }
  while (Date.now() < at);
  logs = files.map(file => FlumeLog(file, { shared: true }))
  await Promise.all(logs.map(log => called(cb => log.append(numbered(number, 20), cb))))
  tell({ what: 'opened', errors, logs: Object.fromEntries(logs.map(({ filename, role }) => [filename, { role }])) })
})
tell({ what: 'started' })
