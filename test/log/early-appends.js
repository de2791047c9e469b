'use strict'

// Appends that are made before the log is open, compared with the same appends made later.

const fs = require('fs')
const { execFile } = require('child_process')
const tape = require('tape')
const fc = require('fast-check')
const FlumeLog = require('../..')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')
const { collect, codeOf, event } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 100 : 30))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const MIB = 1024 * 1024

/** A record of this size, which differs from its neighbours; 0: one that cannot be stored. */
const size = fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 1, max: 60 }) }, fc.integer({ min: 61, max: 300 }), fc.constant(0))
/** For a condition: there are logs of which this is the last record. */
const after = fc.constantFrom(-1, 0, 96, 128)
const call = fc.oneof(
  { weight: 6, arbitrary: fc.record({ sizes: size }) },
  { weight: 3, arbitrary: fc.record({ sizes: fc.array(size, { maxLength: 6 }), sync: fc.boolean(), atomic: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ sizes: fc.oneof(size, fc.array(size, { maxLength: 3 })), atomic: fc.boolean(), after }) }
)
const world = fc.record({
  /** Block size of the file, and the one given. */
  blockSize: fc.constantFrom(128, 256, 65536),
  isGiven: fc.boolean(),
  /** Records in the file. */
  before: fc.constantFrom(0, 1, 5),
  role: fc.constantFrom('alone', 'alone', 'owner', 'client'),
  checksum: fc.boolean()
})

tape(`appends made before the log is open store and call back the same as later ones, in ${RUNS} random runs`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const folder = testFolder(t)
  let runs = 0
  await fc.assert(fc.asyncProperty(world, fc.array(call, { maxLength: 30 }), async (world, calls) => {
    const early = await run(folder(`early-${++runs}`), world, calls, false)
    const late = await run(folder(`late-${runs}`), world, calls, true)
    // where blocks are smaller than assumed, what is too large for them is told later
    const [told, expected] = [early, late].map(({ results }) => results.map(({ n, outcome }) => ({ n, outcome })))
    const byNumber = (a, b) => a.n - b.n
    same(told.sort(byNumber), expected.sort(byNumber), 'outcomes')
    same(early.stored, late.stored, 'what is stored')
    same(inOrder(early.results), inOrder(late.results), 'order of the callbacks of what is stored')
    same(early.appended, late.appended, 'counts')
  }), { numRuns: RUNS, seed: SEED })
  t.pass('no difference was found')
})

/** Makes the calls before the log is open, or when it is. */
async function run (file, { blockSize, isGiven, before, role, checksum }, calls, isLate) {
  const options = { checksum, shared: role !== 'alone' }
  const made = promises(FlumeLog(file, { blockSize, ...options }))
  for (let i = 0; i < before; i++) await made.append(`record ${i} from before`)
  // an empty file has no block size yet
  if (before === 0) await made.onReady()
  if (role !== 'client') await made.close()
  const mustGive = isGiven || before === 0
  const log = FlumeLog(file, { ...options, blockSize: mustGive ? blockSize : undefined })
  const opened = event(resolve => log.onReady(resolve))
  if (isLate) await opened
  const results = []
  await Promise.all(calls.map(({ sizes, ...options }, n) => new Promise(resolve => {
    const value = Array.isArray(sizes) ? sizes.map((size, i) => bytes(size, n + i)) : bytes(sizes, n)
    // a client asks its owner to sync instead of appending nothing, and may get that answer later
    const sync = options.sync && !(role === 'client' && value.length === 0)
    log.append(value, { ...options, sync }, (err, seqs) => {
      // of two reasons, the one that is known first is told
      results.push({ n, outcome: err ? mustGive ? err.code : 'refused' : seqs })
      resolve()
    })
    // the caller's own memory may be used again
    for (const buffer of [value].flat()) buffer.fill(255)
  })))
  if (await opened) throw await opened
  const stored = await collect(log)
  const { appended } = log.stats()
  await promises(log).close()
  if (role === 'client') await made.close()
  return { results, stored: stored.map(({ seq, value }) => [seq, value.toString('latin1')]), appended }
}

/** Numbers of the calls that were stored, in the order of their callbacks. */
function inOrder (results) {
  return results.filter(({ outcome }) => typeof outcome !== 'string').map(({ n }) => n)
}

function bytes (size, n) {
  return Buffer.alloc(size, 1 + n % 250)
}

function same (found, expected, what) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${what}: ${JSON.stringify(found)}\n instead of ${JSON.stringify(expected)}`)
}

for (const { name, blockSize, before } of [
  { name: 'an empty log', blockSize: 65536, before: [] },
  { name: 'a log with records', blockSize: 65536, before: ['x'] },
  { name: 'a log that ends with a full block', blockSize: 4096, before: ['x', 'y'.repeat(4082)] },
  { name: 'a log with small blocks, which are not given', blockSize: 512, before: ['x'] }
]) {
  tape(`many appends before ${name} is open are stored in order, each where its callback says`, async (t) => {
    const file = testFolder(t)('log')
    const made = promises(FlumeLog(file, { blockSize }))
    for (const value of before) await made.append(value)
    await made.close()
    const log = promises(FlumeLog(file, before.length === 0 || blockSize === 512 ? {} : { blockSize }))
    const values = Array.from({ length: 20_000 }, (_, i) => `${i} `.padEnd(100, '.'))
    const atomic = log.append(['first', 'second'], { atomic: true })
    const seqs = await Promise.all(values.map(value => log.append(value)))
    const found = await collect(log.log)
    t.deepEqual(found.map(({ value }) => String(value)), [...before, 'first', 'second', ...values])
    t.deepEqual(found.slice(-values.length).map(({ seq }) => seq), seqs)
    t.deepEqual(found.slice(before.length, before.length + 2).map(({ seq }) => seq), await atomic, 'the seqs of an atomic batch, too')
    await log.close()
    const again = promises(FlumeLog(file, { readOnly: true }))
    t.equal((await collect(again.log)).length, found.length, 'and all of it is in the file')
    await again.close()
  })
}

tape('a listener of since can append and read at once, and what was appended before comes first', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log')))
  const first = log.append('first')
  const second = await event(resolve => log.log.since.once(() => resolve(log.append('second'))))
  t.deepEqual([await first, await second], [0, 9])
  t.deepEqual((await collect(log.log, { seqs: false })).map(String), ['first', 'second'])
  await log.close()
})

tape('what is appended before a log is open is counted at once', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log'), { highWaterMark: 10 }))
  const results = [log.append('12345678'), codeOf(log.append(''))]
  const { appended, inFlight } = log.log.stats()
  t.deepEqual({ appended, inFlight }, { appended: { records: 1, bytes: 8 }, inFlight: { records: 1, bytes: 8 } })
  t.deepEqual(await Promise.all(results), [0, 'flumelog:invalid'])
  await log.close()
  t.equal(log.log.stats().inFlight.records, 0)
})

tape('every append before a log that cannot be opened gets the error of opening, once and in order', async (t) => {
  const file = testFolder(t)('log')
  fs.mkdirSync(file)
  const log = FlumeLog(file)
  const calls = []
  const closed = event(resolve => {
    for (const value of ['a', ['b', 'c'], 'd']) log.append(value, (err) => calls.push([value, err.code]))
    log.append(['e'], { atomic: true }, (err, seqs) => calls.push(['e', err.code, seqs]))
    log.close(resolve)
  })
  await closed
  t.deepEqual(calls, [['a', 'EISDIR'], [['b', 'c'], 'EISDIR'], ['d', 'EISDIR'], ['e', 'EISDIR', undefined]])
})

tape('an error of an append without a callback, made before the log is open, is reported by onDrain', async (t) => {
  const file = testFolder(t)('log')
  const before = promises(FlumeLog(file))
  await before.append('x')
  await before.close()
  const log = promises(FlumeLog(file))
  log.log.append('')
  t.equal(await codeOf(log.onDrain()), 'flumelog:invalid')
  await log.close()
})

tape('an error of an append without a callback is not reported by what was called before it', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log')))
  const before = codeOf(log.onDrain())
  log.log.append('')
  const after = codeOf(log.onDrain())
  t.deepEqual([await before, await after], ['no error, but undefined', 'flumelog:invalid'])
  await log.close()
})

tape('an append on a read-only log is refused as such, even if the log is closed next', async (t) => {
  const file = testFolder(t)('log')
  await promises(FlumeLog(file)).close()
  const log = promises(FlumeLog(file, { readOnly: true }))
  const early = codeOf(log.append('x'))
  await log.onReady()
  const late = codeOf(log.append('x'))
  await log.close()
  t.deepEqual([await early, await late], ['flumelog:read-only', 'flumelog:read-only'])
})

tape('early atomic batches take little memory', async (t) => {
  const file = testFolder(t)('log')
  const before = promises(FlumeLog(file, { blockSize: 512 }))
  await before.append(Array.from({ length: 20 }, () => 'x'.repeat(300)))
  await before.close()
  const log = promises(FlumeLog(file))
  const { arrayBuffers } = process.memoryUsage()
  const batches = Array.from({ length: 2000 }, (_, i) => log.append([`${i}`, 'second'], { atomic: true }))
  const bytes = process.memoryUsage().arrayBuffers - arrayBuffers
  t.ok(bytes < 2 * MIB, `${bytes} bytes`)
  const seqs = await Promise.all(batches)
  for (const [i, [first, second]] of seqs.entries()) {
    if (String(await log.get(first)) !== `${i}` || String(await log.get(second)) !== 'second') t.fail(`batch ${i}`)
  }
  await log.close()
})

tape('appends before a log is open take little more memory than their bytes', async (t) => {
  const program = `
    const log = require(${JSON.stringify(require.resolve('../..'))})(${JSON.stringify(testFolder(t)('log'))})
    const record = Buffer.alloc(155, 'x')
    const { rss } = process.memoryUsage()
    let answered = 0
    for (let i = 0; i < 500000; i++) log.append(record, () => { answered++ })
    log.close(() => console.log(JSON.stringify({ answered, bytes: process.resourceUsage().maxRSS * 1024 - rss })))`
  const output = await event(resolve => execFile(process.execPath, ['-e', program], (err, stdout) => resolve(err ?? JSON.parse(stdout))))
  t.equal(output.answered, 500000)
  t.ok(output.bytes < 2.2 * 155 * 500000, `${(output.bytes / MIB).toFixed(0)} MiB for ${(155 * 500000 / MIB).toFixed(0)} MiB`)
})
