'use strict'

// The example of docs/statistics.md, as it stands there.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const RAM = require('random-access-memory')
const FlumeLog = require('../..')
const { promises } = require('../helpers/promises')

tape('the counters are handed to prom-client as docs/statistics.md says', async (t) => {
  const page = fs.readFileSync(path.join(__dirname, '../../docs/statistics.md'), 'utf8')
  const [, example] = page.match(/```js\n([^]*?)```/)
  // eslint-disable-next-line no-new-func
  const collectFrom = new Function('require', `${example}; return collectFrom`)(require)
  const log = promises(FlumeLog(new RAM(), { sync: 'never' }))
  const registry = collectFrom(log.log)
  await log.append(['one', 'two', 'three'])
  await log.append('').catch(() => {})
  const metrics = await registry.metrics()
  t.match(metrics, /^flumelog_written_records_total 3$/m)
  t.match(metrics, /^flumelog_rejected_records_total 1$/m)
  t.match(metrics, /^flumelog_in_flight_bytes 0$/m)
  t.match(metrics, /^flumelog_unsynced_bytes 23$/m)
  await log.append('four')
  t.match(await registry.metrics(), /^flumelog_written_records_total 4$/m, 'read again, they have grown')
  await log.close()
})
