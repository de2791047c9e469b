'use strict'

// Checks format.md against the program: its worked example is created by appending, and
// read by a small reader that was written from the page and uses nothing of lib/.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const fc = require('fast-check')
const FlumeLog = require('../..')
const { promises } = require('../helpers/promises')
const { event } = require('../helpers/reading')
const { testFolder } = require('../helpers/folder')

const page = fs.readFileSync(path.join(__dirname, '..', '..', 'format.md'), 'utf8')

// A reader, from the page

/** CRC-32, a bit at a time: nothing of zlib, so that the page's words about it are tested too. */
function crc32 (...parts) {
  let crc = 0xffffffff
  for (const byte of Buffer.concat(parts)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}

/** Records from position 0 to `end`, as far as they are whole. */
function recordsIn (bytes, end) {
  const records = []
  let position = 0
  while (position + 2 <= end) {
    const length = bytes.readUInt16LE(position)
    const next = position + length + 4
    if (length === 0 || next > end || bytes.readUInt16LE(next - 2) !== length) break
    records.push({ position, data: bytes.subarray(position + 2, next - 2) })
    position = next
  }
  return { records, end: position }
}

/** The records of a sealed block; null if it is damaged. */
function sealedBlock (block) {
  const blockSize = block.length
  const start = block.readUInt32LE(blockSize - 4)
  if (start < 5 || start > blockSize - 6) return null
  const { records, end } = recordsIn(block, start)
  if (end !== start) return null
  if (block.readUInt16LE(start) !== blockSize - 1) return null
  if (start <= blockSize - 10) {
    const checksum = block.readUInt32LE(blockSize - 8)
    if (checksum !== 0 && checksum !== crc32(block.subarray(0, blockSize - 8), block.subarray(blockSize - 4))) return null
  }
  return records
}

/** undefined: the file is all tail. */
function findBlockSize (bytes) {
  let position = 0
  while (position + 2 <= bytes.length) {
    const blockSize = bytes.readUInt16LE(position) + 1
    if (blockSize >= 32 && isPadding(bytes, position, blockSize)) return blockSize
    const { end } = recordsIn(bytes.subarray(position, position + 65536), Math.min(bytes.length - position, blockSize + 3))
    if (end === 0) return undefined
    position += blockSize + 3
  }
}

function isPadding (bytes, position, blockSize) {
  if (bytes.length < blockSize || bytes.readUInt32LE(blockSize - 4) !== position) return false
  const zerosEnd = position <= blockSize - 10 ? blockSize - 8 : blockSize - 4
  if (bytes.subarray(position + 2, zerosEnd).some(byte => byte !== 0)) return false
  if (sealedBlock(bytes.subarray(0, blockSize)) === null) return false
  const after = bytes.subarray(blockSize)
  return after.length === 0 || recordsIn(after, after.length).records.length > 0
}

function read (bytes, blockSize = 65536) {
  const all = []
  for (let offset = 0; offset < bytes.length; offset += blockSize) {
    const block = bytes.subarray(offset, offset + blockSize)
    const records = block.length === blockSize ? sealedBlock(block) : recordsIn(block, block.length).records
    if (records === null) throw new Error(`the block at ${offset} is damaged`)
    for (const { position, data } of records) all.push({ seq: offset + position, data })
  }
  return all
}

const isDeleted = ({ data }) => data.every(byte => byte === 0)

const MAGIC = 'ff6368756e6b6564'
const isChunk = ({ data }, kind) => data.toString('hex', 0, 8) === MAGIC && data[8] === kind && data.length >= 21
const unescaped = (data) => data.toString('hex', 0, 8) === MAGIC && data[8] === 3 && data.toString('hex', 9, 17) === MAGIC ? data.subarray(9) : data

/** The records of which `read` gives the stored ones; deleted ones are left out. */
function wholeRecords (all) {
  const whole = []
  all.forEach((record, i) => {
    if (isDeleted(record) || isChunk(record, 1)) return
    if (!isChunk(record, 2)) return whole.push({ seq: record.seq, data: unescaped(record.data) })
    const index = record.data.readUInt32LE(13)
    const length = record.data.readUInt32LE(17)
    const parts = all.slice(Math.max(0, i - index), i)
    if (parts.some(isDeleted)) return
    for (const [n, part] of [...parts, record].entries()) {
      const { data } = part
      const isRight = n === index || isChunk(part, 1)
      if (!isRight || data.readUInt32LE(13) !== n || data.readUInt32LE(17) !== length || data.readUInt32LE(9) !== crc32(data.subarray(13))) throw new Error(`the chunk at ${part.seq} is damaged`)
    }
    const data = Buffer.concat([...parts.map(({ data }) => data.subarray(21)), record.data.subarray(25)])
    if (data.length !== length || crc32(data) !== record.data.readUInt32LE(21)) throw new Error(`the record at ${record.seq} is damaged`)
    whole.push({ seq: record.seq, data: unescaped(data) })
  })
  return whole
}

// The worked example

/** The bytes between ```hex and ```, whose first column must count them. */
function exampleBytes (t, number = 0) {
  const lines = [...page.matchAll(/```hex\n([^]*?)```/g)][number][1].split('\n').filter(line => line !== '')
  const parts = []
  let offset = 0
  for (const line of lines) {
    const [, count, hex] = line.match(/^ *(\d+) {2}((?:[0-9a-f]{2} )*[0-9a-f]{2})(?: {2,}|$)/)
    if (Number(count) !== offset) t.fail(`the line "${line}" is at offset ${offset}`)
    parts.push(Buffer.from(hex.replace(/ /g, ''), 'hex'))
    offset += parts[parts.length - 1].length
  }
  return Buffer.concat(parts)
}

/** The records it is made of, from the line before it. */
function exampleRecords () {
  const line = page.match(/^"apples".*$/m)[0]
  return line.match(/"[^"]*"/g).map(text => text.slice(1, -1))
}

/** @returns {number[]} from "Their seqs are 0, 10, ... and 128." */
function exampleSeqs () {
  return page.match(/Their seqs are ([^.]*)\./)[1].match(/\d+/g).map(Number)
}

test('the worked example is what appending and deleting produce, byte for byte', async (t) => {
  const file = testFolder(t)
  const log = promises(FlumeLog(file('log'), { blockSize: 64 }))
  const seqs = []
  for (const record of exampleRecords()) seqs.push(await log.append(record))
  t.deepEqual(seqs, exampleSeqs())
  await log.del(seqs[1])
  await log.close()
  const bytes = exampleBytes(t)
  t.equal(fs.readFileSync(file('log')).toString('hex'), bytes.toString('hex'))
  t.ok(page.includes(`the offset in the file, which has ${bytes.length} bytes`))
})

test('a reader written from the page alone finds the records of the worked example', (t) => {
  const bytes = exampleBytes(t)
  const blockSize = findBlockSize(bytes)
  t.equal(blockSize, 64)
  const records = read(bytes, blockSize)
  t.deepEqual(records.map(({ seq }) => seq), exampleSeqs())
  const texts = exampleRecords()
  t.deepEqual(records.map(record => isDeleted(record) ? 'deleted' : String(record.data)), texts.with(1, 'deleted'))
  t.equal(records[1].data.length, texts[1].length)
  t.end()
})

test('the example of a large record is what appending produces, and a reader written from the page alone puts it together', async (t) => {
  const file = testFolder(t)
  const texts = page.match(/^"figs" {2}"one.*$/m)[0].match(/"[^"]*"/g).map(text => text.slice(1, -1))
  const log = promises(FlumeLog(file('log'), { blockSize: 64, large: true }))
  const seqs = []
  for (const text of texts) seqs.push(await log.append(text))
  await log.close()
  const bytes = exampleBytes(t, 1)
  t.equal(fs.readFileSync(file('log')).toString('hex'), bytes.toString('hex'))
  t.ok(page.includes(`have the seqs ${seqs[0]}, ${seqs[1]} and ${seqs[2]}. The file has ${bytes.length} bytes`))
  t.deepEqual(wholeRecords(read(bytes, findBlockSize(bytes))).map(({ seq, data }) => [seq, String(data)]), texts.map((text, i) => [seqs[i], text]))
})

test('a reader written from the page alone reads every log with large records', async (t) => {
  const record = fc.record({ size: fc.nat({ max: 1500 }), isDeleted: fc.boolean(), byte: fc.integer({ min: 1, max: 255 }), isLikeChunk: fc.boolean() })
  const life = fc.record({ blockSize: fc.integer({ min: 64, max: 400 }), checksum: fc.boolean(), records: fc.array(record, { maxLength: 20 }) })
  const file = testFolder(t)
  let run = 0
  await fc.assert(fc.asyncProperty(life, async ({ blockSize, checksum, records }) => {
    const name = file(`log-${run++}`)
    const log = promises(FlumeLog(name, { blockSize, checksum, sync: 'never', large: true }))
    const expected = []
    for (const { size, isDeleted, byte, isLikeChunk } of records) {
      const data = Buffer.concat([Buffer.from(isLikeChunk ? MAGIC : '', 'hex'), Buffer.alloc(1 + size, byte % 3 + 1)])
      const seq = await log.append(data)
      if (isDeleted) await log.del(seq)
      else expected.push({ seq, data })
    }
    await log.close()
    const bytes = fs.readFileSync(name)
    fs.rmSync(name)
    assertEqual(JSON.stringify(wholeRecords(read(bytes, blockSize))), JSON.stringify(expected))
  }), { numRuns: 60 })
  t.pass('60 of them')
})

test('the records placed by hand are where the page says', async (t) => {
  const file = testFolder(t)
  const log = promises(FlumeLog(file('log')))
  const sizes = page.match(/A: \d+.*/)[0].match(/\d+/g).map(Number)
  t.equal(sizes.length, 5)
  const seqs = []
  for (const size of sizes) seqs.push(await log.append(Buffer.alloc(size, 1)))
  await log.close()
  t.deepEqual(seqs, [0, 1004, 65536, 73540, 131072])
  const bytes = fs.readFileSync(file('log'))
  t.equal(bytes.length, 131077)
  t.equal(bytes.readUInt32LE(65536 - 4), 61008)
  t.equal(bytes.readUInt32LE(131072 - 4), 65526)
  for (const number of [...seqs, 61008, 65526, 131077, 69012]) t.ok(page.includes(String(number)), `the page speaks of ${number}`)
})

test('a reader written from the page alone reads every log', async (t) => {
  const record = fc.record({ size: fc.nat({ max: 300 }), isDeleted: fc.boolean(), byte: fc.integer({ min: 1, max: 255 }) })
  const life = fc.record({
    blockSize: fc.oneof(fc.integer({ min: 32, max: 100 }), fc.integer({ min: 32, max: 65536 })),
    checksums: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
    records: fc.array(record, { maxLength: 60 })
  })
  const file = testFolder(t)
  let run = 0
  await fc.assert(fc.asyncProperty(life, async ({ blockSize, checksums, records }) => {
    const name = file(`log-${run++}`)
    const expected = []
    // each part is written with or without checksums
    for (const checksum of checksums) {
      const log = promises(FlumeLog(name, { blockSize, checksum, sync: 'never' }))
      for (const { size, isDeleted: mustGo, byte } of records) {
        const data = Buffer.alloc(1 + size % (blockSize - 14), byte)
        const seq = await log.append(data)
        if (mustGo) await log.del(seq)
        else expected.push({ seq, data })
      }
      await log.close()
    }
    const bytes = fs.readFileSync(name)
    fs.rmSync(name)
    const found = findBlockSize(bytes)
    if (bytes.length > blockSize) assertEqual(found, blockSize)
    else assertEqual(found, undefined)
    // deleted records may have become a hole
    assertEqual(JSON.stringify(read(bytes, found).filter(record => !isDeleted(record))), JSON.stringify(expected))
  }), { numRuns: 100 })
  t.pass('100 of them')
})

// What stands beside the file

/** The lines of a FILE.meta, as the page describes them. */
function readMetadata (text) {
  const lines = []
  for (const line of text.split('\n')) {
    const match = line.match(/^([0-9a-f]{8}) (.*)$/)
    if (match === null || parseInt(match[1], 16) !== crc32(Buffer.from(match[2]))) break
    lines.push(match[2])
  }
  return { acknowledged: Number(lines[0]), entries: lines.slice(1).map(line => JSON.parse(line)) }
}

const exampleMetadata = () => readMetadata(page.match(/### FILE\.meta[^]*?```text\n([^]*?)```/)[1])

test('the FILE.meta on the page is valid, says what the page says, and belongs to its log', async (t) => {
  const { acknowledged, entries: [first, second, ...more] } = exampleMetadata()
  const bytes = exampleBytes(t)
  t.equal(acknowledged, bytes.length)
  t.equal(more.length, 0)
  t.deepEqual([first.version, first.end, first.closed], [1, 128, false])
  t.equal(first.tie, crc32(bytes.subarray(64, 128).filter(byte => byte !== 0)))
  t.equal(second.deletions.length, 1)
  const described = [...page.match(/\| member \| says \|[^]*?\n\n/)[0].matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, names]) => names.match(/\w+/g))
  t.deepEqual(described.sort(), Object.keys(first).sort(), 'each member is described')
})

test('the FILE.meta of an open log is as described, and says that the log is closed when it is', async (t) => {
  const file = testFolder(t)
  const log = promises(FlumeLog(file('log'), { blockSize: 64 }))
  await log.append('before')
  // readers are told in the next turn of the event loop
  await event(setImmediate)
  await event(setImmediate)
  const read = () => readMetadata(fs.readFileSync(file('log.meta'), 'utf8'))
  const { acknowledged, entries: [first] } = read()
  t.deepEqual([acknowledged, first.end, first.closed, first.blockSize], [10, 0, false, 64])
  t.deepEqual(Object.keys(first).sort(), Object.keys(exampleMetadata().entries[0]).sort())
  await log.close()
  const { end, closed, tie } = read().entries.at(-1)
  t.deepEqual([end, closed, tie], [10, true, crc32(fs.readFileSync(file('log')).filter(byte => byte !== 0))])
  t.notOk(fs.existsSync(file('log.meta.new')))
})

test('the deletion on the page is recorded like that, and repeated when the log is opened', async (t) => {
  const file = testFolder(t)
  const { deletions: [expected] } = exampleMetadata().entries[1]
  const after = exampleBytes(t)
  const values = exampleRecords()
  const log = promises(FlumeLog(file('log'), { blockSize: 64, sync: 'never' }))
  for (const value of values) await log.append(value)
  await log.sync()
  await log.del(exampleSeqs()[1])
  const text = fs.readFileSync(file('log.meta'), 'utf8')
  t.deepEqual(readMetadata(text).entries.at(-1).deletions, [expected])
  fs.copyFileSync(file('log'), file('copy'))
  t.notOk(fs.readFileSync(file('copy')).equals(after), 'the file does not have it yet')
  fs.writeFileSync(file('copy.meta'), text)
  const copy = promises(FlumeLog(file('copy')))
  await copy.close()
  t.ok(fs.readFileSync(file('copy')).equals(after))
  await log.close()
})

test('truncated bytes are kept in a file named after their offset, as the page says', async (t) => {
  const file = testFolder(t)
  const torn = Buffer.from([9, 0, 1, 2, 3])
  for (const name of ['log.cut-166', 'log.cut-166.2']) {
    fs.writeFileSync(file('log'), Buffer.concat([exampleBytes(t), torn]))
    const log = promises(FlumeLog(file('log')))
    t.deepEqual(await log.onReady(), { offset: 166, bytes: 5, filename: file(name) })
    await log.close()
    t.ok(fs.readFileSync(file(name)).equals(torn))
    t.ok(fs.readFileSync(file('log')).equals(exampleBytes(t)))
  }
})

function assertEqual (is, shouldBe) {
  if (is !== shouldBe) throw new Error(`${is} should be ${shouldBe}`)
}
