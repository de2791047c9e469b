'use strict'

// What a client had in flight, and the dead owner had stored: the new owner knows. On a simulated machine.

const tape = require('tape')
const { sharedLog } = require('../helpers/simulator/machine')

tape('since has a record of a client that becomes the owner before its append is acknowledged', async (t) => {
  const { world, process, join, until } = await sharedLog()
  const log = (await join()).flumelog
  await world.run(() => false, 50)
  let isStored = false
  let answer = null
  log.append('second', (err, seq) => { answer = { err, seq, since: log.since.value, role: log.role } })
  const { fault } = world
  world.fault = (caller, name, [fd]) => {
    if (caller === process && name.startsWith('write') && process.calls.files.get(fd)?.path === '/log') isStored = true
    return fault(caller, name, [fd])
  }
  await until(() => isStored)
  world.kill(process)
  await until(() => answer !== null)
  t.equal(answer.err, null)
  t.equal(answer.role, 'owner')
  t.equal(answer.since, answer.seq, 'since has it')
  world.end()
})
