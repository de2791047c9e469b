'use strict'

// Logs on a simulated disk that cannot be read.

const tape = require('tape')
const { machine, pathOf } = require('../helpers/simulator/machine')
const { settled } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

tape('a log of which nothing can be read gives the error of reading it, and is not called something else', async (t) => {
  for (const files of [['/log'], ['/log', '/log.meta']]) {
    const world = new World(1)
    const process = world.start()
    const log = await settled(world, process.require('./promises').open('/log', { blockSize: 512 }))
    for (let i = 0; i < 10; i++) await settled(world, log.append(`${i}`.padEnd(200)))
    await settled(world, log.close())
    if (files.length === 1) world.disk.change(world.disk.root, { 'log.meta': null })
    world.fault = (process, name) => name === 'read' || name === 'readv' ? 'EIO' : null
    const err = await settled(world, process.require('./maintenance').verify('/log')).catch(err => err)
    t.equal(err.code, 'EIO')
  }
})

tape('an offset map that cannot be read is not kept open', async (t) => {
  const { world, open, settled, codeOf } = machine()
  const first = world.start()
  const log = await open(first)
  await settled(log.append('first'))
  await settled(log.compact())
  await settled(log.close())
  const second = world.start()
  const { openOffsetMap } = second.require('./maintenance')
  for (const call of ['open', 'fstat', 'read']) {
    world.fault = (process, name, [where]) => name === call && pathOf(process, where) === '/log.offset-map' ? 'EIO' : null
    t.equal(await codeOf(openOffsetMap('/log')), 'EIO', call)
    world.fault = () => null
    t.deepEqual([...second.calls.files.values()].map(({ path }) => path), [], call)
  }
  const map = await settled(openOffsetMap('/log'))
  t.equal(typeof await settled(map.map(0)), 'number', 'when the disk can be read again, so can the map')
  await settled(map.close())
  t.equal(second.calls.files.size, 0)
  world.end()
})
