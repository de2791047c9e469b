'use strict'

// A cursor whose file takes long to be fsynced when it is opened, while the log is compacted. On a simulated machine.

const tape = require('tape')
const { machine, pathOf, valuesOf } = require('../helpers/simulator/machine')

for (const isNew of [false, true]) {
  tape(`a cursor ${isNew ? 'that is created' : 'of another process'} follows two compactions while its file is fsynced when it is opened`, async (t) => {
    const { world, open, settled, until } = machine()
    const log = await open(world.start())
    const seqs = []
    for (let i = 0; i < 4; i++) seqs.push(await settled(log.append(`${i}`)))
    if (!isNew) {
      await settled(log.cursor('mailer').commit(seqs[1]))
      await settled(log.cursor('mailer').close())
    }
    const process = world.start()
    const reader = await open(process, '/log', { readOnly: true })
    const { latency } = world
    let isSyncing = false
    world.fault = (caller, name, [file]) => {
      if (caller !== process || isSyncing || name !== 'fdatasync' || !pathOf(process, file).startsWith('/log.cursor-mailer')) return null
      isSyncing = true
      world.latency = (kind) => kind === 'fsync' ? 5000 : latency.call(world, kind)
      return null
    }
    let isOpen = false
    const opened = reader.cursor('mailer').ready().then(() => { isOpen = true })
    await until(() => isSyncing)
    world.latency = latency
    let wasOpen = false
    // the second one waits for the lock of the cursor; the reader follows the first meanwhile
    await settled(log.compact().then(() => log.compact()).then(() => { wasOpen = isOpen }))
    t.notOk(wasOpen)
    await settled(opened)
    await world.run(() => reader.id === log.id, 1000)
    t.deepEqual(await settled(valuesOf(reader.cursor('mailer'))).catch(err => err.code), isNew ? ['0', '1', '2', '3'] : ['2', '3'])
    await settled(reader.close())
    t.deepEqual(await settled(valuesOf(log.cursor('mailer'))).catch(err => err.code), isNew ? ['0', '1', '2', '3'] : ['2', '3'], 'its file says so')
    t.deepEqual(world.problems, [])
    world.end()
  })
}
