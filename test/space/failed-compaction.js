'use strict'

// What a compaction leaves that has failed. On a simulated machine.

const tape = require('tape')
const { machine, pathOf } = require('../helpers/simulator/machine')

tape('a log that was replaced is noticed, also after a compaction that has failed', async (t) => {
  const { world, open, settled, codeOf } = machine()
  const first = world.start()
  const log = await open(first)
  await settled(log.append('first'))
  let number = 0
  world.fault = (process, name, [from, to]) => {
    if (name !== 'rename' || to !== '/log') return null
    number = world.disk.find('/log.unfinished', 'test').number
    return 'EIO'
  }
  t.equal(await codeOf(log.compact()), 'EIO')
  world.fault = () => null
  t.notOk(world.disk.root.entries.has('log.unfinished'))
  // a file system gives the number of a file that is gone to the next one
  const second = world.start()
  const inodes = world.disk.inodes
  world.disk.inodes = number - 1
  second.calls.writeFile('/other', 'x')
  world.disk.inodes = inodes
  second.calls.rename('/other', '/log')
  t.equal(await codeOf(log.append('second')), 'flumelog:replaced')
  world.end()
})

tape('a compaction that fails keeps no file open', async (t) => {
  const { world, open, settled, codeOf } = machine()
  const first = world.start()
  const log = await open(first)
  await settled(log.append('first'))
  const before = first.calls.files.size
  for (const [call, file] of [['writev', '/log.unfinished'], ['writev', '/log.unfinished.offset-map'], ['fdatasync', '/log.unfinished'], ['fdatasync', '/log.unfinished.offset-map'], ['rename', '/log.unfinished'], ['open', '/log.unfinished']]) {
    world.fault = (process, name, [where]) => name === call && (typeof where === 'number' ? pathOf(process, where) : where) === file ? 'ENOSPC' : null
    t.equal(await codeOf(log.compact()), 'ENOSPC', `${call} ${file}`)
    world.fault = () => null
    await world.run(() => false, 50)
    t.equal(first.calls.files.size, before, [...first.calls.files.values()].map(f => f.path).join(' '))
  }
  t.equal(await codeOf(log.compact()), 'ok')
  t.deepEqual(world.problems, [])
  world.end()
})

tape('a compaction keeps no offset map open because it cannot read one', async (t) => {
  const { world, open, settled, codeOf } = machine()
  const first = world.start()
  const log = await open(first)
  await settled(log.append('first'))
  await settled(log.compact())
  await world.run(() => false, 50)
  const before = first.calls.files.size
  for (const [call, file, expected] of [['open', '/log.offset-map', 'ok'], ['read', '/log.offset-map', 'ok'], ['fstat', '/log.unfinished.offset-map', 'ok'], ['read', '/log.unfinished.offset-map', 'EIO']]) {
    world.fault = (process, name, [where]) => name === call && pathOf(process, where) === file ? 'EIO' : null
    t.equal(await codeOf(log.compact()), expected, `${call} ${file}`)
    world.fault = () => null
    await world.run(() => false, 50)
    t.equal(first.calls.files.size, before, [...first.calls.files.values()].map(({ path }) => path).join(' '))
  }
  await settled(log.close())
  t.equal(first.calls.files.size, 0)
  t.deepEqual(world.problems, [])
  world.end()
})

tape('an offset map that cannot be read is replaced by that of the next compaction, and keeps no log from being opened', async (t) => {
  const { world, open, settled, codeOf, values } = machine()
  const first = world.start()
  const log = await open(first)
  await settled(log.append('first'))
  await settled(log.compact())
  world.fault = (process, name, [where]) => name === 'read' && pathOf(process, where) === '/log.offset-map' ? 'EIO' : null
  const { id } = await settled(log.compact())
  await settled(log.close())
  const second = world.start()
  const again = await open(second)
  t.deepEqual(await values(again), ['first'])
  t.equal(await codeOf(again.compact()), 'ok', 'it can be compacted, too')
  await settled(again.close())
  world.fault = () => null
  const map = await settled(second.require('./maintenance').openOffsetMap('/log'))
  t.equal(map.previousId, id)
  await settled(map.close())
  world.end()
})

for (const [what, most] of [['one call', 1], ['all calls from one on', Infinity]]) {
  tape(`if ${what} after the rename of a compaction fails, what is acknowledged then is in the log, every call is answered, and no file stays open`, async (t) => {
    let isLast = false
    for (let number = 1; !isLast; number++) {
      const { world, open, codeOf, settled, values } = machine()
      const first = world.start()
      const log = await open(first)
      await settled(log.append('first'))
      await settled(log.compact())
      let calls = 0
      world.fault = (process, name, [where]) => {
        if (calls === 0 && (name !== 'rename' || where !== '/log.unfinished')) return null
        const since = calls++ - number
        if (since < 0 || since >= most) return null
        // as on Linux, it is closed all the same
        if (name === 'close') process.calls.close(where)
        return 'EIO'
      }
      await codeOf(log.compact())
      isLast = calls <= number
      world.fault = () => null
      const code = await codeOf(log.append('second'))
      await codeOf(log.drained())
      await codeOf(log.close())
      await world.run(() => false, 50)
      t.equal(first.calls.files.size, 0, `call ${number}`)
      const again = await open(world.start())
      t.deepEqual(await values(again), code === 'ok' ? ['first', 'second'] : ['first'], `call ${number}: ${code}`)
      await settled(again.close())
      t.deepEqual(world.problems, [])
      world.end()
    }
  })
}
