'use strict'

// Recycled block buffers: a reader that uses them gets the right bytes, and buffers of
// other readers never change.

const fs = require('fs')
const tape = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { randomFrom } = require('../helpers/random')
const { promises } = require('../helpers/promises')
const { collect, event } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const MIB = 1024 * 1024
const RECORDS = 50000
/** Records for concurrent readers: more bytes than the smaller caches hold. */
const FEWER_RECORDS = thorough ? 25000 : 5000
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** Bytes that a reader has pending, ready or in use, plus one or two reads. */
const MOST_MEMORY = 4 * MIB

/** Gives records as text, of which no byte is part of a buffer. */
const text = { encode: data => data, decode: text => text, buffer: false }

/** A record whose bytes all identify it. */
function make (number) {
  const record = Buffer.alloc(100 + number % 200, number % 255 + 1)
  record.writeUInt32LE(number + 1)
  return record
}

async function logOf (file, options, count = RECORDS) {
  const log = promises(FlumeLog(file, options))
  for (let number = 0; number < count; number += 5000) {
    await log.append(Array.from({ length: 5000 }, (_, i) => make(number + i)))
  }
  await log.close()
}

/** @returns {Promise<number>} bytes that were asked of the system for buffers meanwhile */
async function allocated (work) {
  const { allocUnsafeSlow } = Buffer
  let bytes = 0
  Buffer.allocUnsafeSlow = (size) => {
    bytes += size
    return allocUnsafeSlow(size)
  }
  try {
    await work()
  } finally {
    Buffer.allocUnsafeSlow = allocUnsafeSlow
  }
  return bytes
}

const scan = (log, options, onRecord) => new Promise((resolve, reject) => {
  log.scan(options, onRecord, err => err ? reject(err) : resolve())
})

const readSeqs = (log, options) => new Promise((resolve, reject) => {
  const seqs = []
  const read = log.stream({ ...options, values: false })
  read(null, function next (end, seq) {
    if (end) return end === true ? resolve(seqs) : reject(end)
    seqs.push(seq)
    read(null, next)
  })
})

tape('a log is read with a few MiB of buffers if no views are handed out, or with reuse: true', async (t) => {
  const file = testFolder(t)('log')
  await logOf(file)
  const { log, close, onReady } = promises(FlumeLog(file, { cacheSize: 0, codec: text }))
  await onReady()
  let count = 0
  const whole = await allocated(() => scan(log, {}, () => { count++ }))
  t.equal(count, RECORDS, 'and gives all records')
  t.ok(whole > 2 * MOST_MEMORY, `a scan takes ${whole} bytes, as many as the log has`)
  for (const reverse of [false, true]) {
    const lent = await allocated(() => scan(log, { reverse, reuse: true }, () => { count++ }))
    t.ok(lent < MOST_MEMORY, `with \`reuse\` it takes ${lent}`)
    const seqs = await allocated(async () => { count += (await readSeqs(log, { reverse })).length })
    t.ok(seqs < MOST_MEMORY, `a stream of seqs takes ${seqs}`)
    const texts = await allocated(async () => { count += (await collect(log, { reverse })).length })
    t.ok(texts < MOST_MEMORY, `a stream of records that are decoded from text takes ${texts}`)
  }
  t.equal(count, 7 * RECORDS, 'and so do they')
  await close()
})

tape('cached blocks that make reads uneven do not increase the number of buffers', async (t) => {
  const file = testFolder(t)('log')
  await logOf(file, { blockSize: 1024 })
  const { log, get, close, onReady } = promises(FlumeLog(file))
  await onReady()
  let piece = 511
  for (const seq of await readSeqs(log, { cache: false })) {
    if (Math.floor(seq / 1024) === piece && (piece += 512)) await get(seq)
  }
  let count = 0
  const taken = await allocated(() => scan(log, { reuse: true, cache: false }, () => { count++ }))
  t.equal(count, RECORDS, 'all records are there')
  t.ok(taken < log.since.value / 2, `it takes ${taken} bytes`)
  await close()
})

tape('buffers passed by a scan without `reuse` do not change', async (t) => {
  const file = testFolder(t)('log')
  await logOf(file)
  const { log, close } = promises(FlumeLog(file, { cacheSize: 0 }))
  const kept = []
  await scan(log, {}, (block, start, end) => { kept.push(block.subarray(start, end)) })
  await scan(log, { reuse: true }, () => {})
  t.equal(kept.length, RECORDS, 'it has shown all records')
  t.ok(kept.every((data, number) => data.equals(make(number))), 'all of it')
  await close()
})

tape('a buffer is not reused while a slow read into it is in progress', async (t) => {
  const file = testFolder(t)('log')
  await logOf(file)
  const { log, get, close, onReady } = promises(FlumeLog(file))
  await onReady()
  const seqs = await readSeqs(log, { cache: false })

  const { readv } = fs
  const late = []
  let calls = 0
  let twice = 0
  const filling = new Set()
  fs.readv = (fd, buffers, offset, cb) => {
    if (buffers.some(buffer => filling.has(buffer))) twice++
    for (const buffer of buffers) filling.add(buffer)
    const read = () => readv(fd, buffers, offset, (err, bytes) => {
      for (const buffer of buffers) filling.delete(buffer)
      cb(err, bytes)
    })
    // delays two large consecutive reads
    if (buffers.length > 1 && calls++ > 0 && late.length < 2) late.push({ read, start: offset, end: offset + buffers.length * 65536 })
    else read()
    if (late.length === 2) overtake?.()
  }
  let overtake = () => {
    overtake = null
    setImmediate(async () => {
      const [first, second] = late
      for (const seq of seqs) if (seq >= second.start && seq < second.end) await get(seq)
      first.read()
    })
  }
  try {
    let number = 0
    const scanned = scan(log, { reuse: true, cache: false }, (block, start, end) => {
      if (make(number).compare(block, start, end) !== 0) throw new Error(`record ${number} has other bytes`)
      // the reader is past it by now, since its blocks were in the cache
      if (++number === RECORDS) late[1].read()
    })
    await scanned
    t.equal(number, RECORDS, 'all is read, past what was waited for')
    t.equal(twice, 0, 'nothing is read into memory that another read fills')
  } finally {
    fs.readv = readv
  }
  await close()
})

const SETTINGS = [{ cacheSize: 0 }, { cacheSize: 2 * MIB }, { cacheSize: 40 * MIB }, { cacheSize: 2 * MIB, blockSize: 3000 }, { cacheSize: 0, blocking: false, checksum: false }]

// two of them each time
for (const options of SETTINGS.filter((_, i) => thorough || (i + SEED) % SETTINGS.length < 2)) {
  tape(`concurrent readers of all kinds get the right records during deletions: ${JSON.stringify(options)}`, async (t) => {
    t.comment(`SEED=${SEED} repeats what is drawn by lot`)
    const random = randomFrom(SEED)
    const file = testFolder(t)('log')
    await logOf(file, options, FEWER_RECORDS)
    const log = promises(FlumeLog(file, { ...options, codec: text }))
    const seqs = await readSeqs(log.log, {})
    const deleted = new Set()
    const numberOf = new Map(seqs.map((seq, number) => [seq, number]))
    const state = { seqs, deleted, numberOf, wrong: [], records: 0 }

    await Promise.all([
      ...Array.from({ length: 6 }, (_, i) => scanAll(log.log, state, random, i % 2 > 0)),
      ...Array.from({ length: 4 }, (_, i) => streamAll(log.log, state, random, i % 2 > 0, i > 1)),
      getSome(log, state, random),
      deleteSome(log, state, random)
    ])
    t.deepEqual(state.wrong.slice(0, 5), [], `${state.records} records were right, ${deleted.size} deleted`)
    await log.close()
  })
}

/** Each record is read once, in order, except those that are deleted or being deleted. */
class Expected {
  constructor (state, { gte, lte, reverse }) {
    this.state = state
    this.left = state.seqs.filter(seq => seq >= gte && seq <= lte)
    if (!reverse) this.left.reverse()
  }

  see (seq) {
    const { wrong, deleted } = this.state
    let expected
    do expected = this.left.pop(); while (expected !== undefined && expected !== seq && deleted.has(expected))
    if (expected !== seq) wrong.push(`${seq} came, where ${expected} should`)
    this.state.records++
  }

  end () {
    const missing = this.left.filter(seq => !this.state.deleted.has(seq))
    if (missing.length > 0) this.state.wrong.push(`${missing.length} did not come, ${missing[0]} and more`)
  }
}

const boundsFrom = ({ seqs }, random) => {
  const [gte, lte] = [random.pick(seqs), random.pick(seqs)].sort((a, b) => a - b)
  return random() < 0.3 ? { gte: 0, lte: Infinity } : { gte, lte }
}

async function scanAll (log, state, random, reverse) {
  for (let i = 0; i < 2; i++) {
    const options = { ...boundsFrom(state, random), reverse, reuse: random() < 0.8, cache: random() < 0.5 }
    const expected = new Expected(state, options)
    await scan(log, options, (block, start, end, seq) => {
      expected.see(seq)
      const record = make(state.numberOf.get(seq))
      if (record.compare(block, start, end) !== 0 && !state.deleted.has(seq)) state.wrong.push(`${seq} has other bytes`)
    })
    expected.end()
  }
}

async function streamAll (log, state, random, reverse, values) {
  const options = { ...boundsFrom(state, random), reverse }
  const expected = new Expected(state, options)
  const read = log.stream({ ...options, values })
  for (;;) {
    const { end, item } = await event(resolve => read(null, (end, item) => resolve({ end, item })))
    if (end) break
    const seq = values ? item.seq : item
    expected.see(seq)
    if (values && item.value !== make(state.numberOf.get(seq)).toString()) state.wrong.push(`${seq} has another text`)
    if (random() < 0.01) await event(setImmediate)
  }
  expected.end()
}

async function getSome ({ get }, state, random) {
  for (let i = 0; i < 2000; i++) {
    const seq = random.pick(state.seqs)
    const value = await get(seq).catch(err => err)
    if (state.deleted.has(seq)) continue
    if (value !== make(state.numberOf.get(seq)).toString()) state.wrong.push(`get of ${seq} gave ${value}`)
    if (random() < 0.1) await event(setImmediate)
  }
}

async function deleteSome ({ del }, state, random) {
  for (let i = 0; i < 40; i++) {
    const some = Array.from({ length: 5 }, () => random.pick(state.seqs))
    for (const seq of some) state.deleted.add(seq)
    await del(some)
    await event(setImmediate)
  }
}
