'use strict'

// What a client had in flight, and the dead owner had stored: the new owner knows. On a simulated machine.

const tape = require('tape')
const { machine, sharedLog, valuesOf } = require('../helpers/simulator/machine')

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

for (const isFailing of [false, true]) {
  tape(`a client finds what the dead owner has acknowledged at every moment while it takes over${isFailing ? ', though it cannot read the log at first' : ''}`, async (t) => {
    const { world, settled, until } = machine()
    const join = (process) => settled(process.require('./promises').open('/log', { shared: true, blockSize: 512, blocking: false }))
    const first = world.start()
    const owner = await join(first)
    const record = '.'.repeat(300)
    await settled(owner.append(record))
    const second = world.start()
    const client = await join(second)
    t.equal(String(await settled(client.get(0))), record)
    // the client has not heard of it, nor of the block that it is in
    const seq = await settled(owner.append(record))
    t.equal(client.since.value, 0)
    world.kill(first)
    const answers = []
    let isRecovered = false
    let failures = 0
    world.fault = (caller, name, args) => {
      if (caller !== second || client.flumelog.role === 'owner') return null
      if (!isFailing) world.timeline.add(0, () => answers.push(client.get(seq).then(String, err => err.code)))
      isRecovered ||= name === 'rename' && args[1] === '/log.meta'
      return isFailing && isRecovered && name === 'readv' && args[2] === 0 && ++failures === 1 ? 'EIO' : null
    }
    await until(() => client.flumelog.role === 'owner')
    for (const answer of await settled(Promise.all(answers))) if (answer !== record) t.fail(answer)
    t.equal(failures > 0, isFailing)
    t.deepEqual(await settled(valuesOf(client)), [record, record])
    t.deepEqual(world.problems, [])
    world.end()
  })
}
