'use strict'

// Backs up a log again and again while it changes, and tells what is in it before each backup, and when that is done.
//
//     node back-up-often.js LOG TARGET SEED

const fs = require('fs')
// its calls of the system would not be recorded: zeros are written instead
require('fs-native-extensions').trim = async () => { throw Object.assign(new Error('not supported'), { code: 'ENOTSUP' }) }
const { open } = require('../../../promises')
const { randomFrom } = require('../random')

const [file, target, seed] = process.argv.slice(2)
const random = randomFrom(Number(seed))
const BACKUPS = 4

main()

async function main () {
  const blockSize = random.pick([64, 128, 1024])
  const log = await open(file, { blockSize, checksum: random() < 0.8 })
  tell({ what: 'opened' })
  for (let i = 0; i < BACKUPS; i++) {
    await change(log, blockSize)
    tell({ what: 'backing', records: await recordsIn(log), id: log.id })
    await log.backup(target, { full: random() < 0.1 })
    tell({ what: 'backed' })
  }
  await log.close()
}

async function change (log, blockSize) {
  const records = await recordsIn(log)
  // sometimes many in a row, which are whole blocks
  const first = random.below(records.length + 1)
  const doomed = random() < 0.3 ? records.slice(first, first + 20) : records.filter(() => random() < 0.1)
  if (doomed.length > 0) await log.del(doomed.map(([seq]) => seq))
  if (records.length > 0 && random() < 0.2) await log.trim({ lt: random.pick(records)[0] })
  if (random() < 0.1) await log.compact({ keep: () => true })
  const added = Array.from({ length: random.below(40) }, () => Buffer.alloc(1 + random.below(blockSize / 2), 1 + random.below(255)))
  if (added.length > 0) await log.append(added)
}

async function recordsIn (log) {
  const records = []
  for await (const { seq, value } of log.stream()) records.push([seq, value.toString('latin1')])
  return records
}

function tell (line) {
  fs.writeSync(1, JSON.stringify(line) + '\n')
}
