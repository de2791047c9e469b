'use strict'

// Imports into new logs: what is in them, what is beside them, and what stops an import.

const fs = require('fs')
const test = require('tape')
const fc = require('fast-check')
const Flume = require('flumedb')
const Level = require('flumeview-level')
const Reduce = require('flumeview-reduce')
const FlumeLog = require('flumelog-random-access-file')
const { importLog, openImportMap, readRecords } = require('..')
const { verify } = require('flumelog-random-access-file/maintenance')
const { crc32 } = require('zlib')
const { published } = require('../../../test/helpers/followers')
const { filesIn, testFolder } = require('../../../test/helpers/folder')
const { noSmallDisk, smallDisk } = require('../../../test/helpers/full')
const { makeLog, readLog, deleteFrom, jsonRecords } = require('../../../test/helpers/logs')
const { OLD_LOGS, variedRecords } = require('../../../test/helpers/old-files')
const { promises } = require('../../../test/helpers/promises')
const { codeOf, collect, isSame } = require('../../../test/helpers/reading')
const { flumelog } = require('../../../test/helpers/warm-flumelog')
const { thorough } = require('../../../test/helpers/thorough')

const FORMATS = Object.keys(OLD_LOGS)
const valuesOf = (records) => records.map(({ value }) => Buffer.from(value))

/** The digest as format.md defines it. */
function digestOf (records) {
  return records.reduce((digest, data) => {
    const length = Buffer.alloc(2)
    length.writeUInt16LE(data.length)
    return crc32(Buffer.concat([length, data, length]), digest)
  }, 0)
}

async function recordsOf (file, options) {
  const records = []
  for await (const record of readRecords(file, options)) records.push(record)
  return records
}

/** A file of flumelog-offset, also with what that would not write. */
function offsetFile (file, records) {
  const parts = []
  let offset = 0
  const offsets = records.map((data) => {
    const start = offset
    offset += data.length + 14
    const frame = Buffer.alloc(10)
    frame.writeUInt32BE(data.length)
    frame.writeUIntBE(offset, 4, 6)
    parts.push(frame.subarray(0, 4), data, frame)
    return start
  })
  fs.writeFileSync(file, Buffer.concat(parts))
  return offsets
}

for (const format of FORMATS) {
  test(`${format}: an import has all records that were not deleted, in their order`, async (t) => {
    const name = testFolder(t)
    const records = variedRecords(600)
    const deleted = [0, 3, 4, 300, 599]
    await OLD_LOGS[format].make(name('old'), records, deleted)
    const bytes = fs.readFileSync(name('old'))
    const imported = await importLog(name('old'), name('some/new/log'))
    const kept = records.filter((_, i) => !deleted.includes(i))
    t.deepEqual([imported.format, imported.records, imported.deleted, imported.skipped, imported.torn], [format, 595, 5, 0, null])
    t.equal(imported.bytes, kept.reduce((sum, { length }) => sum + length, 0))
    t.equal(imported.digest, digestOf(kept), 'the digest is that of the records')
    t.ok(isSame(valuesOf(await readLog(name('some/new/log'))), kept))
    const report = await verify(name('some/new/log'))
    t.deepEqual([report.valid, report.sealed, report.checksummed, report.counts.deleted], [true, report.sealed, report.sealed, 0])
    t.deepEqual(filesIn(name('some/new')), ['log', 'log.import-map'])
    t.ok(fs.readFileSync(name('old')).equals(bytes), 'the old file is as it was')
  })

  test(`${format}: deleted records are kept as deleted ones if that is asked for`, async (t) => {
    const name = testFolder(t)
    const records = variedRecords(120)
    const deleted = [0, 60, 119]
    await OLD_LOGS[format].make(name('old'), records, deleted)
    const { deleted: count } = await importLog(name('old'), name('log'), { keepDeleted: true })
    t.equal(count, 3)
    const { counts } = await verify(name('log'))
    t.deepEqual([counts.records, counts.deleted, counts.deletedBytes], [117, 3, deleted.reduce((sum, i) => sum + records[i].length, 0)])
    const map = await openImportMap(name('log'))
    const log = promises(FlumeLog(name('log'), { readOnly: true }))
    for (const record of await recordsOf(name('old'))) {
      const seq = await map.mapOffset(record.offset)
      if (record.deleted) t.equal(await codeOf(log.get(seq)), 'flumelog:deleted')
    }
    await log.close()
    await map.close()
  })
}

test('the map finds each record by its old offset, and no others', async (t) => {
  const name = testFolder(t)
  for (const format of [...FORMATS, 'ndjson']) {
    const file = name(format)
    const deleted = [0, 5, 6, 7, 249]
    if (format === 'ndjson') fs.writeFileSync(file, jsonRecords(250).map((line, i) => i % 50 === 0 ? ` ${line}\r\n\n` : `${line}\n`).join(''))
    else await OLD_LOGS[format].make(file, variedRecords(250, 900), deleted)
    await importLog(file, name(`${format}.log`), { blockSize: 4096 })
    const map = await openImportMap(name(`${format}.log`))
    t.equal(map.from, format)
    const bySeq = new Map((await readLog(name(`${format}.log`))).map(({ seq, value }) => [seq, value]))
    let wrong = 0
    const old = await recordsOf(file)
    for (const [i, { offset, data }] of old.entries()) {
      const seq = await map.mapOffset(offset)
      if (data === undefined ? seq !== null : !bySeq.get(seq)?.equals(data)) wrong++
      if (data !== undefined) bySeq.delete(seq)
      if (i % 20 === 0 && await map.mapOffset(offset + 1) !== null) wrong++
    }
    t.equal(wrong, 0, format)
    t.equal(bySeq.size, 0, 'all records of the log are found')
    t.equal(await map.mapOffset(fs.statSync(file).size), null)
    t.equal(await codeOf(map.mapOffset(-1)), 'flumelog:invalid')
    await map.close()
  }
  t.equal(await codeOf(openImportMap(name('ndjson'))), 'ENOENT')
})

test('a log of this package can be imported, also one that was not closed', async (t) => {
  const name = testFolder(t)
  const log = promises(FlumeLog(name('old'), { blockSize: 512 }))
  await log.append(jsonRecords(200))
  await log.append('the last')
  t.equal((await importLog(name('old'), name('open'))).records, 201, 'open for writing')
  fs.cpSync(name('old'), name('copy'))
  if (fs.existsSync(name('old.meta'))) fs.cpSync(name('old.meta'), name('copy.meta'))
  await log.close()
  const seqs = (await readLog(name('old'))).map(({ seq }) => seq)
  await deleteFrom(name('old'), [seqs[3]])
  t.equal((await importLog(name('old'), name('log'))).records, 200)
  t.equal((await importLog(name('copy'), name('log2'))).records, 201)
  t.equal(fs.statSync(name('log2')).mode, fs.statSync(name('copy')).mode, 'with the permissions of the old file')
  t.deepEqual((await readLog(name('log2'))).map(({ value }) => String(value)), [...jsonRecords(200), 'the last'])
})

test('what cannot be stored stops an import, and says where; or it is skipped, and kept elsewhere', async (t) => {
  const name = testFolder(t)
  const large = Buffer.alloc(70000, 'large ')
  const records = [Buffer.from('a'), large, Buffer.alloc(0), Buffer.from('b'), Buffer.alloc(65523, 'x'), Buffer.alloc(65522, 'y')]
  const offsets = offsetFile(name('old'), records)
  const err = await importLog(name('old'), name('log')).catch(err => err)
  t.deepEqual([err.code, err.offset], ['flumelog:too-large', offsets[1]], err.message)
  t.deepEqual(filesIn(name('.')), ['old'], 'nothing is left')
  const imported = await importLog(name('old'), name('log'), { skip: true })
  t.deepEqual([imported.records, imported.skipped, imported.skippedFile], [3, 3, name('log.skipped')])
  t.deepEqual(valuesOf(await readLog(name('log'))).map(({ length }) => length), [1, 1, 65522])
  const lines = fs.readFileSync(name('log.skipped'), 'utf8').trim().split('\n').map(line => JSON.parse(line))
  t.deepEqual(lines.map(({ offset }) => offset), [offsets[1], offsets[2], offsets[4]])
  t.deepEqual(lines.map(({ base64 }) => Buffer.from(base64, 'base64').length), [70000, 0, 65523])
  t.ok(Buffer.from(lines[0].base64, 'base64').equals(large))

  offsetFile(name('empty'), [Buffer.from('a'), Buffer.alloc(0)])
  t.equal(await codeOf(importLog(name('empty'), name('other'))), 'flumelog:invalid')
  offsetFile(name('huge'), [Buffer.from('a'), Buffer.alloc(3e6, 'z'), Buffer.from('b')])
  t.equal((await importLog(name('huge'), name('huge.log'), { skip: true })).records, 2)
  t.equal(JSON.parse(fs.readFileSync(name('huge.log.skipped'), 'utf8')).base64.length, 4e6)

  const bytes = fs.readFileSync(name('old'))
  bytes[offsets[3]] = 0xff
  fs.writeFileSync(name('corrupt'), bytes)
  t.equal(await codeOf(importLog(name('corrupt'), name('other'))), 'flumelog:too-large')
  const skipped = await importLog(name('corrupt'), name('other'), { skip: true })
  t.deepEqual([skipped.records, skipped.skipped, skipped.corrupt], [2, 3, offsets[4] - offsets[3]])

  fs.writeFileSync(name('lines'), '{"a":1}\nnot json\n{"a":2}\n')
  t.equal(await codeOf(importLog(name('lines'), name('lines.log'))), 'flumelog:invalid')
  t.equal((await importLog(name('lines'), name('lines.log'), { skip: true })).records, 2)
  t.equal(Buffer.from(JSON.parse(fs.readFileSync(name('lines.log.skipped'), 'utf8')).base64, 'base64').toString(), 'not json\n')
})

test('a log of this package is imported while it is appended to: what was acknowledged is there', async (t) => {
  const name = testFolder(t)
  const log = promises(FlumeLog(name('old')))
  const records = variedRecords(3000)
  const state = { appended: 0, isOver: false }
  const appending = (async () => {
    for (; !state.isOver; state.appended++) {
      await log.append(records[state.appended % records.length])
      if (state.appended % 50 === 0) await new Promise(resolve => setImmediate(resolve))
    }
  })()
  for (let i = 0; i < 3; i++) {
    while (state.appended < (i + 1) * 500) await new Promise(resolve => setImmediate(resolve))
    const before = state.appended
    await published(name('old'), log.log.since.value)
    const imported = await importLog(name('old'), name(`log${i}`))
    t.ok(imported.records >= before && imported.torn === null, `${imported.records} of at least ${before}`)
    t.ok(isSame(valuesOf(await readLog(name(`log${i}`))), Array.from({ length: imported.records }, (_, n) => records[n % records.length])))
  }
  state.isOver = true
  await appending
  await log.close()
})

test('a property: whatever records and deletions there are, an import has the rest, and the map finds it', async (t) => {
  const name = testFolder(t)
  let runs = 0
  const sizes = fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 40 }) }, fc.integer({ min: 1, max: 3000 }), fc.constantFrom(0, 65522, 65523, 100000))
  const shape = fc.record({
    records: fc.array(fc.record({ size: sizes, isDeleted: fc.boolean() }), { minLength: 1, maxLength: 60 }),
    blockSize: fc.constantFrom(32, 100, 1024, 65536),
    keepDeleted: fc.boolean()
  })
  await fc.assert(fc.asyncProperty(shape, async ({ records, blockSize, keepDeleted }) => {
    const run = runs++
    const most = blockSize - 14
    const datas = records.map(({ size, isDeleted }, i) => Buffer.alloc(size, isDeleted ? 0 : i + 1))
    const offsets = offsetFile(name(`old${run}`), datas)
    const isLive = (data) => data.length > 0 && data.length <= most && data[0] !== 0
    const result = await importLog(name(`old${run}`), name(`log${run}`), { from: 'flumelog-offset-48', skip: true, blockSize, keepDeleted })
    const live = await readLog(name(`log${run}`)).catch(err => { if (result.size > 0) throw err; return [] })
    const seqs = new Map(live.map(({ seq, value }) => [seq, value]))
    const map = await openImportMap(name(`log${run}`))
    for (const [i, offset] of offsets.entries()) {
      const seq = await map.mapOffset(offset)
      const data = datas[i]
      const isKept = isLive(data) || (keepDeleted && data.length > 0 && data[0] === 0)
      if (isKept !== (seq !== null)) throw new Error(`record ${i} of ${data.length} bytes is mapped to ${seq}`)
      if (isLive(data) && !seqs.get(seq)?.equals(data)) throw new Error(`record ${i} is not at ${seq}`)
    }
    await map.close()
    const same = isSame(valuesOf(live), datas.filter(isLive))
    for (const file of filesIn(name('.'))) fs.rmSync(name(file))
    return same
  }), { numRuns: Number(process.env.RUNS ?? (thorough ? 15 : 8)), verbose: 1 })
  t.pass(`${runs} runs`)
})

test('with large, records that do not fit into a block are imported, and found by their old offsets', async (t) => {
  const name = testFolder(t)
  const magic = Buffer.from('\xffchunked', 'latin1')
  const sizes = [10, 300, 30000, 1000, 1001, 300, 8, 5, 990, 1500000, 20]
  const records = sizes.map((size, i) => Buffer.alloc(size, `record ${i}; `))
  // as records of a log are that has such ones, or could be mistaken for these
  records.push(Buffer.concat([magic, Buffer.of(1), Buffer.alloc(40)]), magic, Buffer.concat([magic, Buffer.alloc(5000, 'x')]), Buffer.concat([magic, Buffer.alloc(998)]), Buffer.from('last'))
  const offsets = offsetFile(name('old'), records)
  const imported = await importLog(name('old'), name('log'), { large: true, blockSize: 1024 })
  t.deepEqual([imported.records, imported.large, imported.skipped, imported.bytes], [records.length, 4, 0, records.reduce((sum, { length }) => sum + length, 0)])
  t.ok((await verify(name('log'))).valid)
  const log = promises(FlumeLog(name('log'), { readOnly: true, large: true }))
  const found = await collect(log.log)
  t.ok(isSame(valuesOf(found), records), 'all are as they were')
  const map = await openImportMap(name('log'))
  for (const [i, offset] of offsets.entries()) {
    t.equal(await map.mapOffset(offset), found[i].seq, `record ${i}`)
    t.equal(await map.mapOffset(offset + 1), null)
  }
  const { mapOffset } = map
  t.equal(await mapOffset(offsets[1]), found[1].seq, 'without its map')
  await map.close()
  await map.close()
  t.equal(await codeOf(mapOffset(0)), 'flumelog:closed')
  await log.close()

  // the same file as a log writes
  const written = promises(FlumeLog(name('written'), { large: true, blockSize: 1024 }))
  for (const record of records) await written.append(record)
  await written.close()
  t.ok(fs.readFileSync(name('written')).equals(fs.readFileSync(name('log'))), 'byte for byte what a log would have written')
  t.equal((await importLog(name('log'), name('again'), { large: true, blockSize: 1024 })).digest, imported.digest, 'a log with large records is copied as it is')
  t.ok(fs.readFileSync(name('again')).equals(fs.readFileSync(name('log'))))
  t.ok((await importLog(name('log'), name('chunks'), { blockSize: 1024 })).records > records.length, 'without large, its chunks are copied')
  t.ok(fs.readFileSync(name('chunks')).equals(fs.readFileSync(name('log'))))
  t.equal((await importLog(name('log'), name('smaller'), { large: true, blockSize: 512 })).digest, imported.digest, 'into smaller blocks, too')
  const smaller = promises(FlumeLog(name('smaller'), { readOnly: true, large: true }))
  t.ok(isSame(valuesOf(await collect(smaller.log)), records))
  await smaller.close()
  t.match((await importLog(name('old'), name('none'), { blockSize: 1024 }).catch(err => err)).message, /30000 bytes; the maximum is 1010, with blocks of 1024; `large` stores/)
  t.equal(await codeOf(importLog(name('old'), name('none'), { large: true, blockSize: 63 })), 'flumelog:invalid')
})

test('an import refuses to overwrite anything', async (t) => {
  const name = testFolder(t)
  await makeLog(name('old'), ['a'])
  for (const suffix of ['', '.meta', '.import-map', '.skipped']) {
    fs.writeFileSync(name(`log${suffix}`), 'something')
    t.equal(await codeOf(importLog(name('old'), name('log'))), 'EEXIST', suffix)
    t.equal(fs.readFileSync(name(`log${suffix}`), 'utf8'), 'something')
    fs.rmSync(name(`log${suffix}`))
  }
  t.equal(await codeOf(importLog(name('old'), name('old'))), 'EEXIST')
  t.deepEqual(filesIn(name('.')), ['old'])
})

test('a compaction of async-append-only-log that was interrupted has to be completed first', async (t) => {
  const name = testFolder(t)
  await OLD_LOGS['async-append-only-log'].make(name('old'), variedRecords(10))
  fs.writeFileSync(name('old.compaction'), 'state')
  const err = await importLog(name('old'), name('log')).catch(err => err)
  t.equal(err.code, 'flumelog:invalid')
  t.match(err.message, /open it with async-append-only-log/)
})

test('wrong arguments are refused before anything is read', async (t) => {
  for (const args of [[1, 'log'], ['old', ''], ['old', 'log', 5], ['old', 'log', { form: 'csv' }], ['old', 'log', { from: 'xml' }], ['old', 'log', { skip: 1 }],
    ['old', 'log', { blockSize: 31 }], ['old', 'log', { onProgress: 1 }], ['old', 'log', { signal: 1 }]]) {
    t.equal(await codeOf(importLog(...args)), 'flumelog:invalid', JSON.stringify(args))
  }
  t.throws(() => readRecords('old', { onTorn: 1 }), { code: 'flumelog:invalid' })
  t.equal(await codeOf(importLog('/nowhere/old', '/nowhere/log')), 'ENOENT')
})

test('an empty file is an empty log, if its format is given', async (t) => {
  const name = testFolder(t)
  fs.writeFileSync(name('old'), '')
  t.equal(await codeOf(importLog(name('old'), name('log'))), 'flumelog:not-a-log')
  t.equal((await importLog(name('old'), name('log'), { from: 'flumelog-offset' })).records, 0)
  t.deepEqual(await readLog(name('log')), [])
})

test('a full disk ends an import with its error, and the old file and other files are as they were', { skip: noSmallDisk ?? false }, async (t) => {
  const name = testFolder(t)
  const disk = smallDisk(t, '4m')
  await OLD_LOGS['flumelog-offset-48'].make(name('old'), variedRecords(12000, 1400))
  t.equal(await codeOf(importLog(name('old'), disk.file('log'))), 'ENOSPC')
  t.deepEqual(filesIn(disk.file('.')), [], 'nothing was durable yet, so nothing is left')
})

test('a file of async-append-only-log is not imported beside the indexes of ssb-db2; one of another format is', async (t) => {
  const name = testFolder(t)
  const records = [Buffer.from('one'), Buffer.from('two')]
  fs.mkdirSync(name('jit'))
  fs.writeFileSync(`${name('jit')}/seq.index`, 'offsets')
  await OLD_LOGS['async-append-only-log'].make(name('old'), records)
  t.equal(await codeOf(importLog(name('old'), name('log.bipf'))), 'EEXIST')
  t.notOk(fs.existsSync(name('log.bipf')))
  fs.writeFileSync(name('lines'), '{"a":1}\n')
  t.equal((await importLog(name('lines'), name('log'))).records, 1)
  fs.rmSync(name('jit'), { recursive: true })
  t.equal((await importLog(name('old'), name('log.bipf'))).records, 2)
})

test('a file is not imported beside views of flumedb if offsets change', async (t) => {
  const name = testFolder(t)
  const records = Array.from({ length: 30 }, (_, i) => Buffer.from(String(i)))
  await OLD_LOGS['flumelog-offset-48'].make(name('old'), records)
  await makeLog(name('log'), ['a', 'b'])
  const db = Flume(FlumeLog(name('log'))).use('count', Reduce(1, (count) => (count ?? 0) + 1)).use('index', Level(1, () => ['key']))
  await new Promise(resolve => db.index.get('key', resolve))
  await new Promise(resolve => db.count.get(resolve))
  await new Promise(resolve => db.close(resolve))
  for (const file of filesIn(name('.')).filter(file => file.startsWith('log'))) fs.rmSync(name(file))
  fs.writeFileSync(name('package.json'), '{"name":"x"}')
  fs.writeFileSync(name('lines'), '{"a":1}\n{"a":2}\n')
  for (const source of ['old', 'lines']) {
    const err = await importLog(name(source), name('log')).catch(err => err)
    t.equal(err.code, 'EEXIST')
    t.match(err.message, /\(count\.json, index\)/)
  }
  t.deepEqual(filesIn(name('.')), ['count.json', 'index', 'lines', 'old', 'package.json'])
  const { code, stderr } = await flumelog(['import', name('old'), name('log')])
  t.equal(code, 1)
  t.match(stderr, /count\.json, index/)
  t.match(stderr, /--keep-indexes/)
  t.equal((await importLog(name('old'), name('log'), { keepIndexes: true })).records, 30)
  t.equal((await importLog(name('log'), name('same'))).records, 30, 'records of this format stay where they are')
  const other = await importLog(name('log'), name('other'), { blockSize: 64 }).catch(err => err)
  t.equal(other.code, 'EEXIST')
})
