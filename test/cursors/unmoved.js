'use strict'

// A cursor whose file could not be moved to the compacted log, and calls of the system that fail when it is. On a simulated machine.

const tape = require('tape')
const { killAt, machine, valuesOf } = require('../helpers/simulator/machine')

tape('a compaction fails if the file of a cursor that nobody holds cannot say where it is since the last one', async (t) => {
  const { world, open, settled, codeOf, process: second } = await interrupted()
  const again = await open(second)
  let failures = 0
  world.fault = (process, name, [file]) => name === 'open' && file === '/log.cursor-mailer' && process === second && ++failures === 2 ? 'EIO' : null
  t.equal(await codeOf(again.compact()), 'EIO')
  world.fault = () => null
  t.deepEqual(await settled(valuesOf(again.cursor('mailer'))).catch(err => err.code), ['1', '2'])
  t.deepEqual(world.problems, [])
  world.end()
})

for (const isClosed of [false, true]) {
  tape(`a cursor of which the offset map could not be read can be opened again${isClosed ? ' when it is closed' : ''}`, async (t) => {
    const { world, open, settled, process } = await interrupted()
    const again = await open(process)
    let failures = 0
    world.fault = (caller, name, [file]) => name === 'open' && String(file).endsWith('.offset-map') && ++failures === 1 ? 'EIO' : null
    const failing = again.cursor('mailer')
    t.equal(await settled(valuesOf(failing)).catch(err => err.code), 'EIO')
    if (isClosed) await settled(failing.close())
    t.deepEqual(await settled(valuesOf(again.cursor('mailer'))).catch(err => err.code), ['1', '2'])
    world.end()
  })
}

tape('a compaction does not fail for a cursor that another process holds, and that this one tries to open', async (t) => {
  const { world, open, settled, codeOf } = machine()
  const log = await open(world.start())
  for (let i = 0; i < 3; i++) await settled(log.append(`${i}`))
  const reader = await open(world.start(), '/log', { readOnly: true })
  await settled(reader.cursor('mailer').ready())
  const ready = codeOf(log.cursor('mailer').ready())
  t.equal(await codeOf(log.compact()), 'ok')
  t.equal(await ready, 'flumelog:locked')
  await world.run(() => reader.id === log.id, 1000)
  t.deepEqual(await settled(valuesOf(reader.cursor('mailer'))), ['0', '1', '2'])
  t.deepEqual(world.problems, [])
  world.end()
})

/** A log whose process was killed when it was compacted, before the file of its cursor was moved. */
async function interrupted () {
  const m = machine()
  const { world, open, settled, until } = m
  const first = world.start()
  const log = await open(first)
  const seqs = []
  for (let i = 0; i < 3; i++) seqs.push(await settled(log.append(`${i}`)))
  const cursor = log.cursor('mailer')
  await settled(cursor.commit(seqs[0], { sync: true }))
  await settled(cursor.close())
  // killed when the log was compacted, before the cursor was moved
  killAt(world, first, (name, [from, to]) => name === 'rename' && to === '/log.offset-map')
  log.compact().catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  return { ...m, process: world.start() }
}
