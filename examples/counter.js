'use strict'

// An event-sourced counter: the log contains events, from which the state is computed.
//
//     npm install flumelog-random-access-file
//     node counter.js [FILE]

const fs = require('fs')
const os = require('os')
const path = require('path')
const { open } = require('flumelog-random-access-file/promises')

const codec = { encode: JSON.stringify, decode: JSON.parse, buffer: false }
const file = process.argv[2] ?? path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'counter-')), 'log')

const events = {
  added: (count, { by }) => count + by,
  reset: () => 0
}

/** The value of the counter after the event at this seq; without a seq, the current value. */
async function count (log, seq) {
  let count = 0
  for await (const event of log.stream({ seqs: false, lte: seq })) count = events[event.type](count, event)
  return count
}

async function main () {
  const log = await open(file, { codec })
  console.log(`the counter was at ${await count(log)}`)
  await log.append({ type: 'added', by: 5 })
  const before = await log.append({ type: 'added', by: 37 })
  await log.append({ type: 'reset' })
  await log.append({ type: 'added', by: 1 })
  console.log(`it is at ${await count(log)}, and was at ${await count(log, before)} before it was reset`)
  await log.close()
}

main()
