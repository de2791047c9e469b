'use strict'

// A cursor that is closed while a stream of it is being opened. On a simulated machine.

const tape = require('tape')
const { machine, pathOf } = require('../helpers/simulator/machine')

tape('closing a cursor ends a stream that is being opened', async (t) => {
  const { world, open, settled, until, codeOf } = machine()
  const process = world.start()
  const log = await open(process, '/log', { blockSize: 64, cacheSize: 0 })
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(await settled(log.append(`record ${i}`)))
  await settled(log.cursor('mailer').commit(seqs[2]))
  await settled(log.cursor('mailer').close())
  const cursor = log.cursor('mailer')
  await settled(cursor.ready())
  // the record at the position is read by a call that takes a while
  let reads = 0
  world.fault = (caller, name, [fd]) => name.startsWith('read') && pathOf(process, fd) === '/log' && ++reads === 1 ? 'EIO' : null
  const first = codeOf(cursor.stream({ live: true }).next())
  await until(() => reads > 0)
  await settled(cursor.close())
  t.equal(await first, 'flumelog:closed')
  t.equal(log.stats().streams, 0)
  t.deepEqual(world.problems, [])
  world.end()
})
