'use strict'

// A client that opens the log while a compaction of it ends, and the owner is killed then. On a simulated machine.

const tape = require('tape')
const { valuesOf } = require('../helpers/simulator/machine')
const { settled, until } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

const SEEDS = 5
/** Milliseconds that fsyncs take while the compaction ends. */
const SLOW = 300

tape('what a client appends that opens the log at the end of a compaction is stored, though the owner is killed then', async (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const world = new World(seed)
    world.slowness = 0
    const process = world.start()
    const open = (process) => process.require('./promises').open('/log', { shared: true })
    const owner = await settled(world, open(process))
    await settled(world, owner.append('first'))
    const { latency } = world
    const { syncLater, calls } = process
    let [isEnding, isRenamed] = [false, false]
    world.fault = (caller, name, args) => {
      if (caller === process && name.startsWith('rename') && args[1] === '/log') isRenamed = true
      return null
    }
    world.latency = (kind) => kind === 'fsync' && isEnding ? SLOW : latency.call(world, kind)
    process.syncLater = function (name, fd, cb) {
      // it has what will be true of the new file
      if (name === 'fdatasync' && calls.files.get(fd)?.path.startsWith('/log.meta')) isEnding = true
      return syncLater.call(this, name, fd, cb)
    }
    owner.compact().catch(() => {})
    await until(world, () => isEnding)
    const client = await settled(world, open(world.start()))
    const appended = client.append('second')
    await until(world, () => client.stats().inFlight.records > 0)
    await world.run(() => false, 5)
    // the owner writes down what it knows of this one, too
    open(world.start()).catch(() => {})
    await until(world, () => isRenamed)
    await world.run(() => false, 5)
    world.kill(process)
    world.latency = latency
    t.equal(typeof await settled(world, appended), 'number', 'it is acknowledged')
    t.deepEqual(await settled(world, valuesOf(client)), ['first', 'second'], `seed ${seed}`)
    world.end()
  }
})
