'use strict'

// The error of an append without a callback is for the process that has made it, whoever else waits for the same write, and whether that process becomes
// the owner meanwhile. On a simulated machine.

const tape = require('tape')
const { codeOf } = require('../helpers/reading')
const { pathOf, sharedLog } = require('../helpers/simulator/machine')

const FINE = 'no error, but undefined'

for (const who of ['a client that syncs', 'a client that comes back', 'closing']) {
  tape(`an append of the owner without a callback that cannot be written is reported to it, not to ${who}`, async (t) => {
    const { world, process, owner, join, settled } = await sharedLog()
    const other = world.start()
    const client = await join(other)
    await settled(client.append('second'))
    const { latency } = world
    let failures = 0
    world.fault = (caller, name, [fd]) => {
      if (caller !== process || !name.startsWith('write') || process.calls.files.get(fd)?.path !== '/log') return null
      failures++
      world.latency = (kind) => kind === 'file' ? 20 : latency.call(world, kind)
      return 'ENOSPC'
    }
    owner.flumelog.append('refused')
    let synced = null
    if (who === 'a client that syncs') synced = client.sync()
    if (who === 'a client that comes back') {
      client.append('refused, too').catch(() => {})
      await world.run(() => false, 2)
      for (const socket of other.sockets) socket.destroy()
    }
    const closed = who === 'closing' ? owner.close() : null
    await world.run(() => false, 40)
    t.ok(failures > 0, 'it fails')
    world.fault = () => null
    world.latency = latency
    if (synced !== null) t.equal(await settled(codeOf(synced)), FINE, 'the client has nothing to do with it')
    t.equal(await settled(codeOf(closed ?? owner.sync())), 'ENOSPC', 'the owner is told')
    world.end()
  })
}

for (const isBefore of [true, false]) {
  tape(`an append without a callback that is refused ${isBefore ? 'before' : 'after'} a takeover is reported by the next call after it`, async (t) => {
    const { world, process, join, settled, until } = await sharedLog()
    const client = await join()
    const log = client.flumelog
    if (!isBefore) world.kill(process)
    log.append('refused', { after: 12345 }, undefined)
    if (isBefore) {
      await world.run(() => false, 50)
      world.kill(process)
    }
    await until(() => log.role === 'owner')
    await world.run(() => false, 50)
    t.equal(await settled(codeOf(client.sync())), 'flumelog:conflict', 'by sync')
    t.equal(await settled(codeOf(client.sync())), FINE, 'once')
    world.end()
  })
}

for (const call of ['drained', 'sync']) {
  tape(`an append of a client without a callback that cannot be written after a takeover is reported by ${call}, if that is called before it fails`, async (t) => {
    const { world, process, join, settled, until } = await sharedLog()
    const successor = world.start()
    const client = await join(successor)
    await settled(client.append('second'))
    process.stop()
    client.flumelog.append('refused')
    await world.run(() => false, 20)
    const { latency } = world
    let failures = 0
    world.fault = (caller, name, [fd]) => {
      if (client.role !== 'owner' || caller !== successor || !name.startsWith('write') || pathOf(successor, fd) !== '/log') return null
      failures++
      world.latency = (kind) => kind === 'file' ? 20 : latency.call(world, kind)
      return 'ENOSPC'
    }
    world.kill(process)
    await until(() => failures > 0)
    const called = client[call]()
    t.equal(await settled(codeOf(called)), 'ENOSPC')
    world.fault = () => null
    world.latency = latency
    t.equal(await settled(codeOf(client.sync())), FINE, 'once')
    world.end()
  })
}

tape('an empty append of a client that syncs, without a callback, does not report the error of another one to nobody', async (t) => {
  const { world, join, settled } = await sharedLog()
  const client = await join()
  client.flumelog.append('refused', { after: 12345 }, undefined)
  await world.run(() => false, 50)
  client.flumelog.append([], { sync: true }, undefined)
  await world.run(() => false, 50)
  t.equal(await settled(codeOf(client.sync())), 'flumelog:conflict')
  world.end()
})
