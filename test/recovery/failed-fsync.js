'use strict'

// A log whose fsync has failed, on a simulated disk that then counts the pages as written, as Linux does.

const tape = require('tape')
const { loseUnsynced, settled, until } = require('../helpers/simulator/settled')
const { World } = require('../helpers/simulator/world')

const SEEDS = 20

tape('a power cut takes nothing that was durable when a log was opened again after a failed fsync', async (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const world = new World(seed)
    const open = (process) => settled(world, process.require('./promises').open('/log', { blockSize: 512, sync: 'always' }))
    const first = world.start()
    const log = await open(first)
    await settled(world, log.append('durable'))
    world.fault = (process, name) => process === first && name === 'fdatasync' ? 'EIO' : null
    const err = await settled(world, log.append('written')).catch(err => err)
    t.equal(err.code, 'flumelog:failed')
    world.kill(first)
    const found = await open(world.start())
    await settled(world, found.sync())
    const before = await settled(world, collect(found))
    world.cutPower()
    const after = await settled(world, collect(await open(world.start())))
    t.deepEqual(after, before, `seed ${seed}`)
    t.equal(after[0], 'durable')
  }
})

for (const isReplaced of [false, true]) {
  tape(`a trim whose fsync has failed is durable before the next opening frees its blocks${isReplaced ? ', also if FILE.meta was replaced since' : ''}`, async (t) => {
    const world = new World(1)
    const open = (process) => settled(world, process.require('./promises').open('/log', { blockSize: 512, sync: 'always' }))
    const first = world.start()
    const log = await open(first)
    const seqs = []
    for (let i = 0; i < 10; i++) seqs.push(await settled(world, log.append(`${i}`.padEnd(200))))
    world.fault = (process, name) => process === first && name === 'fdatasync' ? 'EIO' : null
    const trimmed = () => settled(world, log.trim({ lt: seqs[6] })).catch(err => err)
    t.equal((await trimmed()).code, 'EIO')
    if (isReplaced) {
      // of the directory
      world.fault = (process, name) => process === first && name === 'fsync' ? 'EIO' : null
      t.equal((await trimmed()).code, 'EIO')
    }
    world.kill(first)
    const second = world.start()
    // it frees the blocks, and is interrupted before it has noted that
    world.fault = (process, name, [filename]) => process === second && name === 'open' && filename === '/log.meta.new' ? 'ENOSPC' : null
    const found = await settled(world, collect(await open(second)))
    t.ok(found[0].startsWith('6'))
    loseUnsynced(world)
    t.deepEqual(await settled(world, collect(await open(world.start()))), found)
  })
}

for (const isReopened of [false, true]) {
  tape(`a power cut takes no commit of a cursor that was fsynced after a failed fsync${isReopened ? ', by another process' : ''}`, async (t) => {
    const world = new World(1)
    const open = (process) => settled(world, process.require('./promises').open('/log', { blockSize: 512, sync: 'never' }))
    const commit = (cursor, seq) => settled(world, cursor.commit(seq, { sync: true }))
    const first = world.start()
    const log = await open(first)
    const seqs = []
    for (let i = 0; i < 3; i++) seqs.push(await settled(world, log.append(`${i}`)))
    await settled(world, log.sync())
    const cursor = log.cursor('mailer')
    await commit(cursor, seqs[0])
    world.fault = (process, name) => name === 'fdatasync' ? 'EIO' : null
    const err = await commit(cursor, seqs[1]).catch(err => err)
    t.equal(err.code, 'EIO')
    world.fault = () => null
    if (isReopened) world.kill(first)
    const other = isReopened ? (await open(world.start())).cursor('mailer') : cursor
    await commit(other, seqs[1])
    // not durable: it takes the place of the line before
    await settled(world, other.commit(seqs[2]))
    loseUnsynced(world)
    const [found] = await settled(world, (await open(world.start())).cursors())
    t.equal(found.seq, seqs[1])
  })
}

tape('a power cut in a compaction takes no cursor of which an fsync had failed after the compaction before, in a process that was killed', async (t) => {
  const world = new World(1)
  world.slowness = 0
  const open = (process) => settled(world, process.require('./promises').open('/log', { shared: true, sync: 'never' }))
  const [first, second] = [world.start(), world.start()]
  const owner = await open(first)
  const client = await open(second)
  const seq = await settled(world, client.append('first'))
  await settled(world, client.append('second'))
  await settled(world, client.cursor('mailer').commit(seq, { sync: true }))
  let failures = 0
  world.fault = (process, name, [fd]) => {
    if (process !== second || name !== 'fdatasync' || !process.calls.files.get(fd)?.path.startsWith('/log.cursor-')) return null
    failures++
    return 'EIO'
  }
  const { id } = await settled(world, owner.compact())
  await until(world, () => failures > 0)
  await world.run(() => false, 50)
  world.kill(second)
  let isCut = false
  world.fault = (process, name, [filename]) => {
    if (process === first && name === 'open' && String(filename).startsWith('/log.cursor-') && owner.id !== id) isCut = true
    return null
  }
  owner.compact().catch(() => {})
  await until(world, () => isCut)
  loseUnsynced(world)
  const cursor = (await open(world.start())).cursor('mailer')
  t.deepEqual(await settled(world, collect(cursor)), ['second'])
})

async function collect (log) {
  const records = []
  for await (const { value } of log.stream()) records.push(String(value))
  return records
}
