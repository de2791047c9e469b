'use strict'

// A deletion of a large record that was interrupted, and is asked for again. On a simulated machine.

const tape = require('tape')
const { machine, pathOf } = require('../helpers/simulator/machine')

tape('what a repeated deletion of a large record acknowledges is not in the file any more', async (t) => {
  const { world, open, settled, codeOf } = machine()
  const first = world.start()
  const log = await open(first, '/log', { large: true })
  await settled(log.append('before'))
  const seq = await settled(log.append('secret'.repeat(400)))
  await settled(log.append('after'))
  let syncs = 0
  // the first chunk deleted durably; the next fsync of FILE.meta fails
  world.fault = (process, name, [fd]) => name === 'fdatasync' && String(pathOf(process, fd)).startsWith('/log.meta') && ++syncs === 2 ? 'EIO' : null
  t.equal(await codeOf(log.del(seq)), 'EIO')
  world.fault = () => null
  t.equal(await codeOf(log.del(seq)), 'ok')
  t.notOk(world.disk.find('/log', 'test').content.bytes.includes('secretsecret'), 'the bytes are overwritten before the acknowledgement')
  world.end()
})

tape('the same after a kill', async (t) => {
  const { world, open, settled, until, codeOf } = machine()
  const first = world.start()
  const log = await open(first, '/log', { large: true })
  await settled(log.append('before'))
  const seq = await settled(log.append('secret'.repeat(400)))
  await settled(log.append('after'))
  let isFirst = false
  world.fault = (process, name, [fd]) => {
    if (name === 'fdatasync' && String(pathOf(process, fd)).startsWith('/log.meta')) isFirst = true
    // killed when the zeros of the last chunk are there, before the others are recorded
    if (!isFirst || name !== 'write' || !String(pathOf(process, fd)).startsWith('/log.meta')) return null
    world.timeline.add(0, () => world.kill(first))
    return 'ENOSPC'
  }
  first.tear = () => {}
  log.del(seq).catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const again = await open(world.start(), '/log', { large: true })
  t.equal(await codeOf(again.del(seq)), 'ok')
  t.notOk(world.disk.find('/log', 'test').content.bytes.includes('secretsecret'), 'the bytes are overwritten before the acknowledgement')
  world.end()
})
