'use strict'

// Appends around a failed write: which of them fail with it, and which are stored.

const test = require('tape')
const { collect } = require('../helpers/reading')
const { dataOf } = require('../helpers/bytes')
const { ControlledFile } = require('../helpers/controlled-file')
const { settled } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

test('an append made by a caller that has been told of the failed write is stored', async (t) => {
  const { log, close } = await logWithOneRecord()
  const err = await new Promise((resolve) => {
    log.append(dataOf(6000, 2), (err) => {
      if (err) log.append(dataOf(100, 3), resolve)
    })
  })
  t.error(err, 'it succeeds')
  t.deepEqual(await firstBytes(log), [1, 3])
  await close()
})

test('an append without a callback that fails is reported by the next onDrain, sync or close, once', async (t) => {
  for (const name of ['onDrain', 'sync', 'close']) {
    const { log } = await logWithOneRecord()
    const call = (name) => new Promise(resolve => log[name](resolve))
    log.append(dataOf(6000, 2))
    t.equal((await call(name))?.code, 'ENOSPC', `${name}, called while it was in flight, reports it`)
    if (name === 'close') continue
    t.error(await call('sync'), 'and nobody else does')

    const failed = new Promise(resolve => log.append(dataOf(6000, 2), resolve))
    log.append(dataOf(10, 3))
    await failed
    t.equal((await call(name))?.code, 'ENOSPC', `${name}, called after it had failed, reports it`)
    t.error(await call('close'), 'and close does not report it again')
  }
})

test('sync calls back when the write that it waits for fails, and no further fsync is made', async (t) => {
  const { file, log, close } = await logWithOneRecord()
  file.counts.sync = 0
  const failed = new Promise(resolve => log.append(dataOf(6000, 2), resolve))
  t.error(await new Promise(resolve => log.sync(resolve)), 'the append got the error; what is left is durable')
  t.equal((await failed).code, 'ENOSPC')
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  t.ok(file.counts.sync <= 2, `${file.counts.sync} fsyncs, one of them since the file was truncated`)
  await close()
  t.ok(file.counts.sync <= 2)
})

test('if what a failed write has left cannot be truncated, the log accepts nothing until it is opened again, and finds there what is whole', async (t) => {
  let left = 0
  for (let seed = 1; seed <= 20; seed++) {
    const world = new World(seed)
    const open = (process) => settled(world, process.require('./promises').open('/log', { blockSize: 512, sync: 'always' }))
    const first = world.start()
    const log = await open(first)
    await settled(world, log.append('acknowledged'))
    world.fault = (process, name) => ['write', 'writev', 'ftruncate'].includes(name) ? 'EIO' : null
    const append = (value) => settled(world, log.append(value)).then(() => null, err => err.code)
    t.equal(await append(Array.from({ length: 10 }, (_, i) => `${i}`.padEnd(20))), 'flumelog:failed')
    world.fault = () => null
    t.equal(await append('later'), 'flumelog:failed')
    t.equal(await settled(world, log.sync()).catch(err => err.code), 'flumelog:failed')
    world.kill(first)
    const found = await settled(world, valuesOf(await open(world.start())))
    t.equal(found[0], 'acknowledged')
    t.notOk(found.includes('later'))
    left += found.length - 1
  }
  t.ok(left > 0)
})

async function valuesOf (log) {
  const values = []
  for await (const { value } of log.stream()) values.push(String(value))
  return values
}

async function logWithOneRecord () {
  const file = ControlledFile.withRoomFor(5000)
  const { log, append, close } = file.open()
  await append(dataOf(100, 1))
  return { file, log, close }
}

async function firstBytes (log) {
  return (await collect(log, { seqs: false })).map(([first]) => first)
}
