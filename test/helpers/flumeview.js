'use strict'

// flumeview-level under flumedb on this log, created as the suites of test-flumeview-index
// expect. They use the system's temporary directory. (The third part, `read`, is not run, as
// in the tests of flumeview-level: it opens one database twice, and its result depends on
// timing.)

const path = require('path')
const Flume = require('flumedb')
const Level = require('flumeview-level')
const codec = require('flumecodec').json
const FlumeLog = require('../..')
const { processFolder } = require('./folder')

process.env.TMPDIR = processFolder()

module.exports = function create (folder, seed) {
  // these suites reopen a log before they have closed it, so it is opened without a lock
  const log = FlumeLog(path.join(folder, 'log'), { codec, blockSize: 1024, lock: false })
  return Flume(log).use('index', Level(seed, (record) => [record.key]))
}
