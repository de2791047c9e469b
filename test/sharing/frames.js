'use strict'

// The bytes of the protocol: lib/sharing/frames.js and frame-reader.js, with any values and
// however the bytes arrive, and against an encoder that was written from docs/protocol.md.

const test = require('tape')
const fc = require('fast-check')
const frames = require('../../lib/sharing/frames')
const { FrameReader } = require('../../lib/sharing/frame-reader')
const raw = require('../helpers/raw-client')
const { isSame } = require('../helpers/reading')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const u64 = fc.maxSafeNat()
const id = fc.uint8Array({ minLength: 8, maxLength: 8 }).map(bytes => Buffer.from(bytes))
const record = (fields) => fc.record(fields, { noNullPrototype: true })
/** Its last number is below 2^53, too. */
const run = record({ first: fc.integer({ min: 1, max: 2 ** 52 }), count: fc.integer({ min: 1, max: 2 ** 32 - 1 }), seq: u64 })
const error = record({ code: fc.string(), message: fc.string({ maxLength: 2000 }), offset: fc.option(u64, { nil: undefined }) })
  .map(({ code, message, offset }) => Object.assign(new Error(message), { code }, offset === undefined ? {} : { offset }))

/** An APPEND, made as a client makes it. */
function appendFrame (header, records) {
  const framed = raw.framed(records)
  const start = frames.APPEND_SIZE + (header.after === null ? 0 : frames.CONDITION_SIZE)
  const bytes = Buffer.alloc(start + framed.length)
  framed.copy(bytes, start)
  frames.writeAppendHeader(bytes, bytes.length, header)
  return bytes
}

/** Like deepEqual, but throws, and is not counted. */
function mustEqual (actual, expected) {
  if (!isSame(actual, expected)) throw new Error(`${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`)
}

const decode = (type) => (bytes) => frames.decode(type, bytes)
const body = (frame) => frame.subarray(frames.HEADER_SIZE)
const told = ({ message, code, offset }) => ({ message, code, offset })

const hello = record({ id: id.map(bytes => bytes.toString('hex')), answered: u64, log: fc.option(fc.string({ maxLength: 40 })), pid: u32 })
const welcome = record({
  version: fc.constant(frames.VERSION), checksum: fc.boolean(), isUnknown: fc.boolean(), blockSize: fc.integer({ min: 32, max: 65536 }), window: u32, runs: fc.array(run), id: fc.string({ maxLength: 40 })
})
/** Bit 2 of its flags says whether it has a condition. */
const append = record({ first: u64, count: u32, answered: u64, flags: fc.nat(255), after: fc.option(fc.integer({ min: -1, max: 2 ** 53 - 2 })) })
  .map(header => ({ ...header, flags: header.after === null ? header.flags & ~4 : header.flags | 4 }))
const conflict = record({ first: u64, count: u32, seq: fc.integer({ min: -1, max: 2 ** 53 - 1 }), end: u64 })
const records = fc.array(fc.uint8Array({ minLength: 1, maxLength: 100 }).map(bytes => Buffer.from(bytes)), { maxLength: 10 })
const op = (name, offsets = {}) => record({ op: fc.constant(name), ...offsets })
const ask = fc.oneof(op('sync'), op('delete', { seq: u64 }), op('deleteRange', { first: u64, last: u64 }), op('trim', { offset: u64 }), op('compact', { id: fc.uuid() }))

const withoutVersion = ({ version, protocol, ...rest }) => version === frames.VERSION && rest
const asFrame = (type) => [(value) => frames.encode(type, value), decode(type)]

/** type -> [what is encoded, encode, decode] */
const CODECS = {
  HELLO: [hello, frames.hello, (bytes) => withoutVersion(frames.decode(frames.HELLO, bytes))],
  WELCOME: [welcome, ...asFrame(frames.WELCOME)],
  ACK: [run, ...asFrame(frames.ACK)],
  APPEND: [
    fc.tuple(append, records),
    ([header, records]) => appendFrame(header, records),
    (bytes) => { const { records, ...header } = frames.decode(frames.APPEND, bytes); return [header, recordsIn(records)] }
  ],
  CONFLICT: [conflict, ...asFrame(frames.CONFLICT)],
  REQUEST: [record({ request: u64, ask }), ...asFrame(frames.REQUEST)],
  REPLY: [record({ request: u64, result: fc.jsonValue().map(value => JSON.parse(JSON.stringify(value))) }), ...asFrame(frames.REPLY)]
}

function recordsIn (bytes) {
  const list = []
  for (let at = 0; at < bytes.length; at += list.at(-1).length + 4) list.push(bytes.subarray(at + 2, at + 2 + bytes.readUInt16LE(at)))
  return list
}

for (const [name, [values, encode, decode]] of Object.entries(CODECS)) {
  test(`what is read from ${name} is what was written`, (t) => {
    fc.assert(fc.property(values, (value) => {
      const bytes = encode(value)
      if (bytes.readUInt32LE(0) !== bytes.length - 4 || bytes[4] !== frames[name]) throw new Error('the header is wrong')
      mustEqual(decode(body(bytes)), value)
    }), { seed: SEED, numRuns: 300 })
    t.pass(`SEED=${SEED}`)
    t.end()
  })
}

test('errors arrive with their codes and properties', (t) => {
  fc.assert(fc.property(error, (err) => {
    const fields = { request: 1, error: err }
    for (const type of [frames.NACK, frames.REPLY, frames.REFUSED]) {
      const { error } = frames.decode(type, body(frames.encode(type, fields)))
      mustEqual(told(error), told(err))
    }
  }), { seed: SEED, numRuns: 300 })
  t.end()
})

test('the frames of a client are those that docs/protocol.md describes', (t) => {
  fc.assert(fc.property(append, records, (header, list) => {
    if (!raw.append(header.first, list, header).equals(appendFrame(header, list))) throw new Error('another APPEND')
  }), { seed: SEED, numRuns: 300 })
  const greeting = { id: 'ab'.repeat(8), answered: 1, log: '0', pid: 1 }
  t.equal(String(raw.hello(Buffer.alloc(8, 0xab), 1, { log: '0' })), String(frames.hello(greeting)))
  t.equal(String(raw.del(7, 8)), String(frames.encode(frames.REQUEST, { request: 7, ask: { op: 'delete', seq: 8 } })))
  for (const [name, bytes] of [['PING', raw.ping()], ['BYE', raw.bye()]]) t.deepEqual(bytes, frames.encode(frames[name]), name)
  t.end()
})

/** Pushes bytes in pieces: what is read, or the message of the error and what was read before. */
function readIn (bytes, cuts) {
  const read = []
  let kept = 0
  const reader = new FrameReader((type, body) => read.push([type, body.toString('hex')]))
  const edges = [0, ...cuts.map(cut => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  try {
    edges.slice(1).forEach((end, i) => {
      // a copy: the reader may not rely on what a socket uses again
      const chunk = Buffer.from(bytes.subarray(edges[i], end))
      reader.push(chunk)
      chunk.fill(0xee)
      kept = Math.max(kept, reader.unfinished.length)
    })
  } catch (err) {
    return { read, problem: err.message, kept: 0 }
  }
  return { read, kept }
}

const frame = fc.tuple(fc.nat(255), fc.uint8Array({ maxLength: 300 })).map(([type, body]) => raw.frame(type, Buffer.from(body)))
const cuts = fc.array(fc.nat(5000), { maxLength: 30 })

test('the same frames come out, however their bytes are cut into chunks', (t) => {
  fc.assert(fc.property(fc.array(frame), cuts, fc.nat(20), (list, cuts, missing) => {
    const all = Buffer.concat(list)
    const bytes = all.subarray(0, Math.max(0, all.length - missing))
    const whole = []
    let end = 0
    for (const frame of list) {
      if (end + frame.length > bytes.length) break
      end += frame.length
      whole.push([frame[4], frame.toString('hex', 5)])
    }
    for (const where of [cuts, [], Array.from(bytes, (_, i) => i)]) {
      mustEqual(readIn(bytes, where).read, whole)
    }
  }), { seed: SEED, numRuns: 300 })
  t.pass(`SEED=${SEED}`)
  t.end()
})

test('any bytes are read alike in one chunk and in many, up to the same error', (t) => {
  const small = fc.oneof(frame, fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes)))
  fc.assert(fc.property(fc.array(small), cuts, (list, cuts) => {
    const bytes = Buffer.concat(list)
    const { kept, ...one } = readIn(bytes, [])
    for (const where of [cuts, Array.from(bytes, (_, i) => i)]) {
      const { kept, ...many } = readIn(bytes, where)
      mustEqual(many, one)
    }
  }), { seed: SEED, numRuns: 300 })
  t.pass(`SEED=${SEED}`)
  t.end()
})

test('a frame that is announced takes memory only as it arrives', (t) => {
  const announced = Buffer.concat([raw.u32(2 ** 20 - 4), Buffer.alloc(3000, 2)])
  t.ok(readIn(announced, Array.from({ length: 3004 }, (_, i) => i)).kept < 10_000)
  const nearlyWhole = Buffer.concat([raw.u32(2 ** 20 - 4), Buffer.alloc(2 ** 20 - 5, 2)])
  t.equal(readIn(nearlyWhole, Array.from({ length: 100 }, (_, i) => i * 10_000)).kept, 2 ** 20, 'and never more than it has')
  t.end()
})

test('decoders of any bytes give a value or flumelog:protocol', (t) => {
  const types = ['HELLO', 'APPEND', 'REQUEST', 'WELCOME', 'ACK', 'NACK', 'REPLY', 'REFUSED', 'CONFLICT'].map(name => frames[name])
  // a value that cannot be made a string, and JSON of one for which the stack is too small
  const value = fc.oneof(fc.jsonValue(), fc.constant({ toString: 1 }))
  const part = fc.oneof(value, record({ op: value, seq: value, code: value, message: value, cause: value }), record({ op: fc.constant('delete'), seq: value }))
  const nested = fc.constant('['.repeat(20000) + ']'.repeat(20000))
  const member = fc.tuple(fc.constantFrom('protocol', 'version', 'request', 'ask', 'error', 'runs', 'first', 'id'), fc.oneof({ arbitrary: nested, weight: 1 }, { arbitrary: part.map(value => JSON.stringify(value)), weight: 50 })).map(([name, text]) => `"${name}":${text}`)
  const text = fc.oneof(fc.json(), fc.string(), fc.array(member, { minLength: 1, maxLength: 4 }).map(members => `{"request":1,${members.join()}}`))
  const bytes = fc.oneof(fc.uint8Array({ maxLength: 80 }).map(bytes => Buffer.from(bytes)), text.map(text => Buffer.from(text)))
  fc.assert(fc.property(bytes, (bytes) => {
    for (const type of types) {
      try {
        frames.decode(type, bytes)
      } catch (err) {
        if (err.code !== 'flumelog:protocol') throw err
      }
    }
  }), { seed: SEED, numRuns: 2000 })
  t.end()
})
