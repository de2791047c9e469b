'use strict'

// Logs on a simulated disk that cannot be read.

const tape = require('tape')
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
