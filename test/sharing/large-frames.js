'use strict'

// Frames of clients that are as large as the window: they keep neither PINGs nor other frames waiting. On a simulated machine.

const tape = require('tape')
const { settled } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

const MIB = 1024 * 1024

for (const [name, size, options] of [['small record', 1000, {}], ['large record', 2 * MIB, {}], ['conditional array', 2 * MIB, { after: -1 }]]) {
  tape(`a ${name} of a client is stored, though the disk takes longer than the timeout`, async (t) => {
    const world = new World(1)
    world.slowness = 0
    world.hasSmallLimits = false
    const process = world.start()
    const open = (process) => settled(world, process.require('./promises').open('/log', { shared: true, large: true, timeout: 1000 }))
    await open(process)
    const client = await open(world.start())
    const { callLater, callNow } = process
    const { latency } = world
    // a call of the owner that writes the log
    const isSlow = (call, [fd]) => call.startsWith('write') && process.calls.files.get(fd)?.path === '/log'
    process.callLater = function (call, args, apply, cb) {
      world.latency = (kind) => kind === 'file' && isSlow(call, args) ? 5000 : latency.call(world, kind)
      callLater.call(this, call, args, apply, cb)
      world.latency = latency
    }
    // which is not made on the event loop
    process.callNow = function (call, args, apply) {
      if (isSlow(call, args)) throw Object.assign(new Error('later'), { code: 'EAGAIN' })
      return callNow.call(this, call, args, apply)
    }
    const data = Buffer.alloc(size, 1)
    const value = options.after === undefined ? data : Array.from({ length: 64 }, () => data.subarray(0, size / 64))
    const appended = client.append(value, options).then(seq => typeof seq, err => err.code)
    t.equal(await settled(world, appended), 'number')
    world.end()
  })
}

for (const size of [1000, 2 * MIB]) {
  tape(`a record of ${size} bytes is stored before the compaction ends for which its client waits`, async (t) => {
    const world = new World(1)
    world.slowness = 0
    world.hasSmallLimits = false
    const process = world.start()
    const open = (process) => settled(world, process.require('./promises').open('/log', { shared: true, large: true, timeout: 1000 }))
    const owner = await open(process)
    await settled(world, owner.append('first'))
    const client = await open(world.start())
    const { latency } = world
    world.latency = (kind) => kind === 'fsync' ? 1000 : latency.call(world, kind)
    const order = []
    const compacted = client.compact().then(() => order.push('compacted'))
    await world.run(() => false, 100)
    const appended = client.append(Buffer.alloc(size, 1)).then(() => order.push('appended'))
    await settled(world, Promise.all([compacted, appended]))
    t.deepEqual(order, ['appended', 'compacted'])
    world.end()
  })
}
