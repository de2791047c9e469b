'use strict'

// Records in bipf, a binary form of JSON that is read in place. To find the transfers to one account, that field of each record
// is sought in the bytes of the block, and only the records that match are decoded.
//
//     npm install flumelog-random-access-file bipf
//     node bipf.js [FILE]

const fs = require('fs')
const os = require('os')
const path = require('path')
const bipf = require('bipf')
const { open } = require('flumelog-random-access-file/promises')

const codec = { encode: bipf.allocAndEncode, decode: (data) => bipf.decode(data, 0) }
const file = process.argv[2] ?? path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'bipf-')), 'log')
const TO = Buffer.from('to')

/** The transfers to an account, with their seqs. */
function transfersTo (log, account) {
  const wanted = Buffer.from(account)
  const found = []
  return new Promise((resolve, reject) => {
    log.flumelog.scan({}, (block, start, end, seq) => {
      const field = bipf.seekKey(block, start, TO)
      if (bipf.compareString(block, field, wanted) === 0) found.push({ seq, ...bipf.decode(block, start) })
    }, (err) => err ? reject(err) : resolve(found))
  })
}

async function main () {
  const log = await open(file, { codec })
  await log.append([{ to: 'ada', amount: 5 }, { to: 'grace', amount: 250 }, { to: 'ada', amount: 65 }])
  for (const { seq, to, amount } of await transfersTo(log, 'ada')) console.log(`${amount} to ${to}, at ${seq}`)
  await log.close()
}

main()
