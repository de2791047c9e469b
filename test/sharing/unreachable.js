'use strict'

// What becomes of calls while no owner of a shared log answers: it is stopped, or its disk is full. Run on a simulated machine: on a real
// one, how long an owner is silent depends on what else runs there.

const tape = require('tape')
const { codeOf } = require('../helpers/reading')
const { valuesOf } = require('../helpers/simulator/machine')
const { settled } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

/** An owner and a client of a shared log, with these options. */
async function shared (ownerOptions, clientOptions, seed = 1) {
  const world = new World(seed)
  world.slowness = 0
  if (ownerOptions.blockSize < 512) world.hasSmallLimits = true
  const open = (process, options) => settled(world, process.require('./promises').open('/log', { shared: true, ...options }))
  const process = world.start()
  const owner = await open(process, ownerOptions)
  const opened = () => open(world.start(), clientOptions)
  return { world, process, owner, client: await opened(), opened, settled: (promise) => settled(world, promise) }
}

tape('calls get an error while the owner is stopped, and go on when it continues', async (t) => {
  const { process, owner, client, settled } = await shared({}, { timeout: 500 })
  const seq = await settled(client.append('first'))
  process.stop()
  const calls = [client.append('one'), client.append('two'), client.sync(), client.del(seq), client.append(['three'], { sync: true })].map(codeOf)
  for (const call of calls) t.equal(await settled(call), 'flumelog:unreachable', 'its outcome is unknown')
  t.equal(await settled(codeOf(client.append('four'))), 'flumelog:unreachable', 'so it is for a later one')
  const late = client.append('late')
  process.continue()
  t.equal(typeof await settled(late), 'number', 'one that waits when the owner continues is stored')
  await settled(client.append('last'))
  await settled(client.close())
  const values = await settled(valuesOf(owner))
  t.deepEqual(values, [...new Set(values)], 'none is there twice')
  t.deepEqual(values.slice(-2), ['late', 'last'], 'those with an answer are')
})

tape('a record that was given up is not sent again to the next owner', async (t) => {
  const { world, process, client, settled } = await shared({}, { timeout: 500 })
  await settled(client.append('first'))
  process.stop()
  t.equal(await settled(codeOf(client.append('given up'))), 'flumelog:unreachable')
  const next = client.append('next')
  world.kill(process)
  await settled(next)
  t.deepEqual(await settled(valuesOf(client)), ['first', 'next'])
})

tape('a client gets in once FILE.meta can be written again, though its owner does nothing else', async (t) => {
  const { world, process, client, opened, settled } = await shared({ sync: 'never' }, {})
  await settled(client.append('first'))
  let failures = 0
  world.fault = (caller, name, [fd]) => {
    if (caller !== process || name !== 'write' || caller.calls.files.get(fd).path !== '/log.meta.new') return null
    failures++
    return 'EIO'
  }
  const late = opened()
  late.catch(() => {})
  await world.run(() => failures > 0)
  world.fault = () => null
  t.deepEqual(await settled(valuesOf(await late)), ['first'])
})

tape('a client whose fsync fails while it takes over becomes the owner when it tries again', async (t) => {
  const { world, process, client, settled } = await shared({ sync: 'never' }, {})
  await settled(client.append('first'))
  let failures = 1
  world.fault = (caller, name) => caller !== process && name === 'fdatasync' && failures-- > 0 ? 'EIO' : null
  world.kill(process)
  t.match(await settled(codeOf(client.append('next'))), /^no error/)
  t.ok(failures < 0, 'one has failed, and others followed')
  t.deepEqual(await settled(valuesOf(client)), ['first', 'next'])
  await settled(client.close())
})

tape('a power cut takes nothing that was synced after an append of a client could not be written', async (t) => {
  for (let seed = 1; seed <= 12; seed++) {
    const { world, process, owner, client, settled } = await shared({ sync: 'never' }, {}, seed)
    const first = await settled(owner.append('first'))
    world.fault = (caller, name, [where]) => caller === process && /^writev?$/.test(name) && caller.calls.files.get(where)?.path === '/log' ? 'EIO' : null
    await settled(codeOf(client.append('refused'.repeat(20))))
    world.fault = () => null
    await settled(owner.del(first))
    await settled(owner.sync())
    await settled(owner.append('kept'))
    await settled(owner.sync())
    world.cutPower()
    const again = await settled(world.start().require('./promises').open('/log', { shared: true }))
    t.deepEqual(await settled(valuesOf(again)), ['kept'], `seed ${seed}`)
  }
})

tape('a power cut takes no record at which a cursor is, also if those that a client has appended with it are not durable', async (t) => {
  for (let seed = 1; seed <= 40; seed++) {
    // of what the client sends together, a part is fsynced before the rest is written
    const { world, client, owner, settled } = await shared({ blockSize: 128, sync: 'interval', syncInterval: 60_000, syncBytes: 1000 }, {}, seed)
    await settled(client.append(Array.from({ length: 15 + seed % 10 }, (_, i) => `${i}`.padEnd(100))))
    const [first] = await settled(valuesOf(owner))
    await settled(owner.cursor('mailer').commit(0, { sync: true }))
    world.cutPower()
    const again = await settled(world.start().require('./promises').open('/log', { shared: true }))
    t.equal((await settled(valuesOf(again)))[0], first, `seed ${seed}`)
    world.end()
  }
})

tape('on a full disk appends of clients fail, a takeover waits, and all goes on when there is room', async (t) => {
  const { world, process, client, opened, settled } = await shared({}, { timeout: 200 })
  const clients = [client, await opened()]
  const appended = (log, value) => settled(codeOf(log.append(value.padEnd(20000))))
  const stored = async (log, value) => t.match(await appended(log, value), /^no error/, `${value} is stored`)
  for (const [i, log] of clients.entries()) await stored(log, `before ${i}`)
  world.disk.capacity = world.disk.used
  for (const log of clients) t.equal(await appended(log, 'full'), 'ENOSPC', 'what does not fit gets ENOSPC')
  world.kill(process)
  for (const log of clients) t.match(await appended(log, 'full'), /^(ENOSPC|flumelog:unreachable)$/, 'so it does without an owner')
  world.disk.capacity = Infinity
  for (const [i, log] of clients.entries()) await stored(log, `after ${i}`)
  t.deepEqual(clients.map(({ role }) => role).sort(), ['client', 'owner'], 'with room, one of them is the owner')
  t.deepEqual((await settled(valuesOf(client))).map(value => value.trim()), ['before 0', 'before 1', 'after 0', 'after 1'], 'what was acknowledged is there, and nothing else')
})
