'use strict'

// A flumedb database on several machines. What any of them appends goes to a stream of NATS JetStream; each has a copy of the stream in a
// folder of its own, and the views of that copy. Reading needs no server; a machine that was off goes on where it was.
//
//     npm install flumelog-random-access-file flumelog-jetstream flumedb flumeview-reduce
//     nats-server --jetstream
//     node two-machines.js ada-folder ada       and type: 30 grace
//     node two-machines.js grace-folder grace   on another machine, with nats://HOST:4222 as the third argument

const path = require('path')
const readline = require('readline')
const { promisify } = require('util')
const Flume = require('flumedb')
const Reduce = require('flumeview-reduce')
const FlumeLog = require('flumelog-random-access-file')
const JetStreamLog = require('flumelog-jetstream')

const [folder, name, servers] = process.argv.slice(2)
const source = { servers, stream: 'transfers' }

const balances = Reduce(1, (balances, { from, to, amount }) => {
  return { ...balances, [from]: (balances[from] ?? 0) - amount, [to]: (balances[to] ?? 0) + amount }
}, null, null, {})

async function main () {
  // creates the stream, if this is the first machine
  const stream = JetStreamLog({ ...source, codec: 'json' })
  await promisify(stream.onReady)()

  const copy = FlumeLog(path.join(folder, 'log'), { codec: 'json' })
  const db = Flume(copy).use('balances', balances)
  const stop = new AbortController()
  const pulling = JetStreamLog.pull(source, copy, { signal: stop.signal })

  let shown = '{}'
  copy.since(async () => {
    const text = JSON.stringify(await promisify(db.balances.get)({}))
    if (text !== shown) console.log(shown = text)
  })

  const input = readline.createInterface({ input: process.stdin })
  input.on('line', (line) => {
    const [amount, to] = line.split(' ')
    // acknowledged when the server has stored it; it comes back through the copy
    stream.append({ from: name, to, amount: Number(amount) }, (err) => { if (err) console.error(err.message) })
  })
  input.on('close', () => stop.abort())

  await pulling.catch((err) => { if (err !== stop.signal.reason) throw err })
  await promisify(stream.close)()
  await promisify(db.close)()
}

main()
