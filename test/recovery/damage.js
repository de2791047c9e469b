'use strict'

// Files that are corrupt, truncated, or not logs: every read returns a record that was
// written, or an error with an offset, and nothing valid is lost.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { deletionOf } = require('../../lib/format/deletions')
const { formatLine } = require('../../lib/format/lines')
const { formatMetadata } = require('../../lib/storage/metadata-text')
const { ControlledFile } = require('../helpers/controlled-file')
const { filesIn, processFolder, testFolder } = require('../helpers/folder')
const { leaveMetadata, metadataOf } = require('../helpers/left-metadata')
const { promises } = require('../helpers/promises')
const { randomFrom } = require('../helpers/random')
const { collect, codeOf, event } = require('../helpers/reading')
const { sealedBlock, tailOf } = require('../helpers/bytes')
const { numbered, numberOf, isIntact, codec } = require('../helpers/numbered')
const { thorough } = require('../helpers/thorough')

const BLOCK_SIZE = 64

/** The one in which logs are made. @type {{ process?: string }} */
const folders = {}
const RANDOM_FILES = Number(process.env.RUNS ?? (thorough ? 400 : 40))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

for (const checksum of [true, false]) {
  for (const hasPoint of [false, true]) {
    for (const hasTail of [true, false]) {
      const name = `${checksum ? 'with' : 'without'} checksums, ${hasTail ? 'with' : 'without'} a tail, ${hasPoint ? 'after a crash' : 'closed'}`

      tape(`a log with one flipped bit returns what was written, or an error with its offset: ${name}`, async (t) => {
        withoutStacks(t)
        const original = smallLog({ blocks: 2, hasTail, checksum })
        const deletedEnd = original.records.find(({ deleted }) => deleted).end
        // a record is deleted when the recovery point is behind it; before that, only a checksum tells it from a torn one
        const ends = original.records.map(({ end }) => end).filter(end => checksum || end >= deletedEnd)
        const points = hasPoint ? ends : [null]
        const from = hasTail ? 0 : BLOCK_SIZE // what comes before is the same as with a tail
        let opened = 0
        // after a crash not every bit makes a difference; with ALL=1 they are all flipped
        const step = process.env.ALL ? 1 : (hasPoint ? 7 : 1) * (thorough ? 2 : 17)
        for (let bit = from * 8 + SEED % step; bit < original.bytes.length * 8; bit += step, opened++) {
          const point = points[bit % points.length]
          const blockSize = opened % 2 === 0 ? BLOCK_SIZE : undefined
          const damaged = Buffer.from(original.bytes)
          damaged[bit >> 3] ^= 1 << (bit & 7)
          try {
            await judge(original, damaged, { at: bit >> 3, point, blockSize, checksum })
          } catch (err) {
            err.message = `bit ${bit & 7} of byte ${bit >> 3}, blockSize ${blockSize}, recovery point ${point}: ${err.message}`
            throw err
          }
        }
        t.pass(`${opened} logs`)
      })
    }
  }
}

tape('a log truncated to any length can be opened, and contains the remaining whole records', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const step = thorough ? 1 : 3
  const inFolder = testFolder(t)
  const { bytes, records, blocks } = smallLog({ blocks: 3, hasTail: true, checksum: true })
  for (let length = SEED % step; length <= bytes.length; length += step) {
    const blockSize = length % 2 === 0 ? BLOCK_SIZE : undefined
    const left = records.filter(({ end }) => end <= length)
    // up to the last whole record, or to the end of a whole block
    const kept = Math.max(left.at(-1)?.end ?? 0, Math.min(Math.floor(length / BLOCK_SIZE), blocks) * BLOCK_SIZE)
    const numbers = left.filter(({ deleted }) => !deleted).map(({ number }) => number)
    const file = inFolder(`of-${length}`)
    fs.writeFileSync(file, bytes.subarray(0, length))

    if (length > 0 && left.length === 0) {
      for (const readOnly of [true, false]) must(await codeOf(promises(FlumeLog(file, { codec, blockSize, readOnly })).onReady()) === 'flumelog:not-a-log', `${length} bytes are taken for a log`)
      continue
    }

    const reader = promises(FlumeLog(file, { codec, blockSize, readOnly: true }))
    must(String((await collect(reader.log)).map(({ value }) => numberOf(value))) === String(numbers), `a reader sees others in ${length} bytes`)
    await reader.close()
    const writer = promises(FlumeLog(file, { codec, blockSize }))
    const cut = await writer.onReady()
    must(String((await collect(writer.log)).map(({ value }) => numberOf(value))) === String(numbers), `others are in ${length} bytes`)
    must(writer.log.since.value === (left.at(-1)?.seq ?? -1), `since of ${length} bytes is ${writer.log.since.value}`)
    if (kept === length) must(cut === null, `something was cut off ${length} bytes`)
    else {
      must(cut.offset === kept && cut.bytes === length - kept, `of ${length} bytes ${cut.bytes} were cut off at ${cut.offset}`)
      must(cut.filename === `${file}.cut-${kept}`, `what was cut off ${length} bytes is in ${cut.filename}`)
      must(fs.readFileSync(cut.filename).equals(bytes.subarray(kept, length)), `what was cut off ${length} bytes is not kept as it was`)
    }
    const seq = await writer.append(numbered(1000, 20))
    must((await writer.get(seq)).equals(numbered(1000, 20)), 'what is appended is there')
    await writer.close()
    must(fs.readFileSync(file).subarray(0, kept).equals(bytes.subarray(0, kept)), `of ${length} bytes some were changed`)
  }
  t.pass(`each ${step}th of ${bytes.length + 1} lengths`)
})

tape('arbitrary bytes and mutilated logs end in an error with a code, after a bounded number of reads', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  withoutStacks(t)
  const random = randomFrom(SEED)
  const outcomes = {}
  const count = (what) => { outcomes[what] = (outcomes[what] ?? 0) + 1 }
  // until there were logs of both kinds: few random files are sound
  for (let n = 0; n < RANDOM_FILES || outcomes.sound === undefined || outcomes['damaged in places'] === undefined; n++) {
    const bytes = randomBytes(random)
    const point = random() < 0.3 ? random.below(bytes.length + 10) : null
    const blockSize = random() < 0.5 ? undefined : random.pick([32, 33, 64, 128, 1000, 4096, 65536])
    const options = { blockSize, checksum: random() < 0.7, readOnly: random() < 0.5 }
    const file = await fileOf(bytes, point)
    try {
      const log = open(file, options)
      const code = await log.onReady().then(() => 'opened', codeOrThrow)
      count(code)
      if (code === 'opened') await useAll(log, bytes, random, count)
      await log.close().catch(codeOrThrow)
      if (options.readOnly) must(file.bytes.equals(bytes), 'a reader changed the file')
      const { counts: { read: reads = 0 } } = file
      // some walks, each of which reads what there is no more than once
      must(reads <= 100 + 10 * bytes.length / (log.log.blockSize), `${reads} reads of ${bytes.length} bytes in blocks of ${log.log.blockSize}`)
    } catch (err) {
      err.message = `${err.message}: ${JSON.stringify(options)}, recovery point ${point}, SEED=${SEED}, file ${n}, ${bytes.length} bytes, ${bytes.toString('base64', 0, 1500)}`
      throw err
    }
  }
  t.pass(JSON.stringify(outcomes))
})

const codeOrThrow = (err) => {
  if (typeof err?.code !== 'string') throw err
  return err.code
}

/** Asks everything of a log; it may answer, or give a coded error. */
async function useAll (log, bytes, random, count) {
  const { items, skipped, code } = await drain(log, { skipCorrupt: true })
  must(code === undefined || code.includes(':'), `a stream ended with ${code}`)
  count(skipped.length > 0 ? 'damaged in places' : 'sound')
  for (const { seq, value } of items) must(bytes.subarray(seq + 2, seq + 2 + value.length).equals(value), `at ${seq} is something that is not in the file`)
  for (let i = 1; i < items.length; i++) must(items[i].seq >= items[i - 1].seq + items[i - 1].value.length + 4, 'records overlap')
  const reversed = await drain(log, { skipCorrupt: true, reverse: true })
  must(reversed.items.length === items.length, `${reversed.items.length} records backward, ${items.length} forward`)
  const seqs = [0, random.below(bytes.length + 1), ...items.slice(0, 3).map(({ seq }) => seq)]
  for (const seq of seqs) {
    await log.get(seq).catch(codeOrThrow)
    await event(resolve => log.log.getPrevious(seq, resolve)).then(err => err && codeOrThrow(err))
  }
  await log.search(() => random() - 0.5).catch(codeOrThrow)
  await event(resolve => log.log.scan({}, () => {}, resolve)).then(err => err && codeOrThrow(err))
  await log.append(numbered(1, 12)).catch(codeOrThrow)
}

/** Noise; or a log that was overwritten, shuffled, cut or doubled in places. */
function randomBytes (random) {
  const size = random.pick([0, 1, 5, 32, 64, 100, 128, 1000, 4096]) + random.below(random.pick([2, 100, 3000, 3000, random() < 0.02 ? 200000 : 3000]))
  const noise = Buffer.from(Uint8Array.from({ length: size }, random.pick([() => 0, () => 255, () => random.below(4), () => random.below(256)])))
  if (random() < 0.3) return noise
  const blockSize = random.pick([32, 64, 100, 256, 1024, 65536])
  const parts = []
  let made = 0
  for (let left = size; left > 0;) {
    const values = []
    const most = blockSize - 10
    for (let room = most; room > 14 && left > 0;) {
      const value = numbered(++made, 8 + random.below(Math.min(room - 11, 300)))
      values.push(value)
      room -= value.length + 4
      left -= value.length + 4
    }
    if (values.length === 0) break
    parts.push(left > 0 ? sealedBlock(blockSize, values, { checksum: random() < 0.7 }) : tailOf(values))
  }
  const bytes = Buffer.concat(parts)
  for (let n = random.below(4); n > 0 && bytes.length > 0; n--) {
    const [from, to] = [random.below(bytes.length), random.below(bytes.length)]
    const length = 1 + random.below(random.pick([2, 8, 200]))
    random.pick([
      () => bytes.copyWithin(to, from, from + length),
      () => bytes.fill(random.below(256), from, Math.min(from + length, bytes.length)),
      () => noise.copy(bytes, to, 0, length),
      () => bytes.copyWithin(to - to % blockSize, from - from % blockSize, from - from % blockSize + blockSize)
    ])()
  }
  return random() < 0.3 ? bytes.subarray(0, random.below(bytes.length + 1)) : random() < 0.3 ? Buffer.concat([bytes, noise]) : bytes
}

tape('a wrong length, pair of lengths or mark is detected even without checksums', async (t) => {
  const records = [1, 2, 3].map(number => numbered(number, 12))
  const sound = [1, 2, 3].map(() => sealedBlock(BLOCK_SIZE, records, { checksum: false }))
  const wrong = {
    'a length that points outside': [(block) => block.writeUInt16LE(5000, 16), 16, /length 5000 runs past the end/],
    'a length that points into the padding': [(block) => block.writeUInt16LE(36, 32), 32, /runs past the end|after it/],
    'a length of 0': [(block) => block.writeUInt16LE(0, 16), 16, /length 0/],
    'a pair that differs': [(block) => block.writeUInt16LE(13, 30), 16, /before the record is 12, after it 13/],
    'a mark that is not there': [(block) => block.writeUInt16LE(0, 48), 48, /padding mark is 0, expected 63/],
    'a mark that comes too early': [(block) => layout.seal(block, 16) ?? block.writeUInt32LE(48, 60), 16, /length 63 runs past the end/],
    'a start of the padding that is none': [(block) => block.writeUInt32LE(61, 60), 60, /invalid padding offset 61/]
  }
  for (const [what, [damage, position, reason]] of Object.entries(wrong)) {
    const bytes = Buffer.concat(sound)
    damage(bytes.subarray(BLOCK_SIZE, 2 * BLOCK_SIZE))
    for (const readOnly of [false, true]) {
      const log = open(await fileOf(bytes), { blockSize: BLOCK_SIZE, checksum: false, readOnly })
      await log.onReady()
      const err = await log.get(BLOCK_SIZE).catch(err => err)
      t.equal(err.code, 'flumelog:corrupt', what)
      t.deepEqual([err.block, err.offset], [1, BLOCK_SIZE + position], 'the error has the block and the offset')
      t.ok(reason.test(err.message), err.message)
      const { items, skipped } = await drain(log, { skipCorrupt: true })
      t.deepEqual(items.map(({ seq }) => seq), [0, 16, 32, 128, 144, 160], 'all other blocks are there')
      t.deepEqual(skipped.map(({ start, end }) => [start, end]), [[64, 128]], 'and the damaged one is reported')
      await log.close()
    }
  }
})

tape('metadata that contradicts the file is ignored', async (t) => {
  const inFolder = testFolder(t)
  const { bytes, records } = smallLog({ blocks: 2, hasTail: true, checksum: true })
  const numbers = records.filter(({ deleted }) => !deleted).map(({ number }) => number)
  const other = smallLog({ blocks: 2, hasTail: true, checksum: true, first: 500 })
  const own = await metadataOf(bytes, { blockSize: BLOCK_SIZE })
  const textOf = (more) => formatMetadata({ ...own, ...more }, 0)
  const contents = {
    'a recovery point beyond the end': textOf({ end: bytes.length + 1 }),
    'one far beyond it': textOf({ end: 1e15 }),
    'one in the middle of a record': textOf({ end: records[1].seq + 3 }),
    'one in a padding': textOf({ end: records[2].end + 4 }),
    'a negative one': textOf({ end: -1 }),
    'one that is no number': textOf({ end: 'here' }),
    'deletions in another log': formatMetadata(await metadataOf(other.bytes, { blockSize: BLOCK_SIZE, end: records[4].end, deletions: [deletionOf(0, other.bytes, [0], null)] }), 0),
    'something else': formatLine('0000000000000000') + formatLine(JSON.stringify({ some: 'thing' })),
    'another version': textOf().replace(/\n.*\n/, line => '\n' + formatLine(line.slice(10, -1).replace('"version":1', '"version":2'))),
    'no text at all': Buffer.from([0, 255, 3, 200, 128, 9, 0, 0, 0, 0, 0, 77]),
    'an empty file': '',
    'nothing but a zero checksum': '00000000 \n'
  }
  for (const [what, content] of Object.entries(contents)) {
    for (const readOnly of [true, false]) {
      const file = inFolder('log')
      fs.writeFileSync(file, bytes)
      fs.writeFileSync(file + '.meta', content)
      const log = promises(FlumeLog(file, { codec, readOnly }))
      t.equal(await log.onReady(), null, `${what}: nothing is cut off`)
      t.deepEqual((await collect(log.log)).map(({ value }) => numberOf(value)), numbers, 'every record is there')
      t.ok(fs.readFileSync(file).equals(bytes), 'the file is as it was')
      if (!readOnly) await log.append(numbered(1000, 20))
      await log.close()
      t.equal(fs.readFileSync(file + '.meta').equals(Buffer.from(content)), readOnly, readOnly ? 'a reader leaves it' : 'a writer replaces it')
    }
  }
})

tape('a log with corrupt metadata is not opened, and nothing is lost of it, whatever it had done', async (t) => {
  const inFolder = testFolder(t)
  const values = Array.from({ length: 40 }, (_, i) => Buffer.alloc(20, i + 1))
  const valuesIn = async (file) => {
    const log = promises(FlumeLog(file, { readOnly: true }))
    const records = await collect(log.log)
    await log.close()
    return records.map(({ value }) => value)
  }
  const lives = {
    closed: async () => {},
    trimmed: (log, seqs) => log.trim({ lt: seqs[20] }),
    compacted: async (log, seqs) => {
      await log.del(seqs.slice(0, 10))
      await log.compact()
    },
    reopened: async (log) => {
      await log.close()
      const again = promises(FlumeLog(log.log.filename, { blockSize: BLOCK_SIZE }))
      await again.append(Buffer.alloc(20, 99))
      await again.close()
    }
  }
  for (const [name, live] of Object.entries(lives)) {
    const file = inFolder(name)
    const log = promises(FlumeLog(file, { blockSize: BLOCK_SIZE }))
    const seqs = []
    for (const value of values) seqs.push(await log.append(value))
    await live(log, seqs)
    await log.close()
    const bytes = fs.readFileSync(file)
    const stored = await valuesIn(file)
    const metadata = fs.readFileSync(file + '.meta')
    const ends = [...metadata.keys()].filter(at => metadata[at] === 10)
    t.ok(ends.length > 2 && stored.length > 0, `${name}: ${ends.length} lines`)
    for (const end of ends.slice(1)) {
      const corrupt = Buffer.from(metadata)
      corrupt[end - 3] ^= 1
      fs.writeFileSync(file + '.meta', corrupt)
      for (const readOnly of [false, true]) {
        const opened = promises(FlumeLog(file, { readOnly }))
        const err = await opened.onReady().catch(err => err)
        t.deepEqual([err.code, err.filename], ['flumelog:corrupt', file + '.meta'], `the line that ends at ${end}, ${readOnly ? 'a reader' : 'a writer'}`)
        await opened.close()
      }
      t.ok(fs.readFileSync(file).equals(bytes) && fs.readFileSync(file + '.meta').equals(corrupt), 'the files are as they were')
    }
    fs.rmSync(file + '.meta')
    t.deepEqual(await valuesIn(file), stored, 'without it, every record is there')
  }
})

tape('a valid recovery point is used: torn writes after it are truncated, corrupt blocks before it are not', async (t) => {
  const inFolder = testFolder(t)
  const { bytes, records } = smallLog({ blocks: 4, hasTail: true, checksum: true })
  const damaged = Buffer.from(bytes)
  damaged[BLOCK_SIZE + 4] ^= 1
  damaged[3 * BLOCK_SIZE + 4] ^= 1
  const numbersOf = (wanted) => records.filter(({ deleted, seq }) => !deleted && wanted(seq)).map(({ number }) => number)
  const before = (seq) => Math.floor(seq / BLOCK_SIZE) !== 1 && seq < 3 * BLOCK_SIZE
  const cases = {
    'with the point between them': [2 * BLOCK_SIZE, before, 3 * BLOCK_SIZE],
    'with the point behind both': [4 * BLOCK_SIZE, seq => before(seq) || seq >= 4 * BLOCK_SIZE, null],
    'without a point': [null, seq => before(seq) || seq >= 4 * BLOCK_SIZE, null]
  }
  for (const [what, [point, wanted, cutAt]] of Object.entries(cases)) {
    const file = inFolder(`log-${point}`)
    fs.writeFileSync(file, damaged)
    if (point !== null) await leaveMetadata(file, damaged, { end: point, blockSize: BLOCK_SIZE })
    for (const readOnly of [true, false]) {
      const log = promises(FlumeLog(file, { codec, readOnly }))
      const cut = await log.onReady()
      t.equal(cut?.offset ?? null, readOnly ? null : cutAt, `${what}: ${readOnly ? 'a reader' : 'a writer'}`)
      const { items, skipped } = await drain(log, { skipCorrupt: true })
      t.deepEqual(items.map(({ value }) => numberOf(value)), numbersOf(wanted), 'every sound record is there')
      t.equal(skipped[0].start, BLOCK_SIZE, 'and damage is reported')
      await log.close()
    }
    if (cutAt !== null) t.ok(fs.readFileSync(`${file}.cut-${cutAt}`).equals(damaged.subarray(cutAt)), 'what was cut off is kept')
  }
})

tape('after a crash, a record with a hole is detected even in a full block without a checksum', async (t) => {
  const values = [1, 2, 3].map(number => numbered(number, 300))
  const bytes = Buffer.concat([sealedBlock(1024, values, { checksum: false }), sealedBlock(1024, values, { checksum: false })])
  bytes.fill(0, 1024 + 304 + 100, 1024 + 304 + 200)
  const log = open(await fileOf(bytes, 0, 1024), { blockSize: 1024, checksum: false, codec: undefined, validate: isIntact })
  t.equal((await log.onReady()).offset, 1024 + 304, 'the log is cut in front of it')
  t.deepEqual((await collect(log.log)).map(({ seq }) => seq), [0, 304, 608, 1024])
  await log.close()
})

tape('a follower of a log with a corrupt tail continues when a writer does', async (t) => {
  const file = testFolder(t)('log')
  const values = [1, 2, 3, 4].map(number => numbered(number, 50))
  const bytes = Buffer.concat([sealedBlock(256, values), tailOf(values)])
  bytes[256 + 54] ^= 1
  fs.writeFileSync(file, bytes)
  const reader = FlumeLog(file, { readOnly: true })
  const items = []
  const skipped = []
  pull(reader.stream({ live: true, skipCorrupt: true, onSkip: range => skipped.push(range) }), pull.drain(({ seq }) => { items.push(seq) }, () => {}))
  const { get, onReady, close } = promises(reader)
  await onReady()
  t.equal(await codeOf(get(256)), 'flumelog:corrupt', 'what is in it is damaged')
  t.equal(await codeOf(collect(reader)), 'flumelog:corrupt', 'a stream ends with an error')
  t.deepEqual((await collect(reader, { skipCorrupt: true, reverse: true })).map(({ seq }) => seq), [162, 108, 54, 0], 'or leaves it out')
  const writer = promises(FlumeLog(file))
  const seqs = [await writer.append(numbered(5, 50)), await writer.append(numbered(6, 50))]
  await event(resolve => reader.since(since => { if (since === seqs[1]) resolve() }))
  await event(setImmediate)
  t.deepEqual(items, [0, 54, 108, 162, ...seqs], 'the follower has all that can be had')
  t.deepEqual(skipped.map(({ start, end }) => [start, end]), [[256, bytes.length]], 'and was told of the rest')
  await close()
  await writer.close()
})

/**
 * Opens a log that is damaged in one place, in each way, and compares all that can be
 * had of it with what it was.
 */
async function judge (original, damaged, { at, point, blockSize, checksum }) {
  const { records } = original
  const number = Math.floor(at / BLOCK_SIZE)
  const isSealed = number < original.blocks
  const hurt = records.find(({ seq, end }) => seq <= at && at < end)
  // with a crash behind it, what comes from the damage on may be a torn write
  const lost = point === null || (isSealed && number < Math.floor(point / BLOCK_SIZE)) ? Infinity : Math.min(hurt?.seq ?? at, ...(at < point ? [point] : []))

  const file = await fileOf(damaged, point)
  const reader = open(file, { blockSize, checksum, readOnly: true })
  await reader.onReady()
  const seen = await look(reader, records)
  await reader.close()
  must(file.bytes.equals(damaged), 'a reader changed the file')

  const writer = open(file, { blockSize, checksum })
  await writer.onReady()
  const shown = await glance(writer, records)
  must(String(seen.all.numbers) === String(shown.all.numbers), `a reader sees ${seen.all.numbers}, a writer ${shown.all.numbers}`)
  // what cannot be had is the damaged block, or in the tail the damaged record, and after a crash what is behind
  for (const { number: wanted, seq, deleted } of records) {
    if (deleted || shown.all.numbers.includes(wanted)) continue
    const isHurt = isSealed || isPartOf(file, original) ? Math.floor(seq / BLOCK_SIZE) === number : seq === hurt?.seq
    must(isHurt || seq >= lost, `record ${wanted}, at ${seq}, is lost`)
    must(seq >= file.bytes.length || shown.all.skipped.some(({ start, end }) => start <= seq && seq < end), `nobody is told that record ${wanted} is lost`)
  }
  if (checksum && isSealed && point === null) must(shown.plain.code === 'flumelog:corrupt', 'the damage was not found')
  keepsAll(file, damaged, isSealed && lost === Infinity)

  await writer.append(numbered(1000, 9))
  await writer.append(numbered(1001, 40))
  await writer.close()
  const again = open(file, { blockSize, checksum })
  must(await again.onReady() === null, 'something is cut off that was there when it was closed')
  const { plain, all } = await glance(again, records)
  must((plain.code === undefined) === (all.skipped.length === 0), 'an error comes, or goes, with opening it again')
  must(String(all.numbers) === String([...shown.all.numbers, 1000, 1001]), `after appending it holds ${all.numbers}`)
  await again.close()
}

/** Whether the damaged tail was sealed off as it is. */
function isPartOf (file, { bytes }) {
  return file.bytes.length > bytes.length
}

/** Every byte is still there: in the log, or beside it. */
function keepsAll (file, damaged, mustBeUntouched) {
  const { bytes, name } = file
  const [cut] = filesIn(path.dirname(name)).filter(one => one !== 'log')
  if (cut === undefined) must(bytes.subarray(0, damaged.length).equals(damaged), 'bytes of the file were changed')
  else {
    must(!mustBeUntouched, 'a damaged block was cut off')
    const offset = Number(cut.slice('log.cut-'.length))
    must(bytes.length === offset || bytes.length === offset - offset % BLOCK_SIZE + BLOCK_SIZE, 'what was cut off has another name, and the log was not padded there')
    must(Buffer.concat([bytes.subarray(0, offset), fs.readFileSync(path.join(path.dirname(name), cut))]).equals(damaged), 'what was cut off is not kept as it was')
  }
}

/** What streams give, each record compared with what was written. */
async function glance (log, records) {
  const plain = await drain(log, {})
  const all = await drain(log, { skipCorrupt: true })
  all.numbers = all.items.map(item => known(item, records))
  must(all.code === undefined, `with skipCorrupt a stream ended with ${all.code}`)
  must(plain.items.every(({ seq }, i) => seq === all.items[i].seq), 'a plain stream gives others')
  must(plain.code === undefined ? plain.items.length === all.items.length && all.skipped.length === 0 : plain.code === 'flumelog:corrupt', `a stream ended with ${plain.code}`)
  must(all.skipped.every(({ error }) => error.code === 'flumelog:corrupt'), 'a range was skipped for another reason')
  return { plain, all }
}

/** The number of a record that was written where it stands. */
function known ({ seq, value }, records) {
  const number = numberOf(value)
  must(number >= 1000 || records.some(record => record.seq === seq && record.value.equals(value) && !record.deleted), `at ${seq} is a record that was never written there`)
  return number
}

/** All that a log gives. */
async function look (log, records) {
  const { plain, all } = await glance(log, records)
  const reversed = await drain(log, { skipCorrupt: true, reverse: true })
  must(String(reversed.items.map(item => item.seq).reverse()) === String(all.items.map(item => item.seq)), 'backward it gives others than forward')
  const streamed = new Map(all.items.map(({ seq, value }) => [seq, value]))
  for (const { seq } of records) {
    const found = await log.get(seq).then(value => ({ value }), ({ code }) => ({ code }))
    if (streamed.has(seq)) must(found.value?.equals(streamed.get(seq)), `get(${seq}) gives ${found.code}, a stream has the record`)
    else must(['flumelog:corrupt', 'flumelog:not-found', 'flumelog:deleted'].includes(found.code), `get(${seq}) ends with ${found.code ?? 'a record that no stream has'}`)
  }
  for (const wanted of [3, 1002]) {
    const found = await log.search(value => numberOf(value) - wanted).catch(({ code }) => ({ code }))
    if (found.code === undefined) must(known(found, records) >= wanted, `a search for ${wanted} finds ${numberOf(found.value)}`)
    else must(['flumelog:corrupt', 'flumelog:not-found'].includes(found.code), `a search ends with ${found.code}`)
  }
  return { plain, all }
}

function drain ({ log }, options) {
  const items = []
  const skipped = []
  return event(resolve => pull(
    log.stream({ ...options, onSkip: range => skipped.push(range) }),
    pull.drain(item => { items.push(item) }, err => resolve({ items, skipped, code: err ? err.code ?? String(err) : undefined }))
  ))
}

/** With thousands of errors, capturing stacks would take most of the time. */
function withoutStacks (t) {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  t.teardown(() => { Error.stackTraceLimit = stackTraceLimit })
}

function must (isSo, message) {
  if (!isSo) throw new Error(message)
}

/** A log of so many full blocks, a deleted record among the others, and what is in it. */
function smallLog ({ blocks, hasTail, checksum, first = 1 }) {
  const parts = []
  const records = []
  let number = first - 1
  for (let block = 0; block < blocks + (hasTail ? 1 : 0); block++) {
    let position = 0
    const values = [9, 16, 11].map((size, i) => {
      const deleted = block === 1 && i === 1
      const value = deleted ? Buffer.alloc(size) : numbered(++number, size)
      const seq = block * BLOCK_SIZE + position
      position += size + layout.FRAME_SIZE
      records.push({ number: deleted ? 0 : number, seq, end: block * BLOCK_SIZE + position, value, deleted })
      return value
    })
    parts.push(block < blocks ? sealedBlock(BLOCK_SIZE, values, { checksum }) : tailOf(values))
  }
  return { bytes: Buffer.concat(parts), records, blocks }
}

/** A log in a folder of its own. */
async function fileOf (bytes, offset = null, blockSize = BLOCK_SIZE) {
  folders.process ??= processFolder()
  const name = path.join(fs.mkdtempSync(path.join(folders.process, 'log-')), 'log')
  fs.writeFileSync(name, bytes)
  if (offset !== null) await leaveMetadata(name, bytes, { end: offset, blockSize })
  return new ControlledFile(name)
}

function open (file, options) {
  return file.open({ codec, cacheSize: 4096, ...options })
}
