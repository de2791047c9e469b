'use strict'

// A cursor that a reader has moved on in a compacted log, before the process that compacts it goes on there itself. On a simulated machine.

const tape = require('tape')
const { machine, valuesOf } = require('../helpers/simulator/machine')

tape('a cursor that was committed in the compacted log is read by the process that compacts it when that has moved there', async (t) => {
  const { world, open, settled, until } = machine()
  const process = world.start()
  const log = await open(process)
  const seqs = []
  for (let i = 0; i < 4; i++) seqs.push(await settled(log.append(`${i}`)))
  await settled(log.cursor('mailer').commit(seqs[0]))
  await settled(log.cursor('mailer').close())
  const reader = await open(world.start(), '/log', { readOnly: true })
  const { latency } = world
  let isRenamed = false
  world.fault = (caller, name, [from]) => {
    if (caller !== process) return null
    // the fsync of the directory takes long
    if (isRenamed && name === 'fsync') world.latency = (kind) => kind === 'fsync' ? 5000 : latency.call(world, kind)
    isRenamed ||= name === 'rename' && from === '/log.unfinished'
    return null
  }
  const compacted = log.compact()
  await until(() => reader.id !== log.id)
  world.fault = () => null
  world.latency = latency
  const cursor = reader.cursor('mailer')
  await settled(cursor.ready())
  const { value: { seq, value } } = await settled(cursor.stream().next())
  t.equal(String(value), '1')
  await settled(cursor.commit(seq))
  await settled(cursor.close())
  t.notEqual(reader.id, log.id)
  t.deepEqual(await settled(valuesOf(log.cursor('mailer'))).catch(err => err.code), ['2', '3'])
  await settled(compacted)
  t.equal(reader.id, log.id)
  t.deepEqual(world.problems, [])
  world.end()
})
