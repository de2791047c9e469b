'use strict'

// What dist/log.mjs exports: the log in this worker.

const { open } = require('./log')
const { exportFiles, importFiles, removeLog, listLogs } = require('./files')

module.exports = { open, exportFiles, importFiles, removeLog, listLogs }
