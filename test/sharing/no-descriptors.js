'use strict'

// A client that has no file descriptor left for a moment, when it follows a compaction. On a simulated machine.

const tape = require('tape')
const { valuesOf } = require('../helpers/simulator/machine')
const { settled } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

tape('a client follows a compaction that cannot open a file for a moment', async (t) => {
  for (const what of ['/log', '/log.meta', '/log.offset-map']) {
    const world = new World(1)
    world.slowness = 0
    const open = (process) => settled(world, process.require('./promises').open('/log', { shared: true }))
    const owner = await open(world.start())
    await settled(world, owner.append('first'))
    const process = world.start()
    const client = await open(process)
    let failures = 0
    world.fault = (caller, name, [path]) => {
      if (caller !== process || name !== 'open' || path !== what) return null
      return failures++ < 3 ? 'EMFILE' : null
    }
    await settled(world, owner.compact())
    const appended = client.append('second')
    t.equal(typeof await settled(world, appended.catch(err => err)), 'number', what)
    t.deepEqual(await settled(world, valuesOf(client)), ['first', 'second'])
    world.end()
  }
})
