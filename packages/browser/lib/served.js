'use strict'

// What dist/log.mjs exports: the log in this worker, and the server for a page.

const { open } = require('./log')
const { exportFiles, importFiles, removeLog, listLogs } = require('./files')
const { serve } = require('./server')

module.exports = { open, exportFiles, importFiles, removeLog, listLogs, serve }
