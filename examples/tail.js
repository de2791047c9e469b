'use strict'

// Follows a log that another process writes. Without a file, it starts a writer process itself.
//
//     npm install flumelog-random-access-file
//     node tail.js [FILE]

const fs = require('fs')
const os = require('os')
const path = require('path')
const { fork } = require('child_process')
const { once } = require('events')
const { setTimeout } = require('timers/promises')
const { open } = require('flumelog-random-access-file/promises')

const codec = { encode: JSON.stringify, decode: JSON.parse, buffer: false }

async function tail (file) {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  const log = await open(file, { codec, readOnly: true })
  try {
    for await (const { seq, value } of log.stream({ live: true, signal: stop.signal })) {
      console.log(seq, value)
      if (value.isLast) break
    }
  } catch (err) {
    if (err.name !== 'AbortError') throw err
  }
  await log.close()
}

/** Runs in the writer process. */
async function write (file) {
  const log = await open(file, { codec })
  process.send('open')
  for (let n = 1; n <= 5; n++) {
    await setTimeout(100)
    await log.append({ n, isLast: n === 5 })
  }
  await log.close()
  process.disconnect()
}

async function main ([file, role]) {
  if (role === 'writer') return write(file)
  if (file !== undefined) return tail(file)
  const own = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'tail-')), 'log')
  await once(fork(__filename, [own, 'writer']), 'message')
  await tail(own)
}

main(process.argv.slice(2))
