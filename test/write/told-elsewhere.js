'use strict'

// What was acknowledged is there for other processes: a program that is called back may tell them of it at once.

const { spawnSync } = require('child_process')
const fs = require('fs')
const path = require('path')
const tape = require('tape')
const FlumeLog = require('../..')
const { parsePublished } = require('../../lib/storage/metadata-text')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { pathOf, sharedLog, valuesOf } = require('../helpers/simulator/machine')

const PROGRAM = path.join(__dirname, '..', '..', 'bin', 'flumelog.js')

/** The records that another process finds; this one does nothing else meanwhile. */
function dumped (file) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, 'dump', file, '--format', 'text'], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout.split('\n').filter(line => line !== '').map(line => line.replace(/^\d+\s+/, ''))
}

for (const blocking of [true, false]) {
  const io = blocking ? '' : ', also if all I/O is asynchronous'

  tape(`another process that is started in the callback of an append finds the record${io}`, (t) => {
    const file = testFolder(t)('log')
    const log = FlumeLog(file, { blocking })
    log.append('first', (err) => {
      t.error(err)
      t.deepEqual(dumped(file), ['first'])
      log.append(['second', 'third'], (err) => {
        t.error(err)
        t.deepEqual(dumped(file), ['first', 'second', 'third'])
        log.close(() => t.end())
      })
    })
  })

  tape(`so does one that is started when a live stream gets the record, or \`since\` moves to it${io}`, async (t) => {
    const file = testFolder(t)('log')
    const log = FlumeLog(file, { blocking })
    const found = []
    await promises(log).append('first')
    log.since(() => { found.push(['since', dumped(file).length]) }, false)
    const reading = log.stream({ live: true, old: false, seqs: false })
    const read = new Promise(resolve => reading(null, (_, value) => resolve([String(value), dumped(file).length])))
    log.append('second')
    t.deepEqual(await read, ['second', 2])
    t.deepEqual(found, [['since', 2]])
    await promises(log).close()
  })

  tape(`whenever an append is acknowledged, FILE.meta says so, however many are in flight${io}`, async (t) => {
    const file = testFolder(t)('log')
    const log = FlumeLog(file, { blocking, blockSize: 512 })
    const late = []
    let called = 0
    await new Promise((resolve) => {
      const append = (depth) => log.append(Buffer.alloc(1 + called % 90, 1), (err, seq) => {
        const acknowledged = parsePublished(fs.readFileSync(file + '.meta', 'latin1'))
        if (err || !(acknowledged > seq)) late.push([called, seq, acknowledged])
        if (depth > 0) for (let i = 0; i < 3; i++) append(depth - 1)
        if (++called === 1093) resolve()
      })
      append(6)
    })
    t.deepEqual(late.slice(0, 3), [])
    await promises(log).close()
  })
}

tape('a process that appends through the owner of the log finds its record in the file when it is called back', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { shared: true }))
  await owner.append('first')
  const client = FlumeLog(file, { shared: true })
  await new Promise((resolve) => client.append('second', (err) => {
    t.error(err)
    t.deepEqual(dumped(file), ['first', 'second'])
    resolve()
  }))
  await promises(client).close()
  await owner.close()
})

tape('a client goes on to read a log of which the owner could not publish what it has acknowledged to that client', async (t) => {
  const { world, process, owner, join, settled } = await sharedLog()
  const client = await join()
  t.deepEqual(await settled(valuesOf(client)), ['first'])
  let failures = 0
  world.fault = (caller, name, args) => {
    const isPublishing = caller === process && name === 'write' && args[4] === 0 && pathOf(process, args[0]).startsWith('/log.meta')
    if (!isPublishing) return null
    failures++
    // as on file systems that do not overwrite in place
    return 'ENOSPC'
  }
  await settled(client.append('second'))
  t.ok(failures > 0)
  t.deepEqual(await settled(valuesOf(client)), ['first', 'second'])
  await settled(owner.del(0))
  await world.run(() => false, 100)
  t.deepEqual(await settled(valuesOf(client)).catch(err => err.code), ['second'])
  world.fault = () => null
  await settled(owner.append('third'))
  await world.run(() => false, 100)
  t.deepEqual(await settled(valuesOf(client)).catch(err => err.code), ['second', 'third'])
  world.end()
})
