'use strict'

// Appends, deletes, syncs, closes and opens again, as a seed says; and says on stdout what
// it asks for and what is acknowledged, each line by one call that a trace shows in its place
// among the others.
//
//     node traced-writer.js FILE SEED

const fs = require('fs')
const FlumeLog = require('../../..')
const { isIntact, numbered } = require('../numbered')
const { randomFrom } = require('../random')

const [file, seed] = process.argv.slice(2)
const random = randomFrom(Number(seed))
const settings = {
  blockSize: random.pick([256, 1024, 4096, 65536]),
  sync: random.pick(['always', 'interval', 'never']),
  syncInterval: random.pick([1, 1000]),
  syncBytes: random.pick([1, 2000, 1 << 24]),
  checksum: random() < 0.8,
  validate: isIntact
}
const OPENINGS = 3
const OPERATIONS = 25
const most = settings.blockSize - 14
let made = 0
let seqs = []
/** Those of which the deletion is acknowledged. */
const deleted = []
/** Those of which it was asked for. */
const asked = []

main()

async function main () {
  tell('settings', { blockSize: settings.blockSize, checksum: settings.checksum, sync: settings.sync })
  for (let n = 0; n < OPENINGS; n++) {
    const log = FlumeLog(file, settings)
    await called('opened', cb => log.onReady(cb))
    const pending = []
    for (let i = 0; i < OPERATIONS; i++) {
      const what = random()
      if (what < 0.6) pending.push(append(log))
      else if (what < 0.75) pending.push(del(log))
      else if (what < 0.85) pending.push(called('synced', cb => log.sync(cb), { upTo: made, deleted: [...deleted] }))
      if (random() < 0.4) await Promise.all(pending.splice(0))
      else if (random() < 0.3) await new Promise(resolve => setImmediate(resolve))
    }
    await called('closed', cb => log.close(cb), { upTo: made, deleted: [...asked] })
    await Promise.all(pending)
  }
}

function append (log) {
  const isAtomic = random() < 0.2
  const sync = random() < 0.2
  const first = made + 1
  const sizes = []
  let left = isAtomic ? most : Infinity
  for (let n = 1 + random.below(5); n > 0; n--) {
    const size = Math.min(most, left, random.pick([12, 20, 100, 506, 512, 1000, 4090, 4096]))
    if (size < 12) break
    sizes.push(size)
    left -= size + 4
    made++
  }
  const values = sizes.map((size, i) => numbered(first + i, size))
  tell('appending', { first, sizes, isAtomic })
  const isSynced = sync || isAtomic || settings.sync === 'always'
  return new Promise((resolve, reject) => log.append(values, { sync, atomic: isAtomic }, (err, result) => {
    if (err) return reject(err)
    seqs.push(...isAtomic ? result : [result])
    tell('appended', { first, seqs: isAtomic ? result : [...sizes.slice(1).map(() => null), result], isSynced })
    resolve()
  }))
}

function del (log) {
  if (seqs.length === 0) return
  const chosen = Array.from({ length: 1 + random.below(3) }, () => random.pick(seqs))
  seqs = seqs.filter(seq => !chosen.includes(seq))
  tell('deleting', chosen)
  asked.push(...chosen)
  return called('deleted', cb => log.del(chosen, cb), chosen).then(() => { deleted.push(...chosen) })
}

/** @returns {Promise<void>} */
function called (what, start, details) {
  return new Promise((resolve, reject) => start((err) => {
    if (err) return reject(err)
    tell(what, details)
    resolve()
  }))
}

function tell (what, details = null) {
  fs.writeSync(1, JSON.stringify({ what, details }) + '\n')
}
