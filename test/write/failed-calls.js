'use strict'

// What callers are told of an append when a call of the system fails. On a simulated machine.

const tape = require('tape')
const { machine, pathOf } = require('../helpers/simulator/machine')

for (const shared of [false, true]) {
  tape(`a status that cannot be asked for after an fsync ${shared ? 'of a shared log' : ''}`, async (t) => {
    const { world, open, settled, codeOf, values } = machine()
    const first = world.start()
    const log = await open(first, '/log', { shared })
    await settled(log.append('first'))
    const client = shared ? await open(world.start(), '/log', { shared }) : log
    if (shared) await settled(client.append('of client'))
    let n = 0
    world.fault = (process, name, [file]) => process === first && name === 'stat' && file === '/log' && n++ === 0 ? 'EIO' : null
    const result = await codeOf(client.append('second'))
    const next = await codeOf(log.append('third'))
    t.comment(`${result}, then ${next}, faults ${n}`)
    await codeOf(client.close())
    if (shared) await codeOf(log.close())
    world.fault = () => null
    const again = await open(world.start(), '/log')
    const found = await values(again)
    t.comment(JSON.stringify(found))
    t.ok(found.includes('second') ? ['ok', 'flumelog:failed', 'flumelog:unreachable'].includes(result) : result !== 'ok')
    world.end()
  })
}

for (const sync of ['always', 'interval']) {
  tape(`an append of a shared log that got an error of the system is not stored after a power cut, either: sync '${sync}'`, async (t) => {
    const { world, open, settled, codeOf, values } = machine()
    world.disk.pageSize = 512
    const first = world.start()
    const options = { shared: true, sync }
    const log = await open(first, '/log', options)
    await settled(log.append('first'))
    await settled(log.sync())
    world.fault = (process, name, [fd]) => process === first && name.startsWith('write') && pathOf(first, fd) === '/log' ? 'EIO' : null
    first.tear = function (name, apply) {
      // all but the last bytes
      const { write } = this.world.disk
      this.world.disk.write = (inode, offset, data) => write.call(this.world.disk, inode, offset, data.subarray(0, -3))
      apply()
      this.world.disk.write = write
    }
    const appended = [codeOf(log.append('second')), codeOf(log.append('third'))]
    t.deepEqual([await appended[0], await appended[1]], ['EIO', 'EIO'])
    world.fault = () => null
    // what was written is there, and the truncation is not
    world.disk.random = Object.assign(() => 0, { below: (n) => n - 1, pick: (all) => all.length === 1 ? all[0] : all[all.length - 2] })
    world.cutPower()
    const again = await open(world.start(), '/log', options)
    t.deepEqual(await values(again), ['first'])
    world.end()
  })
}
