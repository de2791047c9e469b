'use strict'

// Files that the packages of other logs have made, as they are read here.

const fs = require('fs')
const test = require('tape')
const { detectFormat, importLog, readRecords } = require('..')
const { testFolder } = require('../../../test/helpers/folder')
const { OLD_LOGS, variedRecords } = require('../../../test/helpers/old-files')
const { codeOf, isSame } = require('../../../test/helpers/reading')

/** @returns {Promise<{ records: any[], torn: any }>} */
async function readAll (file, options) {
  const records = []
  let torn = null
  for await (const record of readRecords(file, { ...options, onTorn: found => { torn = found } })) records.push(record)
  return { records, torn }
}

/** @param {Array<{ offset: number, data?: Buffer }>} records */
const liveOf = (records) => records.filter(({ deleted }) => deleted === undefined)

for (const [format, { make, read }] of Object.entries(OLD_LOGS)) {
  test(`${format}: the format is detected, and each record is read as the package reads it, deleted ones as deleted`, async (t) => {
    const name = testFolder(t)
    const records = variedRecords(400)
    const deleted = [0, 1, 77, 399]
    await make(name('old'), records, deleted)
    const bytes = fs.readFileSync(name('old'))
    t.equal(await detectFormat(name('old')), format)
    const found = await readAll(name('old'))
    t.equal(found.torn, null)
    t.ok(isSame(liveOf(found.records).map(({ data }) => Buffer.from(data)), records.filter((_, i) => !deleted.includes(i))))
    t.deepEqual(found.records.flatMap(({ deleted }, i) => deleted ? [i] : []), deleted)
    // flumelog-aligned-offset cannot stream a log in which something was deleted
    if (format !== 'flumelog-aligned-offset') t.ok(isSame(liveOf(found.records), liveOf(await read(name('old')))), 'at the same offsets')
    t.ok(fs.readFileSync(name('old')).equals(bytes), 'the file is as it was')
    t.deepEqual(fs.readdirSync(name('.')).filter(file => !file.startsWith('old.stats')), ['old'])
  })

  test(`${format}: of a file that was cut anywhere in its last record, all records before that are read`, async (t) => {
    const name = testFolder(t)
    const records = [...variedRecords(20), Buffer.from('the last one')]
    await make(name('old'), records)
    const bytes = fs.readFileSync(name('old'))
    const all = (await readAll(name('old'))).records
    const last = all.at(-1).offset
    let wrong = 0
    for (let size = last; size < Math.min(bytes.length, last + records.at(-1).length + 20); size++) {
      fs.writeFileSync(name('torn'), bytes.subarray(0, size))
      const { records: found, torn } = await readAll(name('torn'), { from: format })
      // the last one may be whole before its block is
      const isRight = isSame(found, all.slice(0, found.length)) && found.length >= all.length - 1
      const isTold = (torn === null && (size === last || found.length === all.length)) || (torn !== null && torn.offset + torn.bytes === size)
      if (!isRight || !isTold) wrong++
    }
    t.equal(wrong, 0)
  })
}

test('flumelog-offset: a file with a corrupt record in its middle says where, and where records follow', async (t) => {
  const name = testFolder(t)
  const records = variedRecords(50)
  await OLD_LOGS['flumelog-offset-48'].make(name('old'), records)
  const all = (await readAll(name('old'))).records
  const bytes = fs.readFileSync(name('old'))
  bytes.fill(0xff, all[20].offset, all[20].offset + 4)
  fs.writeFileSync(name('corrupt'), bytes)
  const err = await readAll(name('corrupt')).catch(err => err)
  t.equal(err.code, 'flumelog:corrupt')
  t.equal(err.offset, all[20].offset)
  t.ok(err.message.includes(`to ${all[21].offset}`), err.message)
})

test('flumelog-offset: more at the end than a write leaves is corrupt, not torn', async (t) => {
  const name = testFolder(t)
  await OLD_LOGS['flumelog-offset-48'].make(name('old'), variedRecords(1300, 3000))
  const all = (await readAll(name('old'))).records
  const bytes = fs.readFileSync(name('old'))
  // so no record after it ends where it says
  for (const [i, isTorn] of [[100, false], [1290, true]]) {
    const { offset } = all[i]
    fs.writeFileSync(name('shifted'), Buffer.concat([bytes.subarray(0, offset), Buffer.from('x'), bytes.subarray(offset)]))
    const found = await readAll(name('shifted')).catch(err => err)
    if (isTorn) t.deepEqual([found.records.length, found.torn.offset], [i, offset])
    else t.deepEqual([found.code, found.offset], ['flumelog:corrupt', offset], found.message)
  }
})

test('lines and rows are read, whatever ends them', async (t) => {
  const name = testFolder(t)
  const dataOf = async (text, options) => {
    fs.writeFileSync(name('text'), text)
    return (await readAll(name('text'), options)).records.map(({ offset, data }) => `${offset} ${data}`)
  }
  t.deepEqual(await dataOf('{"a":1}\r\n\n  [2, 3] \n"x"'), ['0 {"a":1}', '10 [2, 3]', '20 "x"'])
  t.deepEqual(await dataOf('\ufeff{"a":"é"}\n'), ['0 {"a":"é"}'])
  t.deepEqual(await dataOf('a,b\n1,\n"x ""y"" z","new\nline"\r\n,'), ['4 {"a":"1","b":""}', '7 {"a":"x \\"y\\" z","b":"new\\nline"}', '31 {"a":"","b":""}'])
  t.deepEqual(await dataOf('__proto__,1\na,b\n\nc,d\n'), ['12 {"__proto__":"a","1":"b"}', '17 {"__proto__":"c","1":"d"}'])
  t.deepEqual(await dataOf('only\nvalue\n', { from: 'csv' }), ['5 {"only":"value"}'])
  t.deepEqual(await dataOf('a,b', { from: 'csv' }), [])
})

test('lines longer than what is read at a time are read', async (t) => {
  const name = testFolder(t)
  const lines = [JSON.stringify('a'.repeat(3e6)), '1', JSON.stringify('b'.repeat(500000)), ...Array.from({ length: 3000 }, (_, i) => JSON.stringify('c'.repeat(i)))]
  fs.writeFileSync(name('long'), lines.join('\n'))
  const { records } = await readAll(name('long'), { from: 'ndjson' })
  t.ok(isSame(records.map(({ data }) => String(data)), lines))
})

test('a last line or row that is not whole is torn, one elsewhere is an error', async (t) => {
  const name = testFolder(t)
  const cases = [
    ['{"a":1}\n{"a":', { torn: 8 }],
    ['{"a":1}\n{"a":\n{"a":2}\n', { invalid: 8 }],
    ['a,b\n1,2\n3', { torn: 8 }],
    ['a,b\n1,2\n3,"', { torn: 8 }],
    ['a,b\n1,2\n3\n4,5\n', { invalid: 8 }],
    ['a,b\n1,2\n3,x"y\n4,5\n', { invalid: 8 }],
    ['a,b\n1,2\n3,"x"y\n4,5\n', { invalid: 8 }],
    // the second row has two lines
    ['a,b\n1,"x\ny"\n3,"x\n4,5\n6,7\n', { invalid: 12 }]
  ]
  const numbers = []
  for (const [text, { torn, invalid }] of cases) {
    fs.writeFileSync(name('text'), text)
    const found = await readAll(name('text')).catch(err => err)
    if (torn !== undefined) t.deepEqual([found.records.length, found.torn.offset, found.torn.bytes], [1, torn, text.length - torn], JSON.stringify(text))
    else t.deepEqual([found.code, found.offset], ['flumelog:invalid', invalid], `${JSON.stringify(text)}: ${found.message}`)
    if (invalid !== undefined) numbers.push(/line \d/.exec(found.message)?.[0])
  }
  t.deepEqual(numbers, ['line 2', 'line 3', 'line 3', 'line 3', 'line 4'])
})

test('a quote that is not closed is an error with its line, not a torn write of all that follows', async (t) => {
  const name = testFolder(t)
  const rows = Array.from({ length: 2000 }, (_, i) => `${i},text ${i}\n`)
  for (const line of [2, 1000]) {
    fs.writeFileSync(name('rows'), ['a,b\n', ...rows.slice(0, line - 2), '1,"open\n', ...rows].join(''))
    const { code, message } = await importLog(name('rows'), name('log')).catch(err => err)
    t.equal(code, 'flumelog:invalid', message)
    t.ok(message.includes(`line ${line}: the quotes of a field are not closed`), message)
    const { records, skipped } = await importLog(name('rows'), name(`log${line}`), { skip: true })
    t.deepEqual([records, skipped], [line - 2 + 2000, 1], 'with skip, all other rows are imported')
  }
  for (const [header, pattern] of [[Buffer.from([0x61, 0x2c, 0xff, 0x0a]), /: the header row is not UTF-8$/], ['a,a\n1,2\n', /: the header row does not name the fields: two fields have the same name$/]]) {
    fs.writeFileSync(name('rows'), header)
    t.match((await readAll(name('rows'), { from: 'csv' }).catch(err => err)).message, pattern)
  }
})

test('the format of a file is detected, however large its first record is', async (t) => {
  const name = testFolder(t)
  const data = Buffer.alloc(3e6, 'large ')
  await OLD_LOGS['flumelog-offset-48'].make(name('offset'), [data, Buffer.from('small')])
  fs.writeFileSync(name('lines'), `${JSON.stringify(String(data))}\n1\n`)
  fs.writeFileSync(name('rows'), `a,b\n1,"${data}"\n2,3\n`)
  const found = []
  for (const file of ['offset', 'lines', 'rows']) found.push(await detectFormat(name(file)).catch(err => err.message))
  t.deepEqual(found, ['flumelog-offset-48', 'ndjson', 'csv'])
})

test('what is in none of the formats, or could be in several, is not guessed', async (t) => {
  const name = testFolder(t)
  const cases = { empty: '', short: 'x', text: 'Dear reader,\nthis is a letter.\n', json: '{\n  "a": 1\n}\n', random: Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * i * 31 + i) % 251)), zeros: Buffer.alloc(70000) }
  for (const [file, bytes] of Object.entries(cases)) {
    fs.writeFileSync(name(file), bytes)
    t.equal(await codeOf(detectFormat(name(file))), 'flumelog:not-a-log', file)
  }
  // its first bytes are whole records of two formats, and the rest is of neither
  const both = Buffer.alloc(70000, 0xee)
  both.writeUInt32BE(0x10100, 0)
  both.writeUInt16LE(0x100, 2 + 0x100 - 0)
  both.writeUInt16LE(0x100, 0)
  both.writeUInt32BE(0x00010100, 0)
  const length = both.readUInt16LE(0)
  both.writeUInt16LE(length, 2 + length)
  both.writeUInt16LE(2, 4 + length)
  both.writeUInt16LE(2, 4 + length + 4)
  both.writeUInt32BE(0x10100, 4 + 0x10100)
  both.writeUInt32BE(0x10100 + 12, 8 + 0x10100)
  fs.writeFileSync(name('both'), both)
  const err = await detectFormat(name('both')).catch(err => err)
  t.equal(err.code, 'flumelog:invalid')
  t.match(err.message, /could be flumelog-offset-32 or flumelog-aligned-offset/)
  t.equal(await codeOf(detectFormat(name('missing'))), 'ENOENT')
  t.equal(await codeOf(detectFormat(name('.'))), 'EISDIR')
})

test('no file of one package is taken for that of another', async (t) => {
  const name = testFolder(t)
  // records of one size look alike in two of the formats
  for (const [size, count] of [[300, 1], [300, 250], [1, 3], [65000, 3]]) {
    for (const [format, { make }] of Object.entries(OLD_LOGS)) {
      const file = name(`${format}.${size}.${count}`)
      await make(file, Array.from({ length: count }, (_, i) => Buffer.alloc(size, `${i} of one size`)))
      t.equal(await detectFormat(file), format, `${count} records of ${size} bytes`)
      if (count === 1 || size === 1) continue
      await make(`${file}.deleted`, Array.from({ length: count }, (_, i) => Buffer.alloc(size, `${i} of one size`)), [0, count - 1])
      t.equal(await detectFormat(`${file}.deleted`), format, 'and with the first and the last deleted')
    }
  }
})

test('a block size of async-append-only-log that is not its default is detected', async (t) => {
  const name = testFolder(t)
  const AsyncAppendOnlyLog = require('async-append-only-log')
  for (const blockSize of [1024, 8192]) {
    const log = AsyncAppendOnlyLog(name(`old${blockSize}`), { blockSize, writeTimeout: 1 })
    const records = variedRecords(15)
    for (const record of records) await new Promise(resolve => log.append(record, resolve))
    await new Promise(resolve => log.onDrain(resolve))
    await new Promise(resolve => log.close(resolve))
    const found = await readAll(name(`old${blockSize}`))
    t.ok(isSame(found.records.map(({ data }) => Buffer.from(data)), records), String(blockSize))
  }
})
