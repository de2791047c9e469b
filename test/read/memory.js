'use strict'

// Reads 200,000 records in every way, a million with `--thorough`: neither the heap nor the stack may grow.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { processFolder } = require('../helpers/folder')
const { gc } = require('../helpers/gc')
const { sealedBlock, tailOf } = require('../helpers/bytes')
const { promises } = require('../helpers/promises')
const { event, frames } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const MIB = 1024 * 1024
const RECORDS = thorough ? 1e6 : 200000
const RECORD_SIZE = 40
const CACHE_SIZE = 4 * MIB
/** Permitted growth of memory during a read; the file has 18 MB or more. */
const MOST_GROWTH = CACHE_SIZE + 4 * MIB
/** Stack frames; reads from within callbacks nest up to a bound. */
const MOST_FRAMES = 1500

const filename = `${processFolder()}/log`
writeRecords()

/** Numbered records, written without a log. */
function writeRecords () {
  const aBlock = Math.floor((65536 - 10) / (RECORD_SIZE + 4))
  const fd = fs.openSync(filename, 'w')
  let number = 0
  while (number < RECORDS) {
    const records = []
    for (let i = 0; i < aBlock && number < RECORDS; i++) {
      const record = Buffer.alloc(RECORD_SIZE, 1)
      record.writeUInt32LE(number++)
      records.push(record)
    }
    fs.writeSync(fd, number < RECORDS ? sealedBlock(65536, records) : tailOf(records))
  }
  fs.closeSync(fd)
}

/** Bytes in use, on the heap and outside of it. */
function inUse () {
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Samples memory and stack at every tenth of a read. */
function watch () {
  const watched = { count: 0, first: 0, growth: 0, frames: 0 }
  watched.record = () => {
    if (++watched.count % (RECORDS / 10) !== 0) return
    const now = inUse()
    watched.first ||= now
    watched.growth = Math.max(watched.growth, now - watched.first)
    watched.frames = Math.max(watched.frames, frames())
  }
  return watched
}

function judge (t, watched) {
  t.equal(watched.count, RECORDS)
  t.ok(watched.growth < MOST_GROWTH, `memory in use grew by ${(watched.growth / MIB).toFixed(1)} MiB`)
  t.ok(watched.frames < MOST_FRAMES, `the stack had ${watched.frames} frames`)
}

const open = (options) => promises(FlumeLog(filename, { readOnly: true, cacheSize: CACHE_SIZE, ...options }))

for (const options of [{}, { cache: false }, { reverse: true }, { values: false }, { seqs: false, cache: false, reverse: true }]) {
  test(`a reader that reads from within its callback reads ${RECORDS} records: ${JSON.stringify(options)}`, async (t) => {
    const log = open()
    const watched = watch()
    const read = log.log.stream(options)
    await event(resolve => {
      function next () {
        read(null, (end) => {
          if (end) return resolve()
          watched.record()
          next()
        })
      }
      next()
    })
    judge(t, watched)
    await log.close()
  })
}

test(`a reader of a log that is entirely in the cache reads ${RECORDS} records, all answered synchronously`, async (t) => {
  const log = open({ cacheSize: 200 * MIB })
  for (const reverse of [false, true]) {
    const watched = watch()
    const read = log.log.stream({ reverse })
    await event(resolve => read(null, function next (end) {
      if (end) return resolve()
      watched.record()
      read(null, next)
    }))
    if (!reverse) continue // the first one fills the cache
    judge(t, watched)
  }
  t.equal(log.log.stats().cache.evictions, 0)
  await log.close()
})

test('a loop that reads while answers are synchronous, like drain of pull-stream, has a flat stack', async (t) => {
  const log = open()
  const watched = watch()
  const read = log.log.stream()
  await event(resolve => {
    let isEnded = false
    let isLooping = false
    function loop () {
      isLooping = true
      for (let answered = true; answered && !isEnded;) {
        answered = false
        read(null, (end) => {
          answered = true
          if (end) {
            isEnded = true
            resolve()
          } else {
            watched.record()
            if (!isLooping) loop()
          }
        })
      }
      isLooping = false
    }
    loop()
  })
  judge(t, watched)
  t.ok(watched.frames < 50, `${watched.frames} frames`)
  await log.close()
})

test(`a scan of ${RECORDS} records retains only a few blocks`, async (t) => {
  for (const reverse of [false, true]) {
    const log = open()
    const watched = watch()
    await event(resolve => log.log.scan({ reverse, cache: false }, watched.record, resolve))
    judge(t, watched)
    await log.close()
  }
})

test(`${RECORDS} gets succeed, each called from within the callback of the previous one`, async (t) => {
  const log = open()
  const seqs = new Float64Array(RECORDS)
  let count = 0
  await event(resolve => log.log.scan({}, (block, start, end, seq) => { seqs[count++] = seq }, resolve))
  const watched = watch()
  await event(resolve => (function next (i) {
    if (i === RECORDS) return resolve()
    log.log.get(seqs[i], (err, value) => {
      if (err || value.readUInt32LE() !== i) return resolve(t.fail(err ?? `record ${i}`))
      watched.record()
      next(i + 1)
    })
  })(0))
  judge(t, watched)
  await log.close()
})

test('the log does not read on while its reader pauses', async (t) => {
  const log = open({ cacheSize: 0 })
  const sources = Array.from({ length: 20 }, () => log.log.stream({ cache: false }))
  for (const source of sources) {
    for (let i = 0; i < 20000; i++) await event(resolve => source(null, resolve))
  }
  const before = inUse()
  for (let i = 0; i < 20; i++) await event(resolve => setImmediate(resolve))
  t.ok(inUse() - before < MIB, 'what was under way has come in')
  t.ok(log.log.stats().cache.misses < 20 * 30, `${log.log.stats().cache.misses} blocks were handed out`)
  for (const source of sources) source(true, () => {})
  sources.length = 0
  t.ok(inUse() < before, 'and what aborted streams held is let go')
  await log.close()
})

test(`memory use does not grow over ${RECORDS} appends with at most a thousand in flight`, async (t) => {
  const log = promises(FlumeLog(`${filename}-appended`, { cacheSize: CACHE_SIZE, sync: 'never' }))
  const watched = watch()
  let appended = 0
  await event(resolve => {
    function appendMore (err) {
      if (err) return resolve(t.fail(err))
      if (appended < RECORDS) {
        const record = Buffer.alloc(RECORD_SIZE, 1)
        record.writeUInt32LE(appended++)
        log.log.append(record, stored)
      }
    }
    function stored (err) {
      watched.record()
      if (watched.count === RECORDS) resolve()
      else appendMore(err)
    }
    for (let i = 0; i < 1000; i++) appendMore()
  })
  judge(t, watched)
  await log.close()
  const whole = fs.readFileSync(filename)
  t.ok(fs.readFileSync(`${filename}-appended`).equals(whole), 'and the file is as it should be')
})

test('a read of the whole log keeps recently used blocks in the cache, and uses at most a quarter of it', async (t) => {
  const log = open({ cacheSize: 8 * MIB })
  const seqs = await event(resolve => {
    const firsts = []
    log.log.scan({ cache: false }, (block, start, end, seq) => { if (seq % 65536 === 0) firsts.push(seq) }, () => resolve(firsts))
  })
  const wanted = seqs.slice(0, 60)
  for (const seq of wanted) await log.get(seq)
  await event(resolve => log.log.scan({}, () => {}, resolve))
  const before = log.log.stats().cache
  for (const seq of wanted) await log.get(seq)
  t.equal(log.log.stats().cache.misses, before.misses, 'what was got is there')
  t.equal(before.evictions, 0)
  await log.close()

  const empty = open({ cacheSize: 8 * MIB })
  await event(resolve => empty.log.scan({}, () => {}, resolve))
  const { misses } = empty.log.stats().cache
  for (const seq of seqs) await empty.get(seq)
  const kept = seqs.length - (empty.log.stats().cache.misses - misses)
  t.ok(kept > 0 && kept * 65536 < 3 * MIB, `${kept} blocks were kept`)
  await empty.close()
})
