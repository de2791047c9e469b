'use strict'

// What a process finds that opens a log whose compaction was interrupted, when it is interrupted itself. On a simulated disk.

const tape = require('tape')
const { valuesOf } = require('../helpers/simulator/machine')
const { settled, until } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

const SEEDS = 20
const SYNCS = 2

tape('a power cut while a log is opened whose compaction was interrupted leaves the log before it or the new one, with its id', async (t) => {
  const found = new Set()
  for (let seed = 1; seed <= SEEDS; seed++) {
    for (let sync = 1; sync <= SYNCS; sync++) {
      const world = new World(seed)
      const started = (process) => process.require('./promises').open('/log', { blockSize: 512 })
      const first = world.start()
      const log = await settled(world, started(first))
      const values = Array.from({ length: 10 }, (_, i) => `${i}`.padEnd(200))
      for (const value of values) await settled(world, log.append(value))
      const { id } = await settled(world, log.compact())
      // killed after the rename, when it fsyncs the directory
      world.fault = (process, name) => {
        if (name !== 'fsync' || world.disk.root.entries.has('log.unfinished')) return null
        world.timeline.add(0, () => world.kill(process))
        return 'EIO'
      }
      log.compact().catch(() => {})
      await until(world, () => !first.isAlive)

      const second = world.start()
      let syncs = 0
      world.fault = (process, name) => process === second && name === 'fsync' && ++syncs === sync ? 'EIO' : null
      let isOpen = false
      started(second).then(() => { isOpen = true }, () => { isOpen = true })
      await until(world, () => isOpen || syncs === sync)
      world.cutPower()

      const again = await settled(world, started(world.start()))
      t.deepEqual(await settled(world, valuesOf(again)), values, `seed ${seed}`)
      const isBefore = again.flumelog.id === id
      found.add(isBefore)
      const map = await settled(world, world.start().require('./maintenance').openOffsetMap('/log'))
      t.equal(isBefore ? map?.id : map?.previousId, id)
      world.end()
    }
  }
  t.deepEqual([...found].sort(), [false, true], 'both occur')
})
