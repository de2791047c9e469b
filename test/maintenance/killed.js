'use strict'

// What a process that was killed in a restore, a backup, a repair, an import or a compaction leaves to the next ones, and to a power cut. On a simulated
// machine.

const tape = require('tape')
const { keepNames, killAt, machine, pathOf } = require('../helpers/simulator/machine')
const { loseUnsynced } = require('../helpers/simulator/settled')

/** So many that what FILE.meta says of them does not fit into the room that it keeps for a full disk. */
const CLIENTS = 92

/** A log, and a backup of another one; both were compacted. */
async function prepared () {
  const m = machine()
  const { world } = m
  const process = world.start()
  const ids = []
  for (const name of ['/log', '/other']) {
    const log = await m.open(process, name)
    for (let i = 0; i < 10; i++) await m.settled(log.append(`${name} ${i}`.repeat(Math.ceil(200 / name.length)).slice(0, 200)))
    await m.settled(log.compact())
    if (name === '/other') await m.settled(log.backup('/backup'))
    ids.push(log.flumelog.id)
    await m.settled(log.close())
  }
  return { world, ...m, ids }
}

for (const appends of [false, true]) {
  tape(`a power cut ${appends ? 'while FILE.meta is replaced' : 'when the log was opened'} after a restore that was killed leaves a log with its id and offset map`, async (t) => {
    const { world, open, settled, until, values, ids } = await prepared()
    const first = world.start()
    killAt(world, first, (name) => name === 'fsync' && !world.disk.root.entries.has('log.unfinished'))
    let isStarted = false
    const { fault } = world
    world.fault = (caller, name, args) => {
      isStarted ||= world.disk.root.entries.has('log.unfinished')
      return isStarted ? fault(caller, name, args) : null
    }
    first.require('./maintenance').restore('/backup', '/log', { force: true }).catch(() => {})
    await until(() => !first.isAlive)
    world.fault = () => null
    const second = world.start()
    const log = await open(second)
    t.equal(log.flumelog.id, ids[1], 'the new log')
    if (appends) {
      let isReplaced = false
      world.fault = (caller, name) => {
        if (name === 'fsync') isReplaced = true
        return name === 'fsync' ? 'EIO' : null
      }
      log.append('more').then(() => { isReplaced = true }, () => {})
      await until(() => isReplaced)
    }
    keepNames(world, 'log.meta', 'log.offset-map')
    loseUnsynced(world)
    world.fault = () => null
    const third = world.start()
    const found = await open(third)
    const isNew = (await values(found))[0].startsWith('/other')
    t.equal(found.flumelog.id, ids[isNew ? 1 : 0], `the ${isNew ? 'new' : 'old'} log has its id`)
    const map = await settled(third.require('./maintenance').openOffsetMap('/log'))
    t.equal(map?.id, ids[isNew ? 1 : 0], 'and its map')
    world.end()
  })
}

tape('a power cut takes no deletion that was durable in a log whose restore was killed before FILE.meta had a durable name', async (t) => {
  const { world, open, settled, until, values, ids } = await prepared()
  const first = world.start()
  // the last snapshot of FILE.meta: after the log has its name
  let isIn = false
  let isThere = false
  killAt(world, first, (name, [from, to]) => {
    isThere ||= world.disk.root.entries.has('log.unfinished')
    if (isThere && !world.disk.root.entries.has('log.unfinished') && name === 'rename' && to === '/log.meta') isIn = true
    return isIn && name === 'fsync'
  })
  first.require('./maintenance').restore('/backup', '/log', { force: true }).catch(() => {})
  await until(() => !first.isAlive)
  t.ok(isIn)
  world.fault = () => null
  const log = await open(world.start())
  t.equal(log.flumelog.id, ids[1])
  const records = []
  await settled((async () => { for await (const record of log.stream()) records.push(record) })())
  await settled(log.del(records[3].seq))
  await settled(log.del(records[5].seq))
  const before = await values(log)
  loseUnsynced(world)
  t.deepEqual(await values(await open(world.start())), before, 'what was acknowledged as durable is so')
  world.end()
})

tape('a power cut takes no append that was durable in a log whose restore was killed before it had a durable name', async (t) => {
  const { world, open, settled, until, values } = await prepared()
  const first = world.start()
  killAt(world, first, (name) => name === 'fsync' && world.disk.root.entries.has('new'))
  first.require('./maintenance').restore('/backup', '/new', {}).catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const log = await open(world.start(), '/new')
  await settled(log.append('more'))
  const before = await values(log)
  t.equal(before.length, 11)
  loseUnsynced(world)
  const found = await open(world.start(), '/new')
  t.deepEqual((await values(found)).length, before.length)
  world.end()
})

tape('a restore that is killed leaves the log its offset map, also if a compaction was killed before that had its name', async (t) => {
  const { world, open, settled, until, ids } = await prepared()
  const first = world.start()
  const log = await open(first)
  killAt(world, first, (name, [from, to]) => name === 'rename' && to === '/log.offset-map')
  log.compact().catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const second = world.start()
  killAt(world, second, (name, [fd]) => name === 'fdatasync' && pathOf(second, fd) === '/log.unfinished.offset-map')
  second.require('./maintenance').restore('/backup', '/log', { force: true }).catch(() => {})
  await until(() => !second.isAlive)
  world.fault = () => null
  const third = world.start()
  const found = await open(third)
  t.notOk(ids.includes(found.flumelog.id), 'compacted')
  const map = await settled(third.require('./maintenance').openOffsetMap('/log'))
  t.equal(map?.id, found.flumelog.id, 'the log has its map')
  world.end()
})

tape('a restore of an empty backup that is killed before the log is replaced leaves the log its id and offset map', async (t) => {
  const { world, open, settled, until, values, ids } = await prepared()
  const first = world.start()
  const empty = await open(first, '/empty')
  await settled(empty.backup('/empty-backup'))
  await settled(empty.close())
  killAt(world, first, (name, [from, to]) => name === 'rename' && to === '/log')
  first.require('./maintenance').restore('/empty-backup', '/log', { force: true }).catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const second = world.start()
  const log = await open(second)
  t.equal((await values(log)).length, 10)
  t.equal(log.flumelog.id, ids[0])
  t.equal((await settled(second.require('./maintenance').openOffsetMap('/log')))?.id, ids[0])
  world.end()
})

tape('a log that is restored from an empty backup has the block size of the log that was backed up', async (t) => {
  const { world, open, settled } = await prepared()
  const process = world.start()
  const empty = await open(process, '/empty')
  await settled(empty.backup('/empty-backup'))
  await settled(process.require('./maintenance').restore('/empty-backup', '/restored'))
  const restored = await settled(process.require('./promises').open('/restored'))
  t.equal(restored.blockSize, 512)
  world.end()
})

tape('a power cut takes no append that was durable in an imported log whose import was killed before it had a durable name', async (t) => {
  const { world, open, settled, until, values } = await prepared()
  const first = world.start()
  const imported = await open(first, '/new.importing')
  await settled(imported.append('imported'))
  await settled(imported.close())
  killAt(world, first, (name) => name === 'fsync' && world.disk.root.entries.has('new'))
  first.require('./lib/blocks/files').placeFile('/new.importing', '/new', { given: '/new', like: first.calls.stat('/new.importing') }).catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const log = await open(world.start(), '/new')
  await settled(log.append('more'))
  t.deepEqual(await values(log), ['imported', 'more'])
  loseUnsynced(world)
  t.deepEqual(await values(await open(world.start(), '/new')), ['imported', 'more'])
  world.end()
})

async function withRecords () {
  const m = machine()
  const { world } = m
  const process = world.start()
  const log = await m.open(process)
  const seqs = []
  for (let i = 0; i < 4; i++) seqs.push(await m.settled(log.append(`${i}.`.repeat(100))))
  return { world, ...m, log, process, seqs }
}

tape('a backup that finds nothing new makes durable what an earlier one could not', async (t) => {
  const { world, settled, values, log, process } = await withRecords()
  await settled(log.backup('/backup'))
  const seqs = []
  for (let i = 4; i < 10; i++) seqs.push(await settled(log.append(`${i}.`.repeat(100))))
  await settled(log.del(seqs[4]))
  let meta = 0
  world.fault = (caller, name, [fd]) => {
    // the second one of FILE.meta: that it is closed
    if (name !== 'fdatasync' || pathOf(process, fd) !== '/backup.meta.new') return null
    return ++meta === 2 ? 'EIO' : null
  }
  const err = await settled(log.backup('/backup')).then(() => null, err => err)
  t.equal(err?.code, 'EIO')
  world.fault = () => null
  const result = await settled(log.backup('/backup'))
  t.equal(result.copied, 0)
  const before = await values(log)
  loseUnsynced(world)
  const last = world.start()
  await settled(last.require('./maintenance').restore('/backup', '/restored', {}))
  const restored = await values(await settled(last.require('./promises').open('/restored', { blockSize: 512 })))
  t.equal(restored.length, before.length)
  world.end()
})

tape('a backup that finds nothing new makes durable the name of one that was killed', async (t) => {
  const { world, open, settled, until, log } = await withRecords()
  await settled(log.close())
  const first = world.start()
  const again = await open(first)
  killAt(world, first, (name) => name === 'fsync' && world.disk.root.entries.has('backup'))
  again.backup('/backup').catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const second = await open(world.start())
  await settled(second.backup('/backup'))
  loseUnsynced(world)
  t.ok(world.disk.root.entries.has('backup'), 'the backup is there')
  world.end()
})

tape('a backup that finds nothing new makes durable that one which was killed has replaced another', async (t) => {
  const { world, open, settled, until, values, log, seqs } = await withRecords()
  await settled(log.backup('/backup'))
  await settled(log.del(seqs[1]))
  await settled(log.append('new'))
  await settled(log.close())
  const first = world.start()
  const again = await open(first)
  let isThere = false
  killAt(world, first, (name) => {
    isThere ||= world.disk.root.entries.has('backup.unfinished')
    return name === 'fsync' && isThere && !world.disk.root.entries.has('backup.unfinished')
  })
  again.backup('/backup').catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const second = await open(world.start())
  await settled(second.backup('/backup'))
  const before = await values(second)
  loseUnsynced(world)
  const found = await settled(world.start().require('./promises').open('/backup', { blockSize: 512, readOnly: true }))
  t.deepEqual((await values(found)).map(value => value.trim()), before.map(value => value.trim()))
  world.end()
})

tape('a kill takes no deletion after a compaction at whose end the disk was full', async (t) => {
  const { world, open, settled, values } = machine()
  const options = { shared: true, sync: 'interval' }
  const process = world.start()
  const owner = await open(process, '/log', options)
  for (let i = 0; i < 10; i++) await settled(owner.append(`${i}.`.repeat(100)))
  // FILE.meta knows so many clients
  for (let i = 0; i < CLIENTS; i++) {
    const client = world.start()
    await open(client, '/log', options)
    world.kill(client)
  }
  world.fault = (caller, name, [from, to]) => {
    if (name === 'rename' && to === '/log') world.disk.capacity = world.disk.used
    return null
  }
  await settled(owner.compact())
  world.fault = () => null
  const records = []
  await settled((async () => { for await (const record of owner.stream()) records.push(record) })())
  const isDeleted = await settled(owner.del(records[3].seq)).then(() => true, () => false)
  t.equal((await values(owner)).length, isDeleted ? 9 : 10)
  world.kill(process)
  world.disk.capacity = Infinity
  t.equal((await values(await open(world.start(), '/log', options))).length, isDeleted ? 9 : 10, 'a kill takes no deletion')
  world.end()
})

tape('a power cut in a repair in place takes no trim whose fsync had failed before', async (t) => {
  const { world, open, settled, until } = machine()
  const first = world.start()
  const log = await open(first)
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(await settled(log.append(`${i}.`.repeat(100).slice(0, 200))))
  world.fault = (process, name) => process === first && name === 'fdatasync' ? 'EIO' : null
  t.equal(await settled(log.trim({ lt: seqs[6] }).catch(err => err.code)), 'EIO')
  world.kill(first)
  // one block is corrupt
  const { content } = world.disk.find('/log', 'test')
  content.write(8 * 512 + 30, Buffer.from('?'), world.disk.pageSize)
  content.sync(content.state())
  const report = await settled(world.start().require('./maintenance').verify('/log'))
  t.deepEqual(report.ranges.map(({ kind, start, end }) => [kind, start, end]), [['corrupt', 8 * 512, 9 * 512]])
  const second = world.start()
  killAt(world, second, (name) => name === 'link')
  second.require('./maintenance').repair('/log', { inPlace: true }).catch(() => {})
  await until(() => !second.isAlive)
  world.fault = () => null
  loseUnsynced(world)
  const after = await settled(world.start().require('./maintenance').verify('/log'))
  t.deepEqual(after.ranges.map(({ kind, start, end }) => [kind, start, end]), [['corrupt', 8 * 512, 9 * 512]])
  world.end()
})

tape('a log is a prefix after a power cut, and a repair in place that was killed before its rename', async (t) => {
  const { world, open, settled, until } = machine()
  world.disk.pageSize = 512
  const first = world.start()
  let log = await open(first, '/log', { sync: 'never' })
  const text = (i) => `${i}.`.repeat(100).slice(0, 200)
  for (let i = 0; i < 8; i++) await settled(log.append(text(i)))
  // the recovery point is where it ends
  await settled(log.close())
  log = await open(first, '/log', { sync: 'never' })
  const { content } = world.disk.find('/log', 'test')
  for (let i = 8; i < 20; i++) await settled(log.append(text(i)))
  // bit rot in the second block
  content.write(1 * 512 + 30, Buffer.from('?'), world.disk.pageSize)
  // all is left but block 6 (12, 13)
  const { random } = world.disk
  const versionsOf6 = content.pages.get(6)
  world.disk.random = Object.assign(() => 0, { below: (n) => n - 1, pick: (all) => all === versionsOf6 ? all[0] : all[all.length - 1] })
  world.cutPower()
  world.disk.random = random
  const second = world.start()
  killAt(world, second, (name, [from, to]) => name === 'rename' && to === '/log')
  second.require('./maintenance').repair('/log', { inPlace: true }).catch(() => {})
  await until(() => !second.isAlive)
  world.fault = () => null
  const again = await open(world.start())
  const all = []
  await settled((async () => { for await (const { value } of again.stream({ gte: 1024 })) all.push(Number.parseInt(value)) })())
  t.deepEqual(all, [4, 5, 6, 7, 8, 9, 10, 11])
  world.end()
})

for (const readOnly of [false, true]) {
  tape(`a backup that was interrupted has all of an atomic batch or nothing, opened ${readOnly ? 'for reading' : 'for writing'}`, async (t) => {
    const { world, open, settled, until, values } = machine(1)
    const first = world.start()
    const options = { blockSize: 65536 }
    const log = await open(first, '/log', options)
    await settled(log.append('first'))
    await settled(log.backup('/backup'))
    await settled(log.append(Array.from({ length: 20 }, (_, i) => `batch ${i} `.repeat(100)), { atomic: true }))
    await settled(log.append('last'))
    // killed in the middle of the write
    killAt(world, first, (name, [fd]) => (name === 'write' || name === 'writev') && pathOf(first, fd) === '/backup')
    first.tear = function (name, apply) {
      if (!/write/.test(name)) return
      const { write } = this.calls
      this.calls.write = (fd, data, offset, length, position) => write.call(this.calls, fd, data, offset, 8192 - position, position)
      apply()
      this.calls.write = write
    }
    log.backup('/backup').catch(() => {})
    await until(() => !first.isAlive)
    world.fault = () => null
    const backup = await open(world.start(), '/backup', { ...options, readOnly })
    const found = (await values(backup)).map(value => value.slice(0, 8).trim())
    t.deepEqual(found, ['first'])
    world.end()
  })
}

tape('a backup whose temporary name cannot be removed is one', async (t) => {
  const { world, open, settled, codeOf, ids } = await prepared()
  const process = world.start()
  const log = await open(process)
  world.fault = (caller, name, [path]) => name === 'unlink' && path.startsWith('/new') ? 'EIO' : null
  t.equal(await codeOf(log.backup('/new')), 'ok')
  world.fault = () => null
  const backup = await open(world.start(), '/new', { readOnly: true })
  t.equal(backup.flumelog.id, ids[0])
  await settled(backup.close())
  t.equal(await codeOf(log.backup('/new', { full: true })), 'ok', 'the next one removes that name')
  t.notOk(world.disk.root.entries.has('new.unfinished'))
  world.end()
})

tape('a restore that was killed when the log had both of its names can be repeated', async (t) => {
  const { world, open, until, codeOf, ids } = await prepared()
  const first = world.start()
  killAt(world, first, (name) => name === 'unlink' && world.disk.root.entries.has('new'))
  first.require('./maintenance').restore('/backup', '/new').catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const second = world.start()
  t.equal(await codeOf(second.require('./maintenance').restore('/backup', '/new', { force: true })), 'ok')
  t.equal((await open(second, '/new')).flumelog.id, ids[1])
  world.end()
})

tape('a restore that finds another log under the name leaves it its FILE.meta', async (t) => {
  const { world, open, settled, values, codeOf } = await prepared()
  const process = world.start()
  let other = null
  // it comes when the FILE.meta of what is restored is there
  const { callLater } = process
  process.callLater = function (call, args, apply, cb) {
    if (call !== 'link') return callLater.call(this, call, args, apply, cb)
    other ??= create()
    other.then(() => callLater.call(this, call, args, apply, cb))
  }
  const owner = world.start()
  const create = async () => {
    const log = await owner.require('./promises').open('/new', { blockSize: 512, sync: 'always' })
    await log.append('other')
    await log.compact()
    return log
  }
  t.equal(await codeOf(process.require('./maintenance').restore('/backup', '/new')), 'EEXIST')
  const log = await settled(other)
  const { id } = log.flumelog
  world.kill(owner)
  const again = await open(world.start(), '/new')
  t.equal(again.flumelog.id, id)
  t.deepEqual(await values(again), ['other'])
  world.end()
})

tape('a restored log that cannot lose its name again, though its directory could not be fsynced, has its id and offset map', async (t) => {
  const { world, open, settled, codeOf, ids } = await prepared()
  const process = world.start()
  world.fault = (caller, name) => world.disk.root.entries.has('new') && (name === 'fsync' || name === 'unlink') ? 'EIO' : null
  t.equal(await codeOf(process.require('./maintenance').restore('/backup', '/new')), 'EIO')
  world.fault = () => null
  t.equal((await open(process, '/new')).flumelog.id, ids[1])
  t.equal((await settled(process.require('./maintenance').openOffsetMap('/new')))?.id, ids[1])
  world.end()
})

tape('a backup of an empty log that a reader was killed in can be made again', async (t) => {
  const { world, open, settled, until, values } = machine()
  // it has no FILE.meta yet, and so nothing that says of which log a backup is
  const first = world.start()
  await open(first)
  world.kill(first)
  for (const isKilled of [false, true]) {
    const reader = world.start()
    const log = await open(reader, '/log', { readOnly: true })
    if (isKilled) killAt(world, reader, () => String(world.disk.find('/backup.meta', 'test').content.bytes).includes('"closed":false'))
    const done = log.backup('/backup')
    if (isKilled) {
      done.catch(() => {})
      await until(() => !reader.isAlive)
    } else await settled(done)
  }
  world.fault = () => null
  const writer = await open(world.start())
  await settled(writer.append('one'))
  await settled(writer.backup('/backup'))
  t.deepEqual(await values(await open(world.start(), '/backup', { readOnly: true })), ['one'])
  world.end()
})

for (const most of [1, 2]) {
  tape(`a backup whose name was taken back, since it could not be made durable, has its id if a power cut brings it back, after ${most} failed fsync${most === 1 ? '' : 's'}`, async (t) => {
    const { world, open, codeOf, ids } = await prepared()
    const { root } = world.disk
    const process = world.start()
    const log = await open(process)
    let failures = 0
    world.fault = (caller, name) => name === 'fsync' && (root.entries.has('new') || failures > 0) && failures++ < most ? 'EIO' : null
    t.equal(await codeOf(log.backup('/new')), 'EIO')
    t.notOk(root.entries.has('new'), 'it is taken back')
    for (const names of root.changes) {
      for (const [name, inode] of Object.entries(names)) {
        if (inode !== null) root.durable.set(name, inode)
        // all but the end of its name
        else if (name !== 'new') root.durable.delete(name)
      }
    }
    root.changes = []
    loseUnsynced(world)
    const isBack = root.entries.has('new')
    t.equal(isBack, most === 2)
    if (isBack) t.equal((await open(world.start(), '/new', { readOnly: true })).flumelog.id, ids[0])
    t.equal(root.entries.has('new.meta'), isBack, 'no file is left over')
    world.end()
  })
}

tape('a repair in place that was killed leaves no file when it is repeated', async (t) => {
  const { world, settled, until, codeOf } = await prepared()
  const { root } = world.disk
  const before = [...root.entries.keys()]
  const first = world.start()
  const { start } = await settled(first.require('./maintenance').verify('/log'))
  world.disk.find('/log', 'test').content.write(start + 30, Buffer.from('?'), world.disk.pageSize)
  killAt(world, first, (name, [from]) => name === 'rename' && from === '/log.unfinished')
  first.require('./maintenance').repair('/log', { inPlace: true }).catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const second = world.start()
  t.equal(await codeOf(second.require('./maintenance').repair('/log', { inPlace: true })), 'ok')
  t.deepEqual([...root.entries.keys()].sort(), [...before, 'log.corrupt', 'log.corrupt.meta', 'log.corrupt.offset-map'].sort())
  t.ok((await settled(second.require('./maintenance').verify('/log'))).valid)
  t.notOk((await settled(second.require('./maintenance').verify('/log.corrupt'))).valid)
  world.end()
})

tape('a log whose own backup was being restored, and that was opened after that was killed, keeps its offset map in a power cut', async (t) => {
  const { world, open, settled, until, ids } = await prepared()
  const backedUp = await open(world.start())
  await settled(backedUp.backup('/own'))
  await settled(backedUp.close())
  const first = world.start()
  killAt(world, first, (name, [where]) => name === 'fdatasync' && pathOf(first, where) === '/log.unfinished.offset-map')
  first.require('./maintenance').restore('/own', '/log', { force: true }).catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const second = world.start()
  await settled((await open(second)).close())
  keepNames(world, 'log.offset-map', 'log.unfinished.offset-map')
  loseUnsynced(world)
  const third = world.start()
  const map = await settled(third.require('./maintenance').openOffsetMap('/log'))
  t.equal(map?.id, ids[0])
  t.equal((await open(third)).flumelog.id, ids[0])
  world.end()
})
