'use strict'

// Several live readers pause at random, one of them a follower in a second log, while records
// are appended and deleted: each reader gets each record once, in order, unless it was deleted
// before. For a long run, use `RECORDS=50000000 node test/read/live-readers.js`.

const tape = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { randomFrom } = require('../helpers/disk')
const { promises } = require('../helpers/promises')
const { event } = require('../helpers/reading')

const RECORDS = Number(process.env.RECORDS ?? 100000)
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

const MIB = 1024 * 1024
const LARGEST_BATCH = 2000
/** Approximate interval of deletions, and the number of records per deletion. */
const DELETIONS = 80
const DELETED_AT_A_TIME = 30

tape(`readers that pause at random read each of ${RECORDS} records exactly once`, async (t) => {
  await run(t, { records: RECORDS, blockSize: 65536, cacheSize: 2 * MIB })
})

tape('live readers neither skip nor repeat records with small blocks and no cache', async (t) => {
  await run(t, { records: RECORDS / 20, blockSize: 512, cacheSize: 0 })
})

async function run (t, { records, blockSize, cacheSize }) {
  t.comment(`SEED=${SEED} repeats what is drawn by lot`)
  const random = randomFrom(SEED)
  const file = testFolder(t)('log')
  const log = FlumeLog(file, { blockSize, cacheSize })
  const { append, close, onReady } = promises(log)
  await onReady()
  const beside = FlumeLog(file, { blockSize, cacheSize, readOnly: true })
  const state = { appended: 0, records, asked: new Set(), erased: new Set() }

  const readers = [
    reader('one that pauses now and then', log, state, random, { pauses: 50 }),
    reader('one that pauses often', log, state, random, { pauses: 1000 }),
    reader('one that asks for no old records', log, state, random, { pauses: 500, old: false }),
    reader('one that reads the file beside the writer', beside, state, random, { pauses: 100, mayBeLate: true })
  ]
  const seqs = []
  let deleting = Promise.resolve()
  let nextDeletion = records / DELETIONS
  while (state.appended < records) {
    const count = Math.min(1 + random.below(random.pick([1, 10, LARGEST_BATCH])), records - state.appended)
    const batch = Array.from({ length: count }, (_, i) => make(state.appended + i + 1))
    const seq = await append(batch)
    state.appended += count
    // a batch may span several blocks, so only the seq of its last record is known
    seqs.push({ number: state.appended, seq })
    if (state.appended > nextDeletion) {
      nextDeletion += random.below(2 * records / DELETIONS)
      deleting = deleting.then(() => erase(log, state, random, seqs))
    }
    // sometimes, let the readers reach the end
    if (random() < 0.02) await Promise.race([deleting, event(setImmediate)])
    if (random() < 0.002) await Promise.all(readers.map(({ isAt }) => isAt(state.appended)))
  }
  await deleting
  const last = await append([make(records + 1)])
  state.appended++
  await Promise.all(readers.map(({ isAt }) => isAt(records + 1)))

  for (const { name, wrong, seen, missing, pauses } of readers) {
    t.deepEqual(wrong, [], `${name}: ${seen} records, ${missing} deleted before, ${pauses} pauses`)
    t.equal(seen + missing, records + 1, 'that is all of them')
    t.ok(pauses > 0, 'and it did pause')
  }
  t.ok(state.erased.size > 0, `${state.erased.size} were deleted`)
  t.equal(log.since.value, last, 'since is the last one')
  await promises(beside).close()
  await close()
}

/** Deletes some records, old and new; never the last one, which readers have to reach. */
async function erase (log, state, random, seqs) {
  const most = seqs.length - 1
  if (most === 0) return
  const chosen = []
  for (let n = 0; n < DELETED_AT_A_TIME; n++) {
    const back = random() < 0.5 ? random.below(Math.min(20, most)) : random.below(most)
    chosen.push(seqs[most - 1 - back])
  }
  for (const { number } of chosen) state.asked.add(number)
  await promises(log).del(chosen.map(({ seq }) => seq))
  for (const { number } of chosen) state.erased.add(number)
}

/** A live stream, read record by record, with various pauses. */
function reader (name, log, state, random, { pauses: wanted, mayBeLate = false, old = true }) {
  const read = log.stream({ live: true, old })
  const rate = wanted / state.records
  const self = { name, number: 0, seen: 0, missing: 0, pauses: 0, wrong: [], isAt }
  /** Those who wait until it has read so far, or has failed. */
  let waiting = []

  const pauses = [
    (go) => setImmediate(go),
    (go) => process.nextTick(go),
    (go) => setTimeout(go, random.below(4)),
    (go) => whenAppended(state.appended + random.below(5000), go),
    (go) => self.pauses % 7 === 0 ? whenAppended(state.appended + 60000, go) : go()
  ]
  next()

  function next () {
    // a loop, since answers may be synchronous
    let isLooping = true
    let isAnswered = true
    while (isAnswered) {
      isAnswered = false
      read(null, (end, item) => {
        const isRight = took(end, item)
        tell()
        if (!isRight) return
        if (random() < rate) {
          self.pauses++
          return random.pick(pauses)(next)
        }
        isAnswered = true
        if (!isLooping) next()
      })
    }
    isLooping = false
  }

  function took (end, item) {
    if (end) {
      if (self.number <= state.records) self.wrong.push(`it ended at ${self.number} with ${end}`)
      return false
    }
    const number = numberIn(item.value)
    if (Number.isNaN(number)) self.wrong.push(`at ${item.seq} came what is no record`)
    if (number <= self.number) self.wrong.push(`record ${number} came after record ${self.number}`)
    // what another log deletes may be on its way here
    if (state.erased.has(number) && !mayBeLate) self.wrong.push(`record ${number} had been deleted, and came`)
    for (let missing = self.number + 1; missing < number; missing++) {
      if (!state.asked.has(missing)) self.wrong.push(`record ${missing} did not come`)
      self.missing++
    }
    self.number = number
    self.seen++
    return self.wrong.length === 0
  }

  function tell () {
    if (waiting.length === 0) return
    const isOver = ({ number }) => self.number >= number || self.wrong.length > 0
    for (const { resolve } of waiting.filter(isOver)) resolve()
    waiting = waiting.filter(waiter => !isOver(waiter))
  }

  /** Resolves when it has read so far, or has failed. */
  function isAt (number) {
    if (self.number >= number || self.wrong.length > 0) return
    return new Promise(resolve => waiting.push({ number, resolve }))
  }

  function whenAppended (number, go) {
    const most = Math.min(number, state.records)
    const look = () => state.appended >= most || waiting.length > 0 ? go() : setImmediate(look)
    look()
  }

  return self
}

function make (number) {
  const value = Buffer.alloc(12 + number % 40, number & 127)
  value.writeUInt32LE(number, 0)
  value.writeUInt32LE(~number >>> 0, 4)
  return value
}

function numberIn (value) {
  const number = value.readUInt32LE(0)
  const isWhole = value.length === 12 + number % 40 && value.readUInt32LE(4) === ~number >>> 0 && value[value.length - 1] === (number & 127)
  return isWhole ? number : NaN
}
