'use strict'

// Exports to the formats of other logs, as their packages read them, and to lines.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { open } = require('flumelog-random-access-file/promises')
const { exportLog, importLog, readRecords } = require('..')
const { OutFile } = require('../lib/out-file')
const { filesIn, testFolder } = require('../../../test/helpers/folder')
const { noSmallDisk, smallDisk } = require('../../../test/helpers/full')
const { makeLog, readLog, deleteFrom, jsonRecords, overwrite } = require('../../../test/helpers/logs')
const { OLD_LOGS, variedRecords } = require('../../../test/helpers/old-files')
const { promises } = require('../../../test/helpers/promises')
const { codeOf, event, isSame } = require('../../../test/helpers/reading')
const { killAt, machine } = require('../../../test/helpers/simulator/machine')

for (const [format, { make, read }] of Object.entries(OLD_LOGS)) {
  test(`${format}: its package reads what was exported, and can go on with it`, async (t) => {
    const name = testFolder(t)
    const records = [...variedRecords(500), Buffer.alloc(65522, 'as large as can be'), Buffer.from('the last')]
    const seqs = await makeLog(name('log'), records)
    await deleteFrom(name('log'), [seqs[0], seqs[77], seqs[500]])
    const kept = records.filter((_, i) => ![0, 77, 500].includes(i))
    const progress = []
    const exported = await exportLog(name('log'), name('some/old'), { to: format, onProgress: ({ step, bytes, total }) => progress.push([step, bytes === total]) })
    t.deepEqual(exported, { records: 499, bytes: kept.reduce((sum, { length }) => sum + length, 0), size: fs.statSync(name('some/old')).size })
    t.deepEqual(progress.at(-1), ['export', true])
    t.ok(isSame((await read(name('some/old'))).map(({ data }) => data), kept))
    t.deepEqual(filesIn(name('some')), ['old'])
    if (format.startsWith('flumelog-offset')) {
      await make(name('some/old'), [Buffer.from('appended')])
      t.equal(String((await read(name('some/old'))).at(-1).data), 'appended')
    }
    // byte for byte what the package would have written
    await make(name('own'), kept)
    fs.rmSync(name('some/old'))
    await exportLog(name('log'), name('some/old'), { to: format })
    t.ok(fs.readFileSync(name('own')).equals(fs.readFileSync(name('some/old'))), 'the file is the one that the package writes')
  })

  test(`${format}: what was exported and imported again is the same log`, async (t) => {
    const name = testFolder(t)
    await makeLog(name('log'), variedRecords(300))
    await exportLog(name('log'), name('old'), { to: format })
    const { format: found } = await importLog(name('old'), name('log2'))
    t.equal(found, format)
    t.ok(fs.readFileSync(name('log')).equals(fs.readFileSync(name('log2'))), 'byte for byte')
  })
}

test('JSON lines and rows have what the records have, and can be imported again', async (t) => {
  const name = testFolder(t)
  const records = ['{"at":1,"value":{"text":"a, \\"b\\"\\n"}}', '{ "at" : 12345678901234567890 }', '"é"', '{"at":""}']
  await makeLog(name('log'), records)
  await exportLog(name('log'), name('lines'), { to: 'ndjson' })
  t.equal(fs.readFileSync(name('lines'), 'utf8'), '{"at":1,"value":{"text":"a, \\"b\\"\\n"}}\n{"at":12345678901234567890}\n"é"\n{"at":""}\n')
  await exportLog(name('log'), name('rows'), { to: 'csv', fields: ['at', 'value.text'] })
  t.equal(fs.readFileSync(name('rows'), 'utf8'), 'at,value.text\n1,"a, ""b""\n"\n12345678901234567890,\n,\n"",\n')
  const rows = []
  for await (const { data } of readRecords(name('rows'))) rows.push(String(data))
  t.equal(rows[0], '{"at":"1","value.text":"a, \\"b\\"\\n"}')
  t.equal(rows.length, 4)

  const many = jsonRecords(1000)
  await makeLog(name('many'), many)
  await exportLog(name('many'), name('many.ndjson'), { to: 'ndjson' })
  await importLog(name('many.ndjson'), name('again'))
  t.ok(isSame((await readLog(name('again'))).map(({ value }) => String(value)), many))
})

test('a record that cannot be in the format ends an export, and nothing is left', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), ['{"a":1}', 'no json', Buffer.from([0xff])])
  for (const to of ['ndjson', 'csv']) {
    const err = await exportLog(name('log'), name('out'), { to, ...(to === 'csv' ? { fields: ['a'] } : {}) }).catch(err => err)
    t.deepEqual([err.code, err.offset], ['flumelog:invalid', seqs[1]], err.message)
  }
  await makeLog(name('corrupt'), variedRecords(300))
  overwrite(name('corrupt'), 30000, 'X')
  t.equal(await codeOf(exportLog(name('corrupt'), name('folder/out'), { to: 'flumelog-offset' })), 'flumelog:corrupt')
  t.deepEqual(filesIn(name('.')), ['corrupt', 'log'])
})

test('an export does not overwrite a file, nor start with wrong arguments', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), ['a'])
  fs.writeFileSync(name('out'), 'something')
  t.equal(await codeOf(exportLog(name('log'), name('out'), { to: 'flumelog-offset' })), 'EEXIST')
  t.equal(fs.readFileSync(name('out'), 'utf8'), 'something')
  t.equal(await codeOf(exportLog(name('missing'), name('new'), { to: 'flumelog-offset' })), 'ENOENT')
  for (const options of [undefined, {}, { to: 'xml' }, { to: 'csv' }, { to: 'csv', fields: [] }, { to: 'csv', fields: ['a..b'] }, { to: 'ndjson', fields: ['a'] }, { to: 'ndjson', field: 1 }]) {
    t.equal(await codeOf(exportLog(name('log'), name('new'), options)), 'flumelog:invalid', JSON.stringify(options))
  }
  const stopped = exportLog(name('log'), name('new'), { to: 'flumelog-offset', signal: AbortSignal.abort(new Error('stopped')) })
  t.equal(await stopped.catch(err => err.message), 'stopped')
  t.deepEqual(filesIn(name('.')), ['log', 'out'])
})

test('an export of a log that is being written has what was acknowledged before', async (t) => {
  const name = testFolder(t)
  const log = promises(FlumeLog(name('log')))
  await log.append(variedRecords(200))
  await log.append('more')
  // it is published in a later turn
  const reader = promises(FlumeLog(name('log'), { readOnly: true }))
  while (reader.log.since.value !== log.log.since.value) await event(setImmediate)
  await reader.close()
  const { records } = await exportLog(name('log'), name('out'), { to: 'async-append-only-log' })
  t.equal(records, 201)
  await log.close()
})

test('an export that is stopped, or for which the disk is too small, leaves nothing', { skip: noSmallDisk ?? false }, async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), variedRecords(12000, 1400))
  const disk = smallDisk(t, '4m')
  t.equal(await codeOf(exportLog(name('log'), disk.file('out'), { to: 'flumelog-offset' })), 'ENOSPC')
  t.deepEqual(filesIn(disk.file('.')), [])
  const stop = new AbortController()
  const message = await exportLog(name('log'), name('out'), { to: 'flumelog-offset', signal: stop.signal, onProgress: () => stop.abort(new Error('stopped')) }).catch(err => err.message)
  t.equal(message, 'stopped')
  t.deepEqual(filesIn(name('.')), ['log'])
})

test('all of a log is exported, also if it is compacted meanwhile', async (t) => {
  const name = testFolder(t)
  const writer = await open(name('log'), { sync: 'never' })
  const size = 24_000
  for (let i = 0; i < size; i += 1000) await writer.append(Array.from({ length: 1000 }, (_, j) => Buffer.from(`{"number":${i + j},"text":"${'x'.repeat(1000)}"}`)))
  const { writeAll } = OutFile.prototype
  t.teardown(() => { OutFile.prototype.writeAll = writeAll })
  for (const first of [0, 1, 4, 8]) {
    let writes = 0
    /** @type {Promise<any> | null} */
    let compacted = null
    // a slow disk: buffers are full again and again
    OutFile.prototype.writeAll = async function (...args) {
      if (writes++ === first) compacted = writer.compact()
      await new Promise(resolve => setTimeout(resolve, 50))
      return writeAll.apply(this, args)
    }
    const { records } = await exportLog(name('log'), name(`${first}.ndjson`), { to: 'ndjson' })
    await compacted
    const numbers = fs.readFileSync(name(`${first}.ndjson`), 'latin1').split('\n').map(line => line.slice(10, line.indexOf(',')))
    t.deepEqual({ records, lines: numbers.length - 1, wrong: numbers.findIndex((number, i) => number !== String(i)) }, { records: size, lines: size, wrong: size }, `compacted at write ${first}`)
  }
  await writer.close()
})

test('an export fails if records are trimmed that it has not read, also if the log is compacted after that', async (t) => {
  const name = testFolder(t)
  const { writeAll } = OutFile.prototype
  t.teardown(() => { OutFile.prototype.writeAll = writeAll })
  for (const [first, isCompacted] of [[0, false], [0, true], [1, true], [4, true]]) {
    const log = name(`log-${first}-${isCompacted}`)
    const writer = await open(log, { sync: 'never' })
    const seqs = []
    for (let i = 0; i < 24; i++) seqs.push(await writer.append(Array.from({ length: 1000 }, (_, j) => Buffer.from(`{"number":${1000 * i + j},"text":"${'x'.repeat(1000)}"}`))))
    const change = async () => {
      await writer.trim({ lt: seqs[20] })
      if (isCompacted) await writer.compact()
    }
    let writes = 0
    let changed = null
    // a slow disk
    OutFile.prototype.writeAll = async function (...args) {
      if (writes++ === first) changed = change()
      await changed
      await new Promise(resolve => setTimeout(resolve, 50))
      return writeAll.apply(this, args)
    }
    t.equal(await codeOf(exportLog(log, name('out'), { to: 'ndjson' })), 'flumelog:trimmed', `at write ${first}${isCompacted ? ', and compacted' : ''}`)
    await changed
    await writer.close()
  }
  t.notOk(fs.existsSync(name('out')))
})

test('what an export that was killed has left is removed by the next one', async (t) => {
  const { world, open, settled, until, codeOf } = machine()
  const first = world.start()
  const log = await open(first)
  await settled(log.append('{"a":1}'))
  await settled(log.close())
  const before = [...world.disk.root.entries.keys()]
  killAt(world, first, (call) => call === 'link')
  first.require('flumelog-convert').exportLog('/log', '/out', { to: 'ndjson' }).catch(() => {})
  await until(() => !first.isAlive)
  t.equal(world.disk.root.entries.size, before.length + 1)
  world.fault = () => null
  t.equal(await codeOf(world.start().require('flumelog-convert').exportLog('/log', '/out', { to: 'ndjson' })), 'ok')
  t.deepEqual([...world.disk.root.entries.keys()], [...before, 'out'])
  world.end()
})
