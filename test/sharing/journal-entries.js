'use strict'

// The bytes of a journal: as format.md has them, and what is read from any others.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const fc = require('fast-check')
const { isDeepStrictEqual } = require('util')
const { crc32 } = require('zlib')
const {
  CLIENT, RUN, VOID, FORGET, MOVE, HEADER_SIZE, ENTRY_SIZE, MAX_SLOT, MAX_COUNT, encodeHeader, encodeEntries, decodeJournal, lastChecksum
} = require('../../lib/sharing/journal-entries')

const page = fs.readFileSync(path.join(__dirname, '..', '..', 'format.md'), 'utf8')
const SALT = Buffer.from('0123456789abcdef', 'hex')

const slot = fc.integer({ min: 0, max: MAX_SLOT })
const number = fc.maxSafeNat()
const record = (fields) => fc.record(fields, { noNullPrototype: true })
const entry = fc.oneof(
  record({ type: fc.constant(CLIENT), slot, id: fc.uint8Array({ minLength: 16, maxLength: 16 }).map(id => Buffer.from(id)), stored: number }),
  record({ type: fc.constant(RUN), slot, first: number, count: fc.integer({ min: 1, max: MAX_COUNT }), seq: number }),
  record({ type: fc.constant(VOID), offset: number }),
  record({ type: fc.constant(FORGET), slot }),
  record({ type: fc.constant(MOVE), offset: number, base: number })
)

function journal (entries, salt = SALT) {
  const header = encodeHeader(salt)
  return Buffer.concat([header, encodeEntries(entries, lastChecksum(header))])
}

/** The bytes of the second example in format.md. */
function exampleBytes (t) {
  const lines = [...page.matchAll(/```hex\n([^]*?)```/g)].at(-1)[1].split('\n').filter(line => line !== '')
  return lines.reduce((bytes, line) => {
    const [, count, hex] = line.match(/^ *(\d+) {2}((?:[0-9a-f]{2} )*[0-9a-f]{2})(?: {2,}|$)/)
    if (Number(count) !== bytes.length) t.fail(`the line "${line}" is at offset ${bytes.length}`)
    return Buffer.concat([bytes, Buffer.from(hex.replace(/ /g, ''), 'hex')])
  }, Buffer.alloc(0))
}

test('the example in format.md is what is written and read', (t) => {
  const entries = [
    { type: CLIENT, slot: 0, id: Buffer.from([...Array(16).keys()]), stored: 6 },
    { type: RUN, slot: 0, first: 7, count: 3, seq: 128 },
    { type: VOID, offset: 128 }
  ]
  const bytes = exampleBytes(t)
  t.equal(journal(entries).toString('hex'), bytes.toString('hex'))
  t.deepEqual(decodeJournal(bytes), entries)
  const unchecked = [0, 32, 64, 96].map(at => bytes.subarray(at, at + 28))
  t.equal(bytes.readUInt32LE(124), crc32(Buffer.concat(unchecked)), 'a checksum is that of all bytes before it but the checksums')
  t.end()
})

test('what was written is read, whether at once or in parts, up to an entry that is torn', (t) => {
  fc.assert(fc.property(fc.array(entry), fc.nat(), fc.nat(), (entries, split, cut) => {
    const first = journal(entries.slice(0, split % (entries.length + 1)))
    const bytes = Buffer.concat([first, encodeEntries(entries.slice(split % (entries.length + 1)), lastChecksum(first))])
    if (!bytes.equals(journal(entries))) return false
    const size = cut % (bytes.length + 1)
    const whole = Math.max(0, Math.floor((size - HEADER_SIZE) / ENTRY_SIZE))
    return isDeepStrictEqual(decodeJournal(bytes.subarray(0, size)), entries.slice(0, whole))
  }), { numRuns: 500 })
  t.pass('500 journals')
  t.end()
})

test('an entry that was changed ends the reading, in any bit', (t) => {
  const entries = [{ type: RUN, slot: 1, first: 2, count: 3, seq: 4 }, { type: FORGET, slot: 1 }]
  const bytes = journal(entries)
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3] ^= 1 << (bit & 7)
    const found = decodeJournal(changed)
    if (found.length !== Math.max(0, Math.floor(bit / 8 / ENTRY_SIZE) - 1)) t.fail(`bit ${bit}: ${found.length} entries are read`)
  }
  t.pass('each of them')
  t.end()
})

test('entries behind others than they were written behind are not read', (t) => {
  const run = (first) => ({ type: RUN, slot: 0, first, count: 1, seq: first * 100 })
  const bytes = journal([run(1), run(2), run(3)])
  const other = journal([run(1), { type: VOID, offset: 200 }])
  other.copy(bytes)
  t.deepEqual(decodeJournal(bytes), [run(1), { type: VOID, offset: 200 }], 'of a write that was overwritten in part')
  const old = journal([run(1), run(2)])
  encodeHeader(Buffer.alloc(8)).copy(old)
  t.deepEqual(decodeJournal(old), [], 'of another file')
  t.end()
})

test('what is no journal has no entries', (t) => {
  const bytes = journal([{ type: FORGET, slot: 1 }])
  const newer = encodeHeader(SALT)
  newer.writeUInt32LE(2, 16)
  newer.writeUInt32LE(crc32(newer.subarray(0, 28)), 28)
  for (const [what, other] of Object.entries({
    'an empty file': Buffer.alloc(0),
    zeros: Buffer.alloc(128),
    'half a header': bytes.subarray(0, 31),
    'another format': Buffer.from('{"offset":128}'.repeat(10)),
    'another version': Buffer.concat([newer, encodeEntries([{ type: FORGET, slot: 1 }], lastChecksum(newer))])
  })) t.deepEqual(decodeJournal(other), [], what)
  t.end()
})

test('an entry with a valid checksum that no journal has ends the reading', (t) => {
  const header = encodeHeader(SALT)
  const bad = (change) => {
    const bytes = encodeEntries([{ type: RUN, slot: 1, first: 1, count: 1, seq: 0 }], lastChecksum(header))
    change(bytes)
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 28), lastChecksum(header)), 28)
    return decodeJournal(Buffer.concat([header, bytes, encodeEntries([{ type: FORGET, slot: 1 }], lastChecksum(bytes))]))
  }
  t.equal(bad(() => {}).length, 2)
  t.deepEqual(bad(bytes => { bytes[0] = 9 }), [], 'its type is unknown')
  t.deepEqual(bad(bytes => { bytes[23] = 1 }), [], 'a number is 2^56')
  t.end()
})
