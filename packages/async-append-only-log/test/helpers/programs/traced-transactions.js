'use strict'

// Through the interface of async-append-only-log: appends records and transactions, deletes, compacts, closes and opens again, as a seed
// says; and says on stdout what it is about to do and what is stored, each line by one call that a trace shows in its place among the others.
//
//     node traced-transactions.js FILE SEED

const fs = require('fs')
const { openLog } = require('../open')
const { randomFrom } = require('../../../../../test/helpers/random')

const [file, seed] = process.argv.slice(2)
const random = randomFrom(Number(seed))
const blockSize = random.pick([512, 4096, 65536])
const options = { blockSize, sync: random.pick(['always', 'interval', 'never']), writeTimeout: random.pick([1, 5]) }
const OPENINGS = 2
const OPERATIONS = 25
/** Of all records, single ones and those of transactions. */
let made = 0
let transactions = 0
/** Numbers of single records that are not deleted. */
let singles = []

main()

async function main () {
  for (let n = 0; n < OPENINGS; n++) {
    const log = openLog(file, options)
    await log.stats()
    tell('opened', { blockSize })
    for (let i = 0; i < OPERATIONS; i++) {
      const what = random()
      if (what < 0.5) await appendTransaction(log)
      else if (what < 0.7) await append(log)
      else if (what < 0.8) await stored(log)
      else if (what < 0.85) await del(log)
      else if (what < 0.88) await compact(log)
      else await new Promise(resolve => setTimeout(resolve, random.below(4)))
    }
    await log.close()
    tell('stored', made)
  }
}

/** @param {number} records */
async function appendTransaction (log, records = 1 + random.below(6)) {
  const most = Math.floor((blockSize - 14) / records) - 4
  const first = made
  const size = Math.min(most, random.pick([30, 100, 600, 3000]))
  const values = Array.from({ length: records }, () => value({ transaction: transactions, first, records }, size))
  transactions++
  tell('appending', { upTo: made })
  await log.appendTransaction(values)
}

async function append (log) {
  singles.push(made)
  const values = [value({}, random.pick([20, 100, 400]))]
  tell('appending', { upTo: made })
  await log.append(values)
}

/** @returns {Buffer} of the next record */
function value (details, size) {
  const text = JSON.stringify({ n: made++, ...details })
  return Buffer.from(text.padEnd(size))
}

async function stored (log) {
  const upTo = made
  await log.onDrain()
  tell('stored', upTo)
}

async function del (log) {
  if (singles.length === 0) return
  const n = random.pick(singles)
  singles = singles.filter(single => single !== n)
  await log.onDrain()
  const found = (await log.collect()).find(({ value }) => value !== null && JSON.parse(value).n === n)
  tell('deleting', n)
  await log.del(found.offset)
  if (random() < 0.5) return
  await log.onDeletesFlushed()
  tell('deleted', n)
}

async function compact (log) {
  await log.compact()
  tell('stored', made)
}

function tell (what, details = null) {
  fs.writeSync(1, JSON.stringify({ what, details }) + '\n')
}
