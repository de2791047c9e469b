'use strict'

// lib/format/validation.js: which bytes are accepted, and what is said of those that are not.

const test = require('tape')
const fc = require('fast-check')
const layout = require('../../lib/format/layout')
const { checksumOf, writeChecksum } = require('../../lib/format/checksum')
const { endOfRecords, findProblem, frameProblem } = require('../../lib/format/validation')
const { bytes, le16, le32, used, write } = require('../helpers/block-bytes')

test('iteration ends behind the last whole record, wherever the bytes end', (t) => {
  const block = used(32)
  const ends = [0, 5, 11, 18]
  write(block, 'a', 'bc', 'def')
  for (let end = 0; end <= 18; end++) {
    t.equal(endOfRecords(block, 0, end), ends.findLast(at => at <= end), `${end}`)
  }
  t.equal(endOfRecords(block, 5, 18), 18, 'it may start at any record')
  t.equal(endOfRecords(block, 18, 18), 18)
  t.equal(endOfRecords(block, 0, 32), 18, 'and garbage is no record')
  t.end()
})

test('each problem of a frame has a message of its own', (t) => {
  const block = used(32)
  write(block, 'a', 'bc')
  t.equal(frameProblem(block, 0, 11), null)
  t.equal(frameProblem(block, 5, 11), null)
  t.equal(frameProblem(block, 5, 9), '4 bytes are left, too few for a record')
  t.equal(frameProblem(block, 5, 10), 'record length 2 runs past the end')
  t.equal(frameProblem(block, 11, 32), `record length ${0xeeee} runs past the end`)
  block.writeUInt16LE(3, 9)
  t.equal(frameProblem(block, 5, 11), 'the length before the record is 2, after it 3')
  t.equal(frameProblem(Buffer.alloc(32), 0, 32), 'record length 0')
  t.end()
})

test('each kind of corruption is found, with its position', (t) => {
  const valid = used(64)
  layout.seal(valid, write(valid, 'first', 'second', 'third'))
  const corruptions = [
    ['start', block => block.writeUInt32LE(0, 60), 60, /invalid padding offset 0/],
    ['start', block => block.writeUInt32LE(4, 60), 60, /invalid padding offset 4/],
    ['start', block => block.writeUInt32LE(59, 60), 60, /invalid padding offset 59/],
    ['start', block => block.writeUInt32LE(0xffffffff, 60), 60, /invalid padding offset 4294967295/],
    ['start, at a record', block => block.writeUInt32LE(19, 60), 19, /padding mark is 6, expected 63|mark is 5,/],
    ['start, in a record', block => block.writeUInt32LE(12, 60), 9, /too few for a record/],
    ['start, in a later record', block => block.writeUInt32LE(26, 60), 19, /runs past the end/],
    ['a length of 0', block => block.writeUInt16LE(0, 9), 9, /record length 0/],
    ['the length in front', block => block.writeUInt16LE(7, 9), 9, /the length before the record is 7, after it/],
    ['the length behind', block => block.writeUInt16LE(7, 17), 9, /the length before the record is 6, after it 7/],
    ['a length that points outside', block => block.writeUInt16LE(65535, 19), 19, /record length 65535 runs past the end/],
    ['the mark', block => block.writeUInt16LE(62, 28), 28, /padding mark is 62, expected 63/],
    ['a mark too early', block => block.writeUInt16LE(63, 19), 19, /record length 63 runs past the end/]
  ]
  t.equal(findProblem(valid, false), null)
  for (const [what, corrupt, position, reason] of corruptions) {
    const block = Buffer.from(valid)
    corrupt(block)
    for (const checksum of [true, false]) {
      const problem = findProblem(block, checksum)
      t.equal(problem?.position, position, what)
      t.match(problem?.reason ?? '', reason)
    }
  }
  writeChecksum(valid)
  t.equal(findProblem(valid, true), null)
  const block = Buffer.from(valid)
  block[3] ^= 1
  t.equal(findProblem(block, false), null, 'only the checksum covers data')
  t.match(findProblem(block, true)?.reason ?? '', /^checksum mismatch: computed [0-9a-f]{8}, stored [0-9a-f]{8}$/)
  block.writeUInt32LE(0, 56)
  t.equal(findProblem(block, true), null, '0 means that there is none')
  t.end()
})

test('every flipped bit in a block with a checksum is found', (t) => {
  const block = used(64)
  layout.seal(block, write(block, 'first', 'second', 'third'))
  writeChecksum(block)
  let unnoticed = 0
  for (let bit = 0; bit < 64 * 8; bit++) {
    block[bit >>> 3] ^= 1 << (bit & 7)
    if (findProblem(block, true) === null) unnoticed++
    block[bit >>> 3] ^= 1 << (bit & 7)
  }
  t.equal(unnoticed, 0)
  t.equal(findProblem(block, true), null)
  t.end()
})

test('a block of any records is written as the grammar says, is valid, and can be iterated both ways', (t) => {
  const record = fc.uint8Array({ minLength: 1, maxLength: 60 })
  fc.assert(fc.property(fc.integer({ min: 32, max: 300 }), fc.boolean(), fc.array(record, { minLength: 1, maxLength: 40 }), (blockSize, checksum, records) => {
    const block = used(blockSize)
    const parts = []
    let end = 0
    const first = records[0].subarray(0, layout.maxRecordSize(blockSize, checksum))
    for (const data of [first, ...records.slice(1)]) {
      if (!layout.fits(blockSize, checksum, end, data.length)) break
      end = layout.writeRecord(block, end, data)
      parts.push(data)
    }
    layout.seal(block, end)
    if (checksum) writeChecksum(block)

    const framed = parts.map(data => Buffer.concat([bytes(le16(data.length)), data, bytes(le16(data.length))]))
    const crc = checksum ? le32(checksumOf(block)) : '00000000'
    const tail = end <= blockSize - 10 ? `00*${blockSize - 10 - end} ${crc}` : `00*${blockSize - 6 - end}`
    const expected = Buffer.concat([...framed, bytes(`${le16(blockSize - 1)} ${tail} ${le32(end)}`)])
    if (!block.equals(expected)) throw new Error(`${block.toString('hex')} should be ${expected.toString('hex')}`)
    if (findProblem(block, true) !== null) throw new Error(findProblem(block, true).reason)

    const forward = []
    for (let position = 0; position < end; position = layout.nextPosition(block, position)) forward.push(position)
    const backward = []
    for (let position = end; position > 0;) backward.unshift(position = layout.previousPosition(block, position))
    if (String(forward) !== String(backward)) throw new Error(`${forward} and ${backward}`)
    if (!forward.every((position, i) => layout.dataAt(block, position).equals(parts[i]))) throw new Error('other data')
  }), { numRuns: 500 })
  t.pass('500 of them')
  t.end()
})

test('no bytes make validation read outside the block, or find a record that is not there', (t) => {
  fc.assert(fc.property(fc.uint8Array({ minLength: 32, maxLength: 80 }), fc.nat({ max: 80 }), (data, start) => {
    const block = Buffer.from(data)
    block.writeUInt32LE(start, block.length - 4)
    const problem = findProblem(block, true)
    if (problem === null) {
      if (endOfRecords(block, 0, start) !== start) throw new Error('not iterated to its padding')
    } else if (!(problem.position >= 0 && problem.position < block.length && problem.reason !== '')) throw new Error(JSON.stringify(problem))
    const end = endOfRecords(block, 0, block.length)
    if (end > block.length || frameProblem(block, end, block.length) === null) throw new Error(`iterated to ${end}`)
  }), { numRuns: 500 })
  t.pass('500 of them')
  t.end()
})
