'use strict'

// Waits until nobody has the log open for writing, appends a numbered record, and closes it.

const FlumeLog = require('../../..')
const { argument } = require('../processes')
const { numbered } = require('../numbered')

const { file, number } = argument()

attempt()

function attempt () {
  const log = FlumeLog(file)
  log.append(numbered(number, 20), (err) => {
    if (err?.code === 'flumelog:locked') return setTimeout(attempt, 5)
    if (err) throw err
    log.close()
  })
}
