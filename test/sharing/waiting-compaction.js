'use strict'

// A compaction that waits until the clients have followed the one before. On a simulated machine.

const tape = require('tape')
const { sharedLog } = require('../helpers/simulator/machine')

for (const how of ['its signal', 'closing the log']) {
  tape(`a compaction that waits for a client which is stopped is ended at once by ${how}`, async (t) => {
    const { world, owner, join, settled, codeOf } = await sharedLog()
    const stopped = world.start()
    await join(stopped)
    stopped.stop()
    await settled(owner.compact())
    const controller = new AbortController()
    const compacted = codeOf(owner.compact({ signal: controller.signal }))
    await world.run(() => false, 100)
    const before = world.timeline.time
    const ended = how === 'its signal' ? controller.abort(Object.assign(new Error('enough'), { code: 'enough' })) : owner.close()
    t.equal(await compacted, how === 'its signal' ? 'enough' : 'flumelog:closed')
    t.ok(world.timeline.time - before < 1000, `after ${Math.round(world.timeline.time - before)} ms`)
    await settled(Promise.resolve(ended))
    t.deepEqual(world.problems, [])
    world.end()
  })
}
