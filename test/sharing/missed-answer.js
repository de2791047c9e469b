'use strict'

// The answer to an append that a client gets after compactions: its owner died before it could give it. On a simulated machine.

const tape = require('tape')
const { collect } = require('../helpers/reading')
const { pathOf, sharedLog } = require('../helpers/simulator/machine')

for (const compactions of [1, 2]) {
  tape(`an append whose answer was lost has the seq that its record has now, after ${compactions} compactions`, async (t) => {
    const { world, process, join, settled, until } = await sharedLog()
    const other = await join()
    const stopped = world.start()
    const client = await join(stopped)
    await settled(client.append('second'))
    // the owner dies between the write and the answer
    let isWritten = false
    process.oncall = (name, [file]) => {
      if (!name.startsWith('write')) return
      if (pathOf(process, file) === '/log') isWritten = true
      else if (isWritten) {
        stopped.stop()
        process.callsToLive = 1
      }
    }
    const appended = client.append('third')
    await until(() => other.role === 'owner')
    for (let i = 0; i < compactions; i++) {
      await settled(other.compact())
      stopped.continue()
      // it follows, and has not connected again when the next one comes
      await until(() => client.id === other.id)
      stopped.stop()
      await world.run(() => false, 20)
    }
    stopped.continue()
    const seq = await settled(appended)
    const [last] = (await settled(collect(other.flumelog))).slice(-1)
    t.deepEqual([seq, 'third'], [last.seq, String(last.value)])
    t.equal(String(await settled(client.get(seq))), 'third')
    t.deepEqual(world.problems, [])
    world.end()
  })
}
