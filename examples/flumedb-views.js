'use strict'

// A flumedb database with two views: the balance of each account, and an index by amount.
//
//     npm install flumelog-random-access-file flumecodec flumedb flumeview-level flumeview-reduce pull-stream
//     node flumedb-views.js [FILE]

const fs = require('fs')
const os = require('os')
const path = require('path')
const { promisify } = require('util')
const codec = require('flumecodec').json
const Flume = require('flumedb')
const Level = require('flumeview-level')
const Reduce = require('flumeview-reduce')
const pull = require('pull-stream')
const FlumeLog = require('flumelog-random-access-file')

const file = process.argv[2] ?? path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'flumedb-views-')), 'log')

const balances = Reduce(1, (balances, { account, amount }) => {
  return { ...balances, [account]: (balances[account] ?? 0) + amount }
}, null, null, {})

// the seq makes keys unique
const byAmount = Level(1, ({ amount }, seq) => [[amount, seq]])

async function main () {
  const db = Flume(FlumeLog(file, { codec })).use('balances', balances).use('byAmount', byAmount)
  await promisify(db.append)([
    { account: 'ada', amount: 100 },
    { account: 'grace', amount: 250 },
    { account: 'ada', amount: -30 },
    { account: 'mary', amount: 75 }
  ])
  console.log(await promisify(db.balances.get)({}))
  const large = await collect(db.byAmount.read({ gte: [75], reverse: true }))
  for (const { seq, value } of large) console.log(`${value.amount} to ${value.account}, at ${seq}`)
  await promisify(db.close)()
}

const collect = (source) => new Promise((resolve, reject) => {
  pull(source, pull.collect((err, all) => err ? reject(err) : resolve(all)))
})

main()
