'use strict'

// What a client of a shared log has sent in one frame is in the log as a whole, or not at all.

const fs = require('fs')
const tape = require('tape')
const FlumeLog = require('../..')
const { endOfWholeRuns } = require('../../lib/recovery/whole-runs')
const { testFolder } = require('../helpers/folder')
const { leaveMetadata } = require('../helpers/left-metadata')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')

tape('a log ends where a run starts of which it has a part', (t) => {
  const clients = { a: [[1, 2, 100, 120], [3, 1, 150, 160]], b: [[7, 9, 120, 150]], c: [] }
  const expected = [[90, 90], [100, 100], [101, 100], [119, 100], [120, 120], [149, 120], [150, 150], [151, 150], [160, 160], [1000, 1000]]
  for (const [end, whole] of expected) t.equal(endOfWholeRuns(clients, end, 0), whole, `end ${end}`)
  t.equal(endOfWholeRuns(clients, 151, 151), 151, 'what was acknowledged stays')
  t.end()
})

tape('what a killed owner has written of a run is not in the log, for readers and after recovery', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  const seqs = []
  for (let i = 0; i < 5; i++) seqs.push(await log.append(Buffer.alloc(20, 1 + i)))
  await log.close()
  const end = seqs[4] + 24
  await leaveMetadata(file, fs.readFileSync(file), { end: seqs[1], clients: { client: [[1, 1, seqs[1], seqs[2]], [2, 3, seqs[3], end + 24]] } })
  const reader = promises(FlumeLog(file, { readOnly: true }))
  t.deepEqual(await collect(reader.log, { values: false }), seqs.slice(0, 3))
  await reader.close()
  const again = promises(FlumeLog(file))
  t.deepEqual(await collect(again.log, { values: false }), seqs.slice(0, 3))
  t.deepEqual(again.log.stats().cut?.bytes ?? fs.statSync(`${file}.cut-${seqs[3]}`).size, 48)
  t.equal(await again.append(Buffer.alloc(20, 9)), seqs[3])
  await again.close()
})

tape('a run of which a power cut has taken a record in the middle is not in the log, for readers and after recovery', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  const seqs = []
  for (let i = 0; i < 5; i++) seqs.push(await log.append(Buffer.alloc(20, 1 + i)))
  await log.close()
  const bytes = fs.readFileSync(file)
  bytes.fill(0, seqs[3], seqs[4])
  fs.writeFileSync(file, bytes)
  await leaveMetadata(file, bytes, { end: seqs[1], clients: { client: [[1, 1, seqs[1], seqs[2]], [2, 3, seqs[2], seqs[4] + 24]] } })
  for (const options of [{ readOnly: true }, {}]) {
    const { log, close } = promises(FlumeLog(file, options))
    t.deepEqual(await collect(log, { values: false }), seqs.slice(0, 2), JSON.stringify(options))
    await close()
  }
})

tape('a new log of which the first run is there in part is opened, empty, whatever its codec is', async (t) => {
  for (const options of [{}, { codec: 'json' }]) {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file, options))
    await log.append([1, 2, 3].map(n => JSON.stringify(`record ${n}`)))
    await log.close()
    const { size } = fs.statSync(file)
    await leaveMetadata(file, Buffer.alloc(0), { clients: { client: [[1, 4, 0, size + 24]] } })
    const again = promises(FlumeLog(file, options))
    t.equal((await again.onReady()).bytes, size)
    t.deepEqual(await collect(again.log), [])
    t.equal(await again.append('next'), 0)
    await again.close()
  }
})
