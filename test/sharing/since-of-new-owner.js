'use strict'

// What a client had in flight, and the dead owner had stored: the new owner knows. On a simulated machine.

const tape = require('tape')
const { settled, until } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

tape('since has a record of a client that becomes the owner before its append is acknowledged', async (t) => {
  const world = new World(1)
  world.slowness = 0
  const process = world.start()
  const open = (process) => settled(world, process.require('./promises').open('/log', { shared: true }))
  const owner = await open(process)
  await settled(world, owner.append('first'))
  const log = (await open(world.start())).flumelog
  await world.run(() => false, 50)
  let isStored = false
  let answer = null
  log.append('second', (err, seq) => { answer = { err, seq, since: log.since.value, role: log.role } })
  const { fault } = world
  world.fault = (caller, name, [fd]) => {
    if (caller === process && name.startsWith('write') && process.calls.files.get(fd)?.path === '/log') isStored = true
    return fault(caller, name, [fd])
  }
  await until(world, () => isStored)
  world.kill(process)
  await until(world, () => answer !== null)
  t.equal(answer.err, null)
  t.equal(answer.role, 'owner')
  t.equal(answer.since, answer.seq, 'since has it')
  world.end()
})
