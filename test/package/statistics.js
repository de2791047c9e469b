'use strict'

// Runs the example of docs/statistics.md.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const FlumeLog = require('../..')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')

tape('the example in docs/statistics.md exports the counters to prom-client', async (t) => {
  const page = fs.readFileSync(path.join(__dirname, '../../docs/statistics.md'), 'utf8')
  const [example] = page.match(/^function collectFrom [^]*?^}$/m)
  // eslint-disable-next-line no-new-func
  const collectFrom = new Function('prom', `const { Counter, Gauge, Registry } = prom; ${example}; return collectFrom`)(require('prom-client'))
  const log = promises(FlumeLog(newFile(), { sync: 'never' }))
  const registry = collectFrom(log.log)
  await log.append(['one', 'two', 'three'])
  const metrics = await registry.metrics()
  t.match(metrics, /^flumelog_written_records_total 3$/m)
  t.match(metrics, /^flumelog_in_flight_bytes 0$/m)
  t.match(metrics, /^flumelog_unsynced_bytes 23$/m)
  await log.append('four')
  t.match(await registry.metrics(), /^flumelog_written_records_total 4$/m, 'the counters have grown')
  await log.close()
})
