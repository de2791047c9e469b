'use strict'

// Through the interface of async-append-only-log: appends, deletes some of that, and compacts, again and again, until it is killed.

const { openLog } = require('../open')
const { argument, tell, listen } = require('../../../../../test/helpers/processes')

const { file, blockSize, junk } = argument()
listen()
run()

async function run () {
  const log = openLog(file, { blockSize })
  // what was interrupted comes first
  await log.onDrain()
  await log.stats()
  for (;;) {
    const offsets = []
    for (let i = 0; i < junk; i++) offsets.push(await log.append(Buffer.alloc(50, 255)))
    for (const { offset, value } of await log.onDrain().then(() => log.collect())) if (value !== null && value[0] === 255) await log.del(offset)
    await log.onDeletesFlushed()
    tell({ what: 'compacting' })
    await log.compact()
    tell({ what: 'compacted' })
  }
}
