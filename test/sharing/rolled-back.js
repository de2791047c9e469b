'use strict'

// FILE.meta tells of a client's records before they are written. If the write fails, that must not count for what is written in their place, though
// FILE.meta can often not be written then either. On a simulated machine.

const tape = require('tape')
const { codeOf } = require('../helpers/reading')
const { frame, u32, u64 } = require('../helpers/plain-client')
const { valuesOf } = require('../helpers/simulator/machine')
const { settled, until } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

// see docs/protocol.md
const [HELLO, APPEND, BYE, WELCOME] = [1, 2, 5, 16]

tape('a power cut takes nothing that was synced after an append of a client that has left could not be written', async (t) => {
  for (let seed = 1; seed <= 12; seed++) {
    const { world, process, owner, settled } = await shared(seed, false)
    const first = await settled(owner.append('first'))
    const socket = world.start().require('net').connect({ path: '/log.socket' })
    let isWelcome = false
    socket.on('error', () => {}).on('data', (data) => { isWelcome ||= data[4] === WELCOME })
    socket.on('connect', () => socket.write(frame(HELLO, Buffer.from(JSON.stringify({ protocol: 'flumelog', version: 6, id: '0123456789abcdef', answered: 0, log: null, pid: 1 })))))
    await until(world, () => isWelcome)
    const { latency } = world
    let failures = 0
    world.fault = (caller, name, [where]) => {
      if (caller !== process || !isWrite(name) || pathOf(process, where) !== '/log') return null
      // it takes so long that the client has left when it fails
      world.latency = (kind) => kind === 'file' ? 20 : latency.call(world, kind)
      if (failures++ === 0) socket.end(frame(BYE))
      return 'EIO'
    }
    const record = Buffer.from('refused'.repeat(20))
    const length = Buffer.alloc(2)
    length.writeUInt16LE(record.length)
    socket.write(frame(APPEND, u64(1), u32(1), u64(0), Buffer.from([0]), length, record, length))
    await until(world, () => failures > 0 && owner.stats().clients.length === 0)
    await world.run(() => false, 60)
    world.fault = () => null
    world.latency = latency
    await settled(owner.del(first))
    await settled(owner.sync())
    await settled(owner.append('kept'))
    await settled(owner.sync())
    world.cutPower()
    t.deepEqual(await valuesAgain(world), ['kept'], `seed ${seed}`)
    world.end()
  }
})

tape('a power cut takes nothing that was synced after an append of a client, and then a snapshot of FILE.meta, have failed', async (t) => {
  for (let seed = 1; seed <= 25; seed++) {
    const { world, process, owner, opened, settled } = await shared(seed)
    const client = await opened()
    const first = await settled(owner.append('first'))
    const { latency } = world
    const { callLater } = process
    let [isFull, isOver] = [false, false]
    const mustReplace = () => isFull
    process.callLater = function (name, args, apply, cb) {
      const isNew = pathOf(process, args[0]) === '/log.meta.new'
      if (isNew && name === 'open') isFull = true
      // the snapshot fails after the append
      world.latency = (kind) => kind === 'file' && isNew ? 10 : latency.call(world, kind)
      callLater.call(this, name, args, apply, cb)
      world.latency = latency
    }
    world.fault = (caller, name, [where]) => {
      if (caller !== process || !isFull || !isWrite(name)) return null
      const path = pathOf(process, where)
      isOver ||= path === '/log.meta.new'
      return path === '/log' || path === '/log.meta.new' ? 'ENOSPC' : null
    }
    // until FILE.meta is long
    let code = ''
    while (!mustReplace()) code = await settled(codeOf(client.append('refused'.repeat(20))))
    if (code !== 'ENOSPC') await settled(codeOf(client.append('refused'.repeat(20))))
    await until(world, () => isOver)
    await world.run(() => false, 60)
    isFull = false
    world.fault = () => null
    process.callLater = callLater
    const { length } = await settled(valuesOf(owner))
    await settled(owner.del(first))
    await settled(owner.sync())
    await settled(owner.append('kept'))
    await settled(owner.sync())
    world.cutPower()
    t.equal((await valuesAgain(world)).length, length, `seed ${seed}`)
    world.end()
  }
})

tape('a power cut takes nothing that was synced after an append of a client, and then the fsync of the name of FILE.meta, have failed', async (t) => {
  for (let seed = 1; seed <= 40; seed++) {
    const { world, process, owner, opened, settled } = await shared(seed)
    const client = await opened()
    await settled(owner.append('first'))
    world.fault = (caller, name, [where]) => caller === process && isWrite(name) && pathOf(process, where) === '/log' ? 'EIO' : null
    await settled(codeOf(client.append('refused'.repeat(20))))
    // FILE.meta is replaced before the next write
    world.fault = (caller, name) => caller === process && name === 'fsync' ? 'EIO' : null
    await settled(codeOf(owner.append('refused, too')))
    world.fault = () => null
    await settled(owner.append('kept'))
    await settled(owner.sync())
    world.cutPower()
    t.deepEqual(await valuesAgain(world), ['first', 'kept'], `seed ${seed}`)
    world.end()
  }
})

/**
 * The owner of a shared log.
 * @param {number} seed
 */
async function shared (seed, hasSmallLimits = true) {
  const world = new World(seed)
  world.slowness = 0
  if (hasSmallLimits) world.hasSmallLimits = true
  const process = world.start()
  const open = (process) => settled(world, process.require('./promises').open('/log', { shared: true, sync: 'never' }))
  return { world, process, owner: await open(process), opened: () => open(world.start()), settled: (promise) => settled(world, promise) }
}

/** @param {string} name of a call of the system */
function isWrite (name) {
  return name === 'write' || name === 'writev'
}

/** By its first name, unless it is FILE.meta by now. */
function pathOf (process, where) {
  const file = process.calls.files.get(where)
  if (file === undefined) return where
  return file.inode === process.world.disk.root.entries.get('log.meta') ? '/log.meta' : file.path
}

/** When the log is opened again. */
async function valuesAgain (world) {
  const log = await settled(world, world.start().require('./promises').open('/log', { shared: true }))
  return settled(world, valuesOf(log))
}
