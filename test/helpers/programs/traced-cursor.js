'use strict'

// Appends to a log, commits to a cursor of it and compacts it, as a seed says; and says on stdout what it is about to do and what is
// acknowledged, each line by one call that a trace shows in its place among the others.
//
//     node traced-cursor.js FILE SEED

const fs = require('fs')
const { open } = require('../../../promises')
const { randomFrom } = require('../random')

const [file, seed] = process.argv.slice(2)
const random = randomFrom(Number(seed))
const sync = random.pick(['always', 'interval', 'never'])
const options = { blockSize: random.pick([64, 512, 4096]), sync, syncInterval: random.pick([1, 1000]) }
/** Whether the cursor is one of a reader beside the writer. */
const isBeside = random() < 0.5
const OPENINGS = 2
const OPERATIONS = 20

main()

async function main () {
  tell('settings', { sync })
  for (let n = 0; n < OPENINGS; n++) {
    const log = await open(file, options)
    const reader = isBeside ? await open(file, { readOnly: true, sync }) : log
    const cursor = reader.cursor('consumer')
    let seqs = await seqsOf(log)
    let at = seqs.indexOf(await cursor.ready())
    tell('opened')
    const pending = []
    for (let i = 0; i < OPERATIONS; i++) {
      const what = random()
      if (what < 0.4) {
        const records = Array.from({ length: 1 + random.below(4) }, (_, i) => `record ${seqs.length + i} ${'x'.repeat(random.below(30))}`)
        await log.append(records)
        for await (const seq of log.stream({ gt: seqs.at(-1) ?? -1, values: false })) seqs.push(seq)
        while (reader.since.value < seqs.at(-1)) await reader.since.next()
      } else if (what < 0.45 && !isBeside && seqs.length > 0) {
        await log.compact({ keep: () => true })
        seqs = await seqsOf(log)
      } else if (what < 0.9 && at + 1 < seqs.length) {
        const rewind = random() < 0.1
        at = rewind ? random.below(at + 2) - 1 : at + 1 + random.below(seqs.length - at - 1)
        pending.push(commit(cursor, at, seqs[at] ?? -1, { rewind, sync: random() < 0.2 }))
      }
      if (random() < 0.5) await Promise.all(pending.splice(0))
      else if (random() < 0.3) await new Promise(resolve => setTimeout(resolve, 2))
    }
    await reader.close()
    tell('committed', { record: at, isDurable: true })
    await Promise.all(pending)
    await log.close()
  }
}

async function seqsOf (log) {
  const seqs = []
  for await (const seq of log.stream({ values: false })) seqs.push(seq)
  return seqs
}

/** @param {number} record its number, which stays the same when the log is compacted; -1: none */
async function commit (cursor, record, seq, options) {
  tell('committing', { record })
  await cursor.commit(seq, options)
  tell('committed', { record, isDurable: options.sync || sync === 'always' })
}

function tell (what, details = null) {
  fs.writeSync(1, JSON.stringify({ what, details }) + '\n')
}
