'use strict'

// What a client is told of a compaction that it has asked for, if the owner has compacted the log meanwhile for itself. On a simulated machine.

const tape = require('tape')
const { settled } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

tape('a client is not given the result of a compaction of another log', async (t) => {
  for (let seed = 1; seed <= 10; seed++) {
    const world = new World(seed)
    world.slowness = 0
    const open = (process) => settled(world, process.require('./promises').open('/log', { shared: true }))
    const owner = await open(world.start())
    for (let i = 0; i < 5; i++) await settled(world, owner.append(`record ${i}`))
    const client = await open(world.start())
    const first = await settled(world, client.compact())
    await world.run(() => false, 100)
    const own = owner.compact()
    // asked for at any moment of that
    await world.run(() => false, seed * 2)
    const result = await settled(world, client.compact().catch(err => err))
    await settled(world, own)
    await world.run(() => false, 100)
    t.notEqual(result.id, first.id, `seed ${seed}: not the earlier one`)
    if (result instanceof Error) t.equal(result.code, 'flumelog:compacted')
    else t.equal(result.id, client.flumelog.id, 'the id of the log')
    world.end()
  }
})
