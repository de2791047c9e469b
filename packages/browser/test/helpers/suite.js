'use strict'

// Runs test-flumelog, as published, in a worker: it requires tape, for which the bundle has this module.

const codec = require('flumecodec').json
const FlumeLog = require('flumelog-random-access-file')
const { mount, unmount } = require('../../lib/mounts')

const LOG = 'test-flumelog'
/** @type {Array<{ name: string, run: (t: any) => void }>} */
const tests = []
/** @type {Array<{ name: string, actual: any, expected: any }>} */
const assertions = []

const tape = (name, run) => tests.push({ name, run })

/** @param {{ name: string, run: (t: any) => void }} test */
function runOne ({ name, run }) {
  return new Promise((resolve) => {
    let left = Infinity
    const equal = (actual, expected) => {
      assertions.push({ name, actual, expected })
      if (--left === 0) resolve(undefined)
    }
    run({ plan: (count) => { left = count }, equal, deepEqual: equal, ok: (actual) => equal(Boolean(actual), true), end: (err) => resolve(err) })
  })
}

async function runSuite () {
  // before the suite is loaded, which requires this module
  const suite = require('test-flumelog')
  await mount(LOG, false)
  const logs = []
  suite(() => {
    const log = FlumeLog(LOG, { codec, blockSize: 1024 })
    logs.push(log)
    return log
  }, () => {})
  for (const test of tests) await runOne(test)
  for (const log of logs) await new Promise((resolve) => log.close(resolve))
  await unmount(LOG)
  return assertions
}

module.exports = Object.assign(tape, { runSuite })
