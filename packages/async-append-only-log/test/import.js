'use strict'

// A file of async-append-only-log in the log's place.

const fs = require('fs')
const tape = require('tape')
const { detectFormat } = require('flumelog-convert')
const { collect, openLog } = require('./helpers/open')
const { testFolder } = require('../../../test/helpers/folder')
const { makeLog } = require('../../../test/helpers/logs')
const { OLD_LOGS } = require('../../../test/helpers/old-files')
const { codeOf } = require('../../../test/helpers/reading')
const { keepNames, killAt, machine } = require('../../../test/helpers/simulator/machine')
const { loseUnsynced } = require('../../../test/helpers/simulator/settled')

const OLD = OLD_LOGS['async-append-only-log']
const RECORDS = Array.from({ length: 50 }, (_, i) => Buffer.from(`record ${i}`))

tape('a file of async-append-only-log is recognized, and left alone without the option', async (t) => {
  const file = testFolder(t)('log')
  await OLD.make(file, RECORDS)
  const before = fs.readFileSync(file)
  const log = openLog(file)
  const problem = await log.append(RECORDS[0]).then(() => null, err => err)
  t.equal(problem.code, 'flumelog:not-a-log')
  t.match(problem.message, /is a file of async-append-only-log; open it with the option import/)
  t.equal(await codeOf(log.collect()), 'flumelog:not-a-log')
  await log.close().catch(() => {})
  t.ok(fs.readFileSync(file).equals(before))
})

tape('with the option it is imported, with its deleted records in their places, and kept', async (t) => {
  const file = testFolder(t)('log')
  await OLD.make(file, RECORDS, [3, 4])
  const before = fs.readFileSync(file)
  const log = openLog(file, { import: true })
  t.deepEqual((await log.collect({ offsets: false })).map(value => value && String(value)), RECORDS.map((value, i) => i === 3 || i === 4 ? null : String(value)))
  await log.store(Buffer.from('one more'))
  await log.close()
  const kept = `${file}.async-append-only-log`
  t.ok(fs.readFileSync(kept).equals(before))
  t.equal(await detectFormat(file), 'flumelog-aligned-offset')
  const again = openLog(file)
  t.equal((await again.collect()).length, 51, 'it needs the option only once')
  await again.close()
  t.ok(fs.existsSync(kept))
  const last = openLog(file, { import: 'remove' })
  t.equal((await last.collect()).length, 51)
  await last.close()
  t.notOk(fs.existsSync(kept), 'told so, it is removed')
})

tape('an import is refused while indexes of ssb-db2 lie beside the old file, but not because of those made during it', async (t) => {
  const name = testFolder(t)
  const file = name('log.bipf')
  await OLD.make(file, RECORDS)
  const before = fs.readFileSync(file)
  for (const folder of ['jit', 'indexes']) {
    fs.mkdirSync(name(folder))
    fs.writeFileSync(`${name(folder)}/seq.index`, 'offsets')
    const log = openLog(file, { import: true })
    const problem = await log.collect().then(() => null, err => err)
    t.equal(problem?.code, 'EEXIST')
    t.ok(problem?.message.includes(name(folder)))
    await log.close().catch(() => {})
    t.ok(fs.readFileSync(file).equals(before), 'the old file stays')
    fs.rmSync(name(folder), { recursive: true })
  }
  fs.mkdirSync(name('jit'))
  const log = openLog(file, { import: true })
  // as ssb-db2 does
  fs.writeFileSync(`${name('jit')}/seq.index`, '')
  t.equal((await log.collect()).length, 50)
  await log.close()
  const again = openLog(file, { import: true })
  t.equal((await again.collect()).length, 50, 'later openings do not look for them')
  await again.close()
})

tape('an import that was interrupted starts again, and without the option nothing new is created in its place', async (t) => {
  const file = testFolder(t)('log')
  await OLD.make(file, RECORDS)
  fs.renameSync(file, `${file}.async-append-only-log`)
  const log = openLog(file)
  const problem = await log.append(RECORDS[0]).then(() => null, err => err)
  t.match(problem.message, /was interrupted; open the log with the option import/)
  await log.close().catch(() => {})
  t.notOk(fs.existsSync(file))
  const again = openLog(file, { import: 'keep' })
  t.equal((await again.collect()).length, 50)
  await again.close()
})

tape('the old file is removed when no power cut can take the new one, also if the import was killed before that had a durable name', async (t) => {
  const name = testFolder(t)
  await OLD.make(name('log'), RECORDS)
  const { world, settled, until, values } = machine()
  const first = world.start()
  const { promises } = first.require('fs')
  await settled(promises.writeFile('/log.async-append-only-log', fs.readFileSync(name('log'))))
  await settled((async () => {
    for (const file of ['/log.async-append-only-log', '/']) {
      const handle = await promises.open(file, 'r')
      await handle.sync()
      await handle.close()
    }
  })())
  killAt(world, first, (call) => call === 'fsync' && world.disk.root.entries.has('log'))
  first.require('flumelog-convert').importLog('/log.async-append-only-log', '/log', { keepDeleted: true, keepIndexes: true }).catch(() => {})
  await until(() => !first.isAlive)
  world.fault = () => null
  const second = world.start()
  const open = () => second.require('./packages/async-append-only-log')('/log', { import: 'remove' })
  t.equal((await settled(collect(open(), { offsets: false }))).length, 50)
  t.notOk(world.disk.root.entries.has('log.async-append-only-log'))
  keepNames(world, 'log.async-append-only-log')
  loseUnsynced(world)
  t.ok(world.disk.root.entries.has('log'), 'the new one is there')
  const log = await settled(world.start().require('./promises').open('/log'))
  t.deepEqual(await values(log), RECORDS.map(String), 'with all records')
  world.end()
})

tape('a record that does not fit is an error, with the old file where it was', async (t) => {
  const file = testFolder(t)('log')
  await OLD.make(file, [...RECORDS, Buffer.alloc(65532, 1)])
  const before = fs.readFileSync(file)
  const log = openLog(file, { import: true })
  t.equal(await codeOf(log.collect()), 'flumelog:too-large')
  await log.close().catch(() => {})
  t.ok(fs.readFileSync(file).equals(before))
})

tape('one that async-append-only-log was compacting is left to it, and one that was kept before is not overwritten', async (t) => {
  const name = testFolder(t)
  await OLD.make(name('log'), RECORDS)
  fs.writeFileSync(name('log.compaction'), 'state')
  const log = openLog(name('log'), { import: true })
  t.match(await log.collect().then(() => 'done', err => err.message), /has to finish that first/)
  await log.close().catch(() => {})
  fs.unlinkSync(name('log.compaction'))
  fs.copyFileSync(name('log'), name('log.async-append-only-log'))
  const again = openLog(name('log'), { import: true })
  t.equal(await codeOf(again.collect()), 'EEXIST')
  await again.close().catch(() => {})
})

tape('a log of this package is never taken for one, whatever its size', async (t) => {
  const name = testFolder(t)
  for (const size of [508, 1020, 2044, 4092]) {
    const file = name(`log-${size}`)
    const log = openLog(file)
    await log.store(Buffer.alloc(size, 1))
    await log.close()
    const again = openLog(file)
    t.equal((await again.collect()).length, 1, `${fs.statSync(file).size} bytes`)
    await again.close()
  }
})

tape('one whose blocks have an unusual size is recognized if that is given', async (t) => {
  const name = testFolder(t)
  for (const blockSize of [512, 3000]) {
    const file = name(`old-${blockSize}`)
    const original = openLog(file, { blockSize }, require('async-append-only-log'))
    await original.store(...Array.from({ length: 1000 }, (_, i) => Buffer.from(`record ${i}`)))
    await original.close()
    const before = fs.readFileSync(file, 'hex')
    const log = openLog(file, { blockSize })
    t.equal(await log.append(RECORDS[0]).then(() => null, ({ code }) => code), 'flumelog:not-a-log')
    await log.close().catch(() => {})
    t.equal(fs.readFileSync(file, 'hex'), before)
    const imported = openLog(file, { blockSize, import: true })
    t.equal((await imported.collect()).length, 1000)
    await imported.close()
    const again = openLog(file, { blockSize })
    t.equal((await again.collect()).length, 1000)
    await again.close()
  }
})

tape('the old file of an import that was interrupted is not removed because something else has created a log', async (t) => {
  const file = testFolder(t)('log')
  const kept = `${file}.async-append-only-log`
  await OLD.make(kept, RECORDS)
  await makeLog(file, ['another'])
  const log = openLog(file, { import: 'remove' })
  t.deepEqual((await log.collect({ offsets: false })).map(String), ['another'])
  await log.close()
  t.ok(fs.existsSync(kept))
})
