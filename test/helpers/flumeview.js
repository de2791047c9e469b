'use strict'

// flumeview-level under flumedb on this log, as the suites of test-flumeview-index
// want it made. They take their folder from the system's place for such. (The third
// part, `read`, is not run, as it is not in flumeview-level's own tests: it opens one
// database twice, and passes or fails by who is quicker.)

const path = require('path')
const Flume = require('flumedb')
const Level = require('flumeview-level')
const codec = require('flumecodec').json
const FlumeLog = require('../..')
const { processFolder } = require('./folder')

process.env.TMPDIR = processFolder()

module.exports = function create (folder, seed) {
  // these suites open a log again before they have closed it, so they go without a lock
  const log = FlumeLog(path.join(folder, 'log'), { codec, blockSize: 1024, lock: false })
  return Flume(log).use('index', Level(seed, (record) => [record.key]))
}
