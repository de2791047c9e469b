'use strict'

// A client that gets the lock, fails to become the owner, and becomes it later, when another process has written FILE.meta. On a simulated machine.

const tape = require('tape')
const { machine, valuesOf } = require('../helpers/simulator/machine')

tape('a deletion of an owner is not undone whose first takeover has failed', async (t) => {
  const { world, open, settled, until, values } = machine()
  const process = world.start()
  const owner = await open(process, '/log', { shared: true })
  const first = await settled(owner.append('first'))
  await settled(owner.append('second'))
  const next = world.start()
  const client = await open(next, '/log', { shared: true, sync: 'never' })
  // killed in a compaction
  owner.compact().catch(() => {})
  await until(() => world.disk.root.entries.has('log.unfinished.offset-map'))
  // out of file descriptors, for a moment
  let failures = 0
  world.fault = (caller, name, [path]) => {
    if (caller !== next || name !== 'open' || path !== '/log.unfinished.offset-map') return null
    return failures++ === 0 ? 'EMFILE' : null
  }
  world.kill(process)
  await until(() => failures > 0)
  // another process has the log for a moment
  const other = world.start()
  let alone = null
  while (alone === null) alone = await open(other).catch(() => null)
  t.notEqual(client.flumelog.role, 'owner', 'the client has not got the lock again')
  await settled(alone.append('third'))
  await settled(alone.close())
  await until(() => client.flumelog.role === 'owner')
  await settled(client.del(first))
  world.kill(next)
  t.deepEqual(await values(await open(world.start())), ['second', 'third'])
  t.deepEqual(world.problems, [])
  world.end()
})

tape('a kill takes no deletion in a process that could not become the owner of the log at first', async (t) => {
  const { world, open, settled, until, codeOf } = machine()
  const options = { shared: true, sync: 'always' }
  const first = world.start()
  const owner = await open(first, '/log', options)
  const value = (i) => `${i}.`.repeat(50)
  for (let i = 0; i < 4; i++) await settled(owner.append(value(i)))
  const others = []
  for (const process of [world.start(), world.start()]) others.push({ process, log: await open(process, '/log', options) })
  for (const { log } of others) await settled(log.append('x'))
  let failed = null
  world.fault = (process, name, [from, to]) => {
    if (name !== 'rename' || to !== '/log.offset-map') return null
    if (process === first) {
      // killed before the map has its name
      world.timeline.add(0, () => world.kill(first))
      return 'EIO'
    }
    if (failed !== null) return null
    failed = process
    return 'EIO'
  }
  owner.compact().catch(() => {})
  await until(() => failed !== null)
  await until(() => ![...failed.calls.files.values()].some(file => world.disk.find('/log', '').locks.has(file)))
  // the other one is next
  failed.stop()
  const one = others.find(({ process }) => process === failed)
  const other = others.find(({ process }) => process !== failed)
  await until(() => other.log.flumelog.role === 'owner')
  world.fault = () => null
  // the one that failed stays stopped for so long that it is forgotten when another client comes
  await settled(other.log.append('by the other'))
  await world.run(() => false, 70_000)
  const third = await open(world.start(), '/log', options)
  await settled(third.append('by a third'))
  await settled(third.close())
  await settled(other.log.close())
  failed.continue()
  await until(() => one.log.flumelog.role === 'owner')
  const seq = await settled(one.log.append('deleted'))
  await settled(one.log.append('kept'))
  await settled(one.log.sync())
  // recorded, and not in the file yet
  failed.tear = () => {}
  world.fault = (process, name, [fd]) => process === failed && name.startsWith('write') && failed.calls.files.get(fd)?.inode === world.disk.find('/log', '') ? 'EIO' : null
  t.equal(await codeOf(one.log.del(seq)), 'ok')
  world.kill(failed)
  world.fault = () => null
  const found = await settled(valuesOf(await open(world.start(), '/log', options)))
  t.deepEqual(found.slice(-2), ['by a third', 'kept'])
  t.deepEqual(world.problems, [])
  world.end()
})
