'use strict'

// lib/format/layout.js by whole blocks, byte by byte: what is written where, and which bytes
// are believed. Nothing of a log, nothing of a file.

const test = require('tape')
const fc = require('fast-check')
const { crc32 } = require('zlib')
const layout = require('../../lib/format/layout')

const SIZES = [32, 33, 64, 100, 255, 256, 257, 1024, 4096, 32767, 65535, 65536]

/** Bytes by hand: "06 00" is hex, "'text'" is text, "0*5" is five zeros. */
function bytes (text) {
  return Buffer.concat(text.match(/'[^']*'|[0-9a-f]{2}\*\d+|[0-9a-f]{2}/g).map(part => {
    if (part[0] === "'") return Buffer.from(part.slice(1, -1))
    const [byte, times] = part.split('*')
    return Buffer.alloc(Number(times ?? 1), parseInt(byte, 16))
  }))
}

/** A block of garbage, so that what is not written shows. */
function used (blockSize) {
  return Buffer.alloc(blockSize, 0xee)
}

function write (block, ...records) {
  return records.reduce((position, record) => layout.writeRecord(block, position, Buffer.from(record)), 0)
}

/** 0x0a -> "0a 00", as the format has it. */
function le16 (number) {
  return Buffer.from([number & 255, number >> 8]).toString('hex')
}

function le32 (number) {
  return le16(number & 65535) + le16(number >>> 16)
}

test('a record is its length, its data, and its length again', (t) => {
  const block = used(32)
  t.equal(layout.writeRecord(block, 0, Buffer.from('abc')), 7)
  t.deepEqual(block, bytes("03 00 'abc' 03 00 ee*25"))
  t.equal(layout.writeRecord(block, 7, Buffer.from('d')), 12)
  t.deepEqual(block, bytes("03 00 'abc' 03 00 01 00 'd' 01 00 ee*20"))
  t.end()
})

test('a length has its low byte first', (t) => {
  for (const length of [1, 255, 256, 257, 65522, 65526]) {
    const block = used(65536)
    t.equal(layout.writeRecord(block, 0, Buffer.alloc(length, 1)), length + 4)
    t.deepEqual(block, bytes(`${le16(length)} 01*${length} ${le16(length)} ee*${65532 - length}`), `${length}`)
  }
  t.end()
})

test('a Uint8Array is stored as a Buffer is', (t) => {
  const block = used(32)
  t.equal(layout.writeRecord(block, 3, new Uint8Array([1, 2, 3]).subarray(1)), 9)
  t.deepEqual(block, bytes('ee*3 02 00 02 03 02 00 ee*23'))
  t.end()
})

test('sealing puts the mark, zeros and the start into what is left, over whatever was there', (t) => {
  const block = used(32)
  layout.seal(block, write(block, 'abc'))
  t.deepEqual(block, bytes("03 00 'abc' 03 00 1f 00 00*19 07 00 00 00"))
  t.end()
})

test('stamping adds the checksum of all the other bytes', (t) => {
  const block = used(32)
  layout.seal(block, write(block, 'abc'))
  layout.writeChecksum(block)
  const checksum = crc32(bytes("03 00 'abc' 03 00 1f 00 00*15 07 00 00 00"))
  t.equal(checksum, 0xd90ec312)
  t.deepEqual(block, bytes(`03 00 'abc' 03 00 1f 00 00*15 ${le32(checksum)} 07 00 00 00`))
  t.equal(layout.storedChecksum(block), checksum)
  t.equal(layout.checksumOf(block), checksum)
  layout.writeChecksum(block)
  t.equal(layout.storedChecksum(block), checksum, 'to do it twice changes nothing')
  t.end()
})

test('at every block size, the largest record fits, one more byte does not, and the block is as the format says', (t) => {
  for (const blockSize of SIZES) {
    for (const checksum of [true, false]) {
      const padding = checksum ? 10 : 6
      const most = blockSize - padding - 4
      t.equal(layout.paddingSize(checksum), padding)
      t.equal(layout.maxRecordSize(blockSize, checksum), most)
      t.ok(layout.fits(blockSize, checksum, 0, most))
      t.notOk(layout.fits(blockSize, checksum, 0, most + 1))

      const block = used(blockSize)
      layout.seal(block, layout.writeRecord(block, 0, Buffer.alloc(most, 1)))
      if (checksum) layout.writeChecksum(block)
      const crc = checksum ? le32(layout.checksumOf(block)) : ''
      t.deepEqual(block, bytes(`${le16(most)} 01*${most} ${le16(most)} ${le16(blockSize - 1)} ${crc} ${le32(blockSize - padding)}`), `${blockSize}`)
      t.equal(layout.findProblem(block, true), null)
    }
  }
  t.end()
})

test('for every position and length in a small block, a record fits exactly if its end leaves room for the padding', (t) => {
  const wrong = []
  for (const blockSize of [32, 33, 48]) {
    for (const checksum of [true, false]) {
      const padding = checksum ? 10 : 6
      for (let position = 0; position <= blockSize; position++) {
        for (let length = 1; length <= blockSize; length++) {
          const fits = position + 2 + length + 2 + padding <= blockSize
          if (layout.fits(blockSize, checksum, position, length) !== fits) wrong.push({ blockSize, checksum, position, length })
        }
      }
    }
  }
  t.deepEqual(wrong, [])
  t.end()
})

test('for every place in a small block at which its records can end, it is sealed soundly', (t) => {
  for (const blockSize of [32, 33, 48]) {
    const wrong = []
    for (let start = 5; start <= blockSize - 6; start++) {
      for (const checksum of [true, false]) {
        const block = used(blockSize)
        layout.seal(block, layout.writeRecord(block, 0, Buffer.alloc(start - 4, 1)))
        const hasRoom = start <= blockSize - 10
        const plain = bytes(`${le16(start - 4)} 01*${start - 4} ${le16(start - 4)} ${le16(blockSize - 1)} 00*${blockSize - 6 - start} ${le32(start)}`)
        if (checksum) {
          layout.writeChecksum(block)
          if (hasRoom) plain.writeUInt32LE(crc32(Buffer.concat([plain.subarray(0, -8), plain.subarray(-4)])), blockSize - 8)
        }
        const isRight = block.equals(plain) &&
          layout.findProblem(block, true) === null && layout.findProblem(block, false) === null &&
          layout.paddingStart(block) === start &&
          (layout.storedChecksum(block) !== 0) === (checksum && hasRoom)
        if (!isRight) wrong.push({ start, checksum })
      }
    }
    t.deepEqual(wrong, [], `${blockSize}`)
  }
  t.end()
})

test('without room for it there is no checksum, whatever stands in its place', (t) => {
  // start is 23, so the place, positions 24 to 27, has the second byte of the mark
  const block = used(32)
  layout.seal(block, layout.writeRecord(block, 0, Buffer.alloc(19, 0xff)))
  const before = Buffer.from(block)
  layout.writeChecksum(block)
  t.deepEqual(block, before)
  t.equal(layout.storedChecksum(block), 0)
  t.equal(layout.findProblem(block, true), null)

  // start is 26: a record's bytes reach into the place
  layout.seal(block, layout.writeRecord(block, 0, Buffer.alloc(22, 0xff)))
  layout.writeChecksum(block)
  t.deepEqual(block, bytes('16 00 ff*22 16 00 1f 00 1a 00 00 00'))
  t.equal(layout.findProblem(block, true), null)
  t.end()
})

test('records are walked forward, and backward from where they end', (t) => {
  const block = used(64)
  const records = ['a', 'bcdef', 'gh', 'ijklmnopqrs']
  const starts = [0, 5, 14, 20]
  const end = write(block, ...records)
  t.equal(end, 35)
  let position = 0
  for (let i = 0; i < records.length; i++) {
    t.equal(position, starts[i])
    t.equal(layout.readLength(block, position), records[i].length)
    t.equal(String(layout.dataAt(block, position)), records[i])
    position = layout.nextPosition(block, position)
  }
  t.equal(position, end)
  for (let i = records.length - 1; i >= 0; i--) {
    position = layout.previousPosition(block, position)
    t.equal(position, starts[i])
  }
  t.end()
})

test('the data of a record is a view of the block, not a copy', (t) => {
  const block = used(32)
  write(block, 'abc')
  const data = layout.dataAt(block, 0)
  t.equal(data.buffer, block.buffer)
  t.equal(data.byteOffset, block.byteOffset + 2)
  t.end()
})

test('erasing zeroes a record\'s data and nothing else', (t) => {
  const block = used(32)
  write(block, 'ab', 'cde', 'f')
  t.notOk(layout.isDeleted(block, 6))
  layout.zeroRecord(block, 6)
  t.deepEqual(block, bytes("02 00 'ab' 02 00 03 00 00 00 00 03 00 01 00 'f' 01 00 ee*14"))
  t.deepEqual([0, 6, 13].map(position => layout.isDeleted(block, position)), [false, true, false])
  t.end()
})

test('a record is deleted only if all of its bytes are zero', (t) => {
  const wrong = []
  for (let length = 1; length <= 18; length++) {
    const block = Buffer.alloc(32)
    layout.writeRecord(block, 0, new Uint8Array(length))
    if (!layout.isDeleted(block, 0) || layout.isStorable(layout.dataAt(block, 0))) wrong.push(length)
    for (let i = 0; i < length; i++) {
      const data = Buffer.alloc(length)
      data[i] = 1
      layout.writeRecord(block, 0, data)
      if (layout.isDeleted(block, 0) || !layout.isStorable(data)) wrong.push({ length, i })
    }
  }
  t.deepEqual(wrong, [])
  t.notOk(layout.isStorable(new Uint8Array(0)))
  t.end()
})

test('a walk ends behind the last whole record, wherever the bytes end', (t) => {
  const block = used(32)
  const ends = [0, 5, 11, 18]
  write(block, 'a', 'bc', 'def')
  for (let end = 0; end <= 18; end++) {
    t.equal(layout.endOfRecords(block, 0, end), ends.findLast(at => at <= end), `${end}`)
  }
  t.equal(layout.endOfRecords(block, 5, 18), 18, 'it may begin at any record')
  t.equal(layout.endOfRecords(block, 18, 18), 18)
  t.equal(layout.endOfRecords(block, 0, 32), 18, 'and garbage is no record')
  t.end()
})

test('what is wrong with a frame is said', (t) => {
  const block = used(32)
  write(block, 'a', 'bc')
  t.equal(layout.frameProblem(block, 0, 11), null)
  t.equal(layout.frameProblem(block, 5, 11), null)
  t.equal(layout.frameProblem(block, 5, 9), '4 bytes are left, too few for a record')
  t.equal(layout.frameProblem(block, 5, 10), 'a record of 2 bytes would end outside')
  t.equal(layout.frameProblem(block, 11, 32), `a record of ${0xeeee} bytes would end outside`)
  block.writeUInt16LE(3, 9)
  t.equal(layout.frameProblem(block, 5, 11), 'the length before the record is 2, after it 3')
  t.equal(layout.frameProblem(Buffer.alloc(32), 0, 32), 'a record of length 0')
  t.end()
})

test('each kind of damage is found, with its position', (t) => {
  const sound = used(64)
  layout.seal(sound, write(sound, 'first', 'second', 'third'))
  const damages = [
    ['start', block => block.writeUInt32LE(0, 60), 60, /its padding starts at 0,/],
    ['start', block => block.writeUInt32LE(4, 60), 60, /its padding starts at 4,/],
    ['start', block => block.writeUInt32LE(59, 60), 60, /its padding starts at 59,/],
    ['start', block => block.writeUInt32LE(0xffffffff, 60), 60, /its padding starts at 4294967295,/],
    ['start, at a record', block => block.writeUInt32LE(19, 60), 19, /6 stands where the padding's mark, 63, should be|5 stands where/],
    ['start, in a record', block => block.writeUInt32LE(12, 60), 9, /too few for a record/],
    ['start, in a later record', block => block.writeUInt32LE(26, 60), 19, /would end outside/],
    ['a length of 0', block => block.writeUInt16LE(0, 9), 9, /a record of length 0/],
    ['the length in front', block => block.writeUInt16LE(7, 9), 9, /the length before the record is 7, after it/],
    ['the length behind', block => block.writeUInt16LE(7, 17), 9, /the length before the record is 6, after it 7/],
    ['a length that points outside', block => block.writeUInt16LE(65535, 19), 19, /a record of 65535 bytes would end outside/],
    ['the mark', block => block.writeUInt16LE(62, 28), 28, /62 stands where the padding's mark, 63, should be/],
    ['a mark too early', block => block.writeUInt16LE(63, 19), 19, /a record of 63 bytes would end outside/]
  ]
  t.equal(layout.findProblem(sound, false), null)
  for (const [what, damage, position, reason] of damages) {
    const block = Buffer.from(sound)
    damage(block)
    for (const checksum of [true, false]) {
      const problem = layout.findProblem(block, checksum)
      t.equal(problem?.position, position, what)
      t.match(problem?.reason ?? '', reason)
    }
  }
  layout.writeChecksum(sound)
  t.equal(layout.findProblem(sound, true), null)
  const block = Buffer.from(sound)
  block[3] ^= 1
  t.equal(layout.findProblem(block, false), null, 'data has nothing but the checksum to tell damage by')
  t.match(layout.findProblem(block, true)?.reason ?? '', /^its checksum is [0-9a-f]{8}, the one stored in it [0-9a-f]{8}$/)
  block.writeUInt32LE(0, 56)
  t.equal(layout.findProblem(block, true), null, 'and with 0 there is none')
  t.end()
})

test('every flipped bit of a block with a checksum is found', (t) => {
  const block = used(64)
  layout.seal(block, write(block, 'first', 'second', 'third'))
  layout.writeChecksum(block)
  let unnoticed = 0
  for (let bit = 0; bit < 64 * 8; bit++) {
    block[bit >>> 3] ^= 1 << (bit & 7)
    if (layout.findProblem(block, true) === null) unnoticed++
    block[bit >>> 3] ^= 1 << (bit & 7)
  }
  t.equal(unnoticed, 0)
  t.equal(layout.findProblem(block, true), null)
  t.end()
})

test('a block full of any records is written as the grammar says, checked as sound, and walked both ways', (t) => {
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
    if (checksum) layout.writeChecksum(block)

    const framed = parts.map(data => Buffer.concat([bytes(le16(data.length)), data, bytes(le16(data.length))]))
    const crc = checksum ? le32(layout.checksumOf(block)) : '00000000'
    const tail = end <= blockSize - 10 ? `00*${blockSize - 10 - end} ${crc}` : `00*${blockSize - 6 - end}`
    const expected = Buffer.concat([...framed, bytes(`${le16(blockSize - 1)} ${tail} ${le32(end)}`)])
    if (!block.equals(expected)) throw new Error(`${block.toString('hex')} should be ${expected.toString('hex')}`)
    if (layout.findProblem(block, true) !== null) throw new Error(layout.findProblem(block, true).reason)

    const forward = []
    for (let position = 0; position < end; position = layout.nextPosition(block, position)) forward.push(position)
    const backward = []
    for (let position = end; position > 0;) backward.unshift(position = layout.previousPosition(block, position))
    if (String(forward) !== String(backward)) throw new Error(`${forward} and ${backward}`)
    if (!forward.every((position, i) => layout.dataAt(block, position).equals(parts[i]))) throw new Error('other data')
  }), { numRuns: 500 })
  t.pass('1000 of them')
  t.end()
})

test('no bytes make a check look outside the block, or find a record that is not there', (t) => {
  fc.assert(fc.property(fc.uint8Array({ minLength: 32, maxLength: 80 }), fc.nat({ max: 80 }), (data, start) => {
    const block = Buffer.from(data)
    block.writeUInt32LE(start, block.length - 4)
    const problem = layout.findProblem(block, true)
    if (problem === null) {
      if (layout.endOfRecords(block, 0, start) !== start) throw new Error('not walked to its padding')
    } else if (!(problem.position >= 0 && problem.position < block.length && problem.reason !== '')) throw new Error(JSON.stringify(problem))
    const end = layout.endOfRecords(block, 0, block.length)
    if (end > block.length || layout.frameProblem(block, end, block.length) === null) throw new Error(`walked to ${end}`)
  }), { numRuns: 500 })
  t.pass('2000 of them')
  t.end()
})
