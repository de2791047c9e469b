'use strict'

const { logBehind } = require('../../lib/log')

/**
 * The writer does so within `syncInterval`, and when the log is closed.
 * @param {import('../../lib/log').FlumeLog<any>} log of which this process writes the file
 * @returns {Promise<void>} resolves when the space of all blocks in which no record is left is free
 */
function makeHoles (log) {
  return logBehind(log).state.opened.writer.deleter.holes.make()
}

module.exports = { makeHoles }
