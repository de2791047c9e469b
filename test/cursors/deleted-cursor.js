'use strict'

// A cursor that another process deletes while the log is compacted. On a simulated machine.

const tape = require('tape')
const { machine, pathOf } = require('../helpers/simulator/machine')

tape('a cursor that is deleted while the log is compacted does not come back', async (t) => {
  const { world, open, settled, until, codeOf } = machine()
  const process = world.start()
  const log = await open(process)
  const seqs = []
  for (let i = 0; i < 4; i++) seqs.push(await settled(log.append(`${i}`)))
  for (const name of ['first', 'second']) {
    await settled(log.cursor(name).commit(seqs[1]))
    await settled(log.cursor(name).close())
  }
  const { latency } = world
  let isMoving = false
  world.fault = (caller, name, [file]) => {
    if (caller !== process || isMoving || name !== 'fdatasync' || pathOf(process, file) !== '/log.cursor-first') return null
    isMoving = true
    world.latency = (kind) => kind === 'fsync' ? 1000 : latency.call(world, kind)
    return null
  }
  const compacted = codeOf(log.compact())
  await until(() => isMoving)
  world.latency = latency
  const { deleteCursor } = world.start().require('./lib/cursors/cursor-file')
  t.ok(await settled(deleteCursor('/log.cursor-second', '/log.cursor-second', 'second')))
  t.equal(await compacted, 'ok')
  t.deepEqual((await settled(log.cursors())).map(({ name }) => name), ['first'])
  t.deepEqual(world.problems, [])
  world.end()
})
