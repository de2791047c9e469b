'use strict'

// Reads of records without their whole block: which records are found, what is read, and
// that unverified bytes are never returned.

const fs = require('fs')
const fc = require('fast-check')
const test = require('tape')
const FlumeLog = require('../..')
const { PartChecksums, PART_SIZE } = require('../../lib/read/part-checksums')
const { checksumByParts, checksumOf } = require('../../lib/format/checksum')
const { maxRecordSize, FRAME_SIZE, LENGTH_SIZE } = require('../../lib/format/layout')
const { sealedBlock } = require('../helpers/bytes')
const { newFile } = require('../helpers/folder')
const { ControlledFile } = require('../helpers/controlled-file')
const { testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { codeOf } = require('../helpers/reading')

const BLOCK_SIZE = 16384
const MIB = 1024 * 1024

/** Records that fill a block more or less, some of them longer than a part. */
const records = fc.array(fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 300 }) },
  { weight: 1, arbitrary: fc.integer({ min: 300, max: 9000 }).map(size => new Uint8Array(size).fill(size)) }
), { minLength: 1, maxLength: 150 }).map(fittingInto)

function fittingInto (list) {
  let left = maxRecordSize(BLOCK_SIZE, true) + FRAME_SIZE
  return list.filter(record => {
    const isFitting = record.length + FRAME_SIZE <= left
    if (isFitting) left -= record.length + FRAME_SIZE
    return isFitting
  })
}

function checksumsOf (buffer, number = 0) {
  const checksums = new PartChecksums({ blockSize: BLOCK_SIZE, checksum: true, cacheSize: 100 * MIB })
  remember(checksums, number, buffer)
  return checksums
}

function remember (checksums, number, buffer) {
  const parts = checksums.newParts()
  if (parts === null) return
  checksumByParts(buffer, parts)
  checksums.add(number, parts)
}

/** What is found at a position, in bytes that are as they were or not; null: the block has to be read. */
function recordAt (buffer, now, position) {
  const parts = checksumsOf(buffer).find(0, position)
  if (parts === null) return null
  const part = parts.partOf(position)
  const from = parts.starts[part]
  const size = parts.sizeOf(part)
  return { from, size, data: parts.recordIn(now.subarray(from, from + size), part, position) }
}

test('every record of a verified block is found on its own, and nothing where none starts', (t) => {
  fc.assert(fc.property(records, fc.nat(BLOCK_SIZE - 1), (list, anywhere) => {
    const buffer = sealedBlock(BLOCK_SIZE, list)
    const starts = new Map()
    let position = 0
    for (const record of list) {
      starts.set(position, record)
      const { from, size, data } = recordAt(buffer, buffer, position)
      const recordSize = record.length + FRAME_SIZE
      if (Buffer.compare(data, record) !== 0) return false
      if (from > position || from + size < position + recordSize) return false
      if (position - from >= PART_SIZE || size > PART_SIZE + 9000 + FRAME_SIZE) return false
      position += recordSize
    }
    return starts.has(anywhere) || !recordAt(buffer, buffer, anywhere)?.data
  }), { numRuns: 300 })
  t.pass()
  t.end()
})

test('the checksum of a block can be computed from those of its parts, whether or not its records are valid', (t) => {
  fc.assert(fc.property(records, fc.constantFrom(4, 8, 16), fc.array(fc.nat(BLOCK_SIZE - 5)), (list, count, changed) => {
    const buffer = sealedBlock(BLOCK_SIZE, list)
    for (const position of changed) buffer[position] ^= 0xff
    const parts = { starts: new Uint16Array(count + 1), checksums: new Uint32Array(count + 1), first: 0, count }
    return checksumByParts(buffer, parts) === checksumOf(buffer)
  }))
  t.pass()
  t.end()
})

test('a record is not returned if a byte of it or its framing has changed', (t) => {
  fc.assert(fc.property(records, fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 }), (list, which, where, change) => {
    const buffer = sealedBlock(BLOCK_SIZE, list)
    const index = which % list.length
    const position = list.slice(0, index).reduce((sum, record) => sum + record.length + FRAME_SIZE, 0)
    const now = Buffer.from(buffer)
    now[position + where % (list[index].length + FRAME_SIZE)] ^= change
    return recordAt(buffer, now, position).data === null
  }), { numRuns: 300 })
  t.pass()
  t.end()
})

test('if any byte that was read has changed, only the original record is ever returned', (t) => {
  fc.assert(fc.property(records, fc.nat(), fc.nat(BLOCK_SIZE - 1), fc.integer({ min: 1, max: 255 }), (list, which, where, change) => {
    const buffer = sealedBlock(BLOCK_SIZE, list)
    const index = which % list.length
    const position = list.slice(0, index).reduce((sum, record) => sum + record.length + FRAME_SIZE, 0)
    const now = Buffer.from(buffer)
    now[where] ^= change
    const { data } = recordAt(buffer, now, position)
    return data === null || Buffer.compare(data, list[index]) === 0
  }), { numRuns: 300 })
  t.pass()
  t.end()
})

test('checksums are kept for a limited number of blocks, and not for small blocks or those without checksums', (t) => {
  const buffer = sealedBlock(BLOCK_SIZE, [Buffer.from('a record')])
  const add = (options, count) => {
    const checksums = new PartChecksums({ blockSize: BLOCK_SIZE, checksum: true, cacheSize: MIB, ...options })
    for (let number = 0; number < count; number++) remember(checksums, number, buffer)
    return checksums
  }
  const full = add({}, 100000)
  t.equal(full.entries.size, full.maxEntries)
  t.ok(full.maxEntries * 6 * BLOCK_SIZE / PART_SIZE < MIB / 8, `${full.maxEntries}`)
  t.ok(full.free.length < 64, 'what is forgotten makes room')
  t.equal(full.find(0, 0), null)
  t.ok(full.find(99999, 0))
  for (const options of [{ checksum: false }, { cacheSize: 0 }, { blockSize: 8 * PART_SIZE - 1 }, { blockSize: 4 * PART_SIZE }, { blockSize: BLOCK_SIZE + 1 }]) {
    t.equal(add(options, 10).entries.size, 0, JSON.stringify(options))
  }
  t.end()
})

/** A log of blocks with a hundred records each, that is larger than the cache it is given. */
const ofBlock = (number) => Array.from({ length: 100 }, (_, i) => Buffer.alloc(150, `${number}.${i} `))
const BLOCKS = 100
const bytes = Buffer.concat(Array.from({ length: BLOCKS }, (_, number) => sealedBlock(BLOCK_SIZE, ofBlock(number))))
const SIZES = { blockSize: BLOCK_SIZE, cacheSize: 18 * BLOCK_SIZE }
const RECORD_SIZE = 150 + FRAME_SIZE
const seqOf = (number, index) => number * BLOCK_SIZE + index * RECORD_SIZE

async function getAll (log, index) {
  for (let number = 0; number < BLOCKS; number++) {
    const value = await log.get(seqOf(number, index))
    if (Buffer.compare(value, ofBlock(number)[index]) !== 0) return `block ${number}`
  }
  return null
}

test('a get in a block that was cached before reads a part of it', async (t) => {
  const file = new ControlledFile(newFile(bytes))
  const log = file.open(SIZES)
  await log.onReady()
  t.equal(await getAll(log, 1), null)
  for (const index of [0, 1, 26, 27, 50, 99]) {
    file.reads.length = 0
    t.equal(await getAll(log, index), null, `record ${index}`)
    const whole = file.reads.filter(({ size }) => size === BLOCK_SIZE).length
    t.ok(whole < 10 && file.reads.length > 80, `${file.reads.length} reads, ${whole} of them of a block`)
    t.ok(file.reads.every(({ size }) => size === BLOCK_SIZE || size <= PART_SIZE + RECORD_SIZE))
  }
  await log.close()
})

test('a block that is read again and again is cached', async (t) => {
  const file = new ControlledFile(newFile(bytes))
  const log = file.open(SIZES)
  await log.onReady()
  await getAll(log, 1)
  file.reads.length = 0
  for (let index = 0; index < 100; index++) await log.get(seqOf(3, index))
  const sizes = file.reads.map(({ size }) => size)
  t.ok(sizes.length > 1 && sizes.length < 20, `${sizes.length} reads`)
  t.deepEqual(sizes.filter(size => size === BLOCK_SIZE), [BLOCK_SIZE])
  t.equal(sizes.pop(), BLOCK_SIZE)
  await log.close()
})

test('offsets without a record, of a deleted record or after the end are errors for partial reads, too', async (t) => {
  const log = promises(FlumeLog(newFile(bytes), SIZES))
  await log.onReady()
  await getAll(log, 1)
  for (const wrong of [1, RECORD_SIZE - 1, RECORD_SIZE + LENGTH_SIZE, PART_SIZE, 16000, BLOCK_SIZE - 1]) {
    t.equal(await codeOf(log.get(3 * BLOCK_SIZE + wrong)), 'flumelog:not-found', `${wrong}`)
  }
  await log.del(seqOf(7, 2))
  await getAll(log, 1)
  await getAll(log, 3)
  t.equal(await codeOf(log.get(seqOf(7, 2))), 'flumelog:deleted')
  t.deepEqual(await log.get(seqOf(7, 3)), ofBlock(7)[3])
  await log.close()
})

test('records deleted during a partial read are not returned afterwards', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log'), SIZES))
  for (let number = 0; number < BLOCKS; number++) await log.append(ofBlock(number))
  const seqs = []
  await new Promise((resolve, reject) => log.log.scan({}, (block, start, end, seq) => { seqs.push(seq) }, (err) => err ? reject(err) : resolve()))
  const wanted = seqs.filter((_, i) => i % 40 === 7)
  for (const seq of wanted) await log.get(seq)
  const outcomes = []
  for (const seq of wanted) {
    const before = codeOf(log.get(seq))
    const deleted = log.del(seq)
    const during = codeOf(log.get(seq))
    await deleted
    outcomes.push([await before, await during, await codeOf(log.get(seq))])
  }
  t.ok(outcomes.every(([before, during]) => [before, during].every(code => /^no error/.test(code) || code === 'flumelog:deleted')))
  t.ok(outcomes.every(([, , after]) => after === 'flumelog:deleted'))
  await log.close()
})

test('bytes that change in the file after their block was verified are not returned', async (t) => {
  const file = testFolder(t)('log')
  fs.writeFileSync(file, bytes)
  const log = promises(FlumeLog(file, { ...SIZES, readOnly: true }))
  await log.onReady()
  await getAll(log, 1)
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, Buffer.from('X'), 0, 1, seqOf(20, 50) + 80)
  fs.closeSync(fd)
  t.equal(await codeOf(log.get(seqOf(20, 50))), 'flumelog:corrupt')
  t.equal(await codeOf(log.get(seqOf(20, 50))), 'flumelog:corrupt')
  t.deepEqual(await log.get(seqOf(21, 50)), ofBlock(21)[50])
  await log.close()
})
