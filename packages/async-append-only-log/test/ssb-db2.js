'use strict'

// ssb-db2 on this interface, as in examples/ssb-db2.js.

const fs = require('fs')
const path = require('path')
const { execFile } = require('child_process')
const tape = require('tape')
const { testFolder } = require('../../../test/helpers/folder')
const { isNode } = require('../../../test/helpers/runtime')

/** Where ssb-db2 is, if it is installed: .ci/run installs it, and the benchmarks do. */
const SSB_MODULES = process.env.SSB_MODULES ?? path.join(__dirname, '../../../bench/node_modules')
// with CI set, it is a failure if they are not there
const hasSsb = process.env.CI !== undefined || fs.existsSync(path.join(SSB_MODULES, 'ssb-db2'))
const notRun = isNode ? !hasSsb && 'its packages come with npm install --prefix bench' : 'Deno has no NODE_PATH'

tape('a feed is deleted, and its messages are gone after a compaction', { skip: notRun }, async (t) => {
  const folder = testFolder(t)
  const env = { ...process.env, NODE_PATH: SSB_MODULES, TMPDIR: folder('.') }
  const [err, stdout, stderr] = await new Promise(resolve => execFile(process.execPath, [path.join(__dirname, '../examples/ssb-db2.js'), folder('ssb')], { encoding: 'utf8', env }, (...given) => resolve(given)))
  t.equal(err, null, stderr)
  t.deepEqual(stdout.split('\n').slice(0, -1), [
    '1000 messages by Ada, 250 of them posts',
    'the last votes by Grace: message 997, message 993',
    'her feed is deleted: 0 messages by Ada, 1000 by Grace',
    'compacted from 4.1 MB to 3.7 MB',
    '2250 posts in all'
  ])
  t.ok(fs.statSync(folder('ssb/db2/log.bipf.offset-map')).size > 0, 'it is this log that was compacted')
})
