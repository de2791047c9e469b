'use strict'

// File compatibility with the published flumelog-aligned-offset.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')
const { collect, codeOf } = require('../helpers/reading')
const { appendAligned, readAligned, withAligned } = require('../helpers/aligned')
const { modelOf } = require('../helpers/model')
const { thorough } = require('../helpers/thorough')

const SMALL_SIZES = Array.from({ length: 129 }, (_, i) => 64 + i).filter(size => thorough || size % 3 === 1)
const LARGE_SIZES = [511, 512, 513, 1000, 1023, 1024, 1025, 2048, 4095, 4096, 4097, 8192, 10007, 16384, 32767, 32768, 50001, 65534, 65535, 65536]
/** Number of logs tested concurrently, since the other log waits 20 ms before it writes a tail. */
const AT_A_TIME = 32

/**
 * Records of such sizes that, in blocks of this size, they end at each position near a
 * block's end: where they just fit with a checksum, without one, and not at all.
 */
function edgeRecords (blockSize, every) {
  const records = []
  const most = blockSize - 14
  const add = (size) => records.push(Buffer.alloc(size, 1 + records.length % 255))
  for (let left = 0; left <= (every ? most - 10 : 12); left++) {
    // a first record, and then one that ends `left` bytes before the last possible position
    add(5)
    add(most - 9 - left)
    // this one fits into the remaining space, or does not
    if (left > 4) add(left - 4)
  }
  for (let size = every ? 1 : Math.max(1, most - 12); size <= most; size++) add(size)
  for (let size = 1; size <= 12; size++) add(size)
  return records
}

/** The seqs of these records, and the end of the log. */
function placed (blockSize, checksum, records) {
  const model = modelOf({ blockSize, checksum })
  model.append(records)
  return { end: model.end, all: model.records.map(({ seq, value }) => ({ seq, value })) }
}

/** Bytes by which records may be larger with checksum: false. */
function largest (blockSize) {
  return [11, 12, 13, 14].map(less => Buffer.alloc(blockSize - less + 1, less))
}

async function ours (filename, options, records) {
  const log = promises(FlumeLog(filename, { sync: 'never', ...options }))
  await log.append(records)
  await log.close()
}

/** @returns a description of the difference; null if there is none */
function difference (is, shouldBe) {
  for (let i = 0; i < Math.max(is.length, shouldBe.length); i++) {
    const same = is[i] !== undefined && shouldBe[i] !== undefined && is[i].seq === shouldBe[i].seq && is[i].value.equals(shouldBe[i].value)
    if (!same) return `record ${i} of ${is.length}: seq ${is[i]?.seq}, should be ${shouldBe[i]?.seq} of ${shouldBe.length}`
  }
  return null
}

/** Runs a check for each block size; the check returns null, or what is wrong. */
async function forEach (t, sizes, work) {
  const wrong = []
  const left = sizes.slice()
  const worker = async () => {
    while (left.length > 0) {
      const blockSize = left.shift()
      const problem = await work(blockSize)
      if (problem) wrong.push(`${blockSize}: ${problem}`)
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, worker))
  t.deepEqual(wrong, [], `${sizes.length} block sizes`)
}

for (const [name, sizes] of [['small', SMALL_SIZES], ['large', LARGE_SIZES]]) {
  for (const checksum of [true, false]) {
    test(`it reads what we write ${checksum ? 'with' : 'without'} checksums, ${name} blocks`, async (t) => {
      const file = testFolder(t)
      await forEach(t, sizes, async (blockSize) => {
        const filename = file(`${blockSize}`)
        const records = edgeRecords(blockSize, blockSize < 80)
        if (!checksum) records.push(...largest(blockSize))
        await ours(filename, { blockSize, checksum }, records)
        const { end, all } = placed(blockSize, checksum, records)
        if (fs.statSync(filename).size !== end) return `${fs.statSync(filename).size} bytes instead of ${end}`
        const found = difference(await readAligned(filename, blockSize), all) ??
          difference(await readAligned(filename, blockSize, { reverse: true }), all.toReversed())
        fs.rmSync(filename)
        return found
      })
    })
  }

  test(`we read and extend what it wrote, and it reads the result, ${name} blocks`, async (t) => {
    const file = testFolder(t)
    await forEach(t, sizes, async (blockSize) => {
      const filename = file(`${blockSize}`)
      const first = edgeRecords(blockSize, blockSize < 80).concat(largest(blockSize))
      const written = placed(blockSize, false, first)
      await appendAligned(filename, blockSize, first, written.end)
      const whole = fs.readFileSync(filename)

      const model = modelOf({ blockSize, checksum: false })
      model.append(first)
      const log = promises(FlumeLog(filename, { sync: 'never' }))
      await log.onReady()
      if (log.log.blockSize !== blockSize) return `the block size found is ${log.log.blockSize}`
      let problem = difference(await collect(log.log), written.all) ??
        difference(await collect(log.log, { reverse: true }), written.all.toReversed())
      if (log.log.since.value !== written.all.at(-1).seq) problem ??= `since is ${log.log.since.value}`

      // it continues where the other one ended, and reserves 10 bytes per block from then on
      const second = edgeRecords(blockSize, false)
      const checked = modelOf({ blockSize, checksum: true })
      checked.end = model.end
      checked.records.push(...model.records)
      checked.append(second)
      await log.append(second)
      await log.close()
      const all = checked.records.map(({ seq, value }) => ({ seq, value }))
      if (!fs.readFileSync(filename).subarray(0, whole.length).equals(whole)) problem ??= 'what was there has been changed'
      problem ??= difference(await readAligned(filename, blockSize), all)

      // and the other one continues in turn
      const third = [Buffer.from('a'), Buffer.alloc(blockSize - 14, 2), Buffer.from('b')]
      const plain = modelOf({ blockSize, checksum: false })
      plain.end = checked.end
      plain.records.push(...checked.records)
      plain.append(third)
      await appendAligned(filename, blockSize, third, plain.end)
      const again = promises(FlumeLog(filename, { blockSize, readOnly: true }))
      problem ??= difference(await collect(again.log), plain.records)
      await again.close()
      fs.rmSync(filename)
      return problem
    })
  })

  test(`without checksums, both write the same bytes, ${name} blocks`, async (t) => {
    const file = testFolder(t)
    await forEach(t, sizes, async (blockSize) => {
      const records = edgeRecords(blockSize, blockSize < 80).concat(largest(blockSize))
      const half = records.length >> 1
      const filenames = [file(`${blockSize}-ours`), file(`${blockSize}-theirs`)]
      for (const part of [records.slice(0, half), records]) {
        const { end } = placed(blockSize, false, part)
        const added = part === records ? records.slice(half) : part
        await ours(filenames[0], { blockSize, checksum: false }, added)
        await appendAligned(filenames[1], blockSize, added, end)
      }
      const [a, b] = filenames.map(filename => fs.readFileSync(filename))
      for (const filename of filenames) fs.rmSync(filename)
      if (!a.equals(b)) return `the first different byte is at ${a.findIndex((byte, i) => byte !== b[i])}`
    })
  })
}

test('it skips the records that we deleted, in blocks with a checksum and in the tail', async (t) => {
  const file = testFolder(t)
  for (const checksum of [true, false]) {
    const filename = file(`${checksum}`)
    const records = edgeRecords(64, false)
    const { all } = placed(64, checksum, records)
    const log = promises(FlumeLog(filename, { blockSize: 64, checksum }))
    await log.append(records)
    const isDeleted = (_, i) => i % 3 === 0 || i === all.length - 1
    for (const { seq } of all.filter(isDeleted)) await log.del(seq)
    await log.close()
    const left = all.filter((record, i) => !isDeleted(record, i))
    t.equal(difference(await readAligned(filename, 64), left), null)
  }
})

test('we skip the records that it deleted', async (t) => {
  const file = testFolder(t)
  const filename = file('log')
  const records = edgeRecords(64, false)
  const { all, end } = placed(64, false, records)
  await appendAligned(filename, 64, records, end)
  // not in the last block, which it would fill with zeros
  const isDeleted = ({ seq }, i) => i % 3 === 0 && seq < end - end % 64
  await withAligned(filename, 64, async (log) => {
    for (const { seq } of all.filter(isDeleted)) {
      await new Promise((resolve, reject) => log.del(seq, err => err ? reject(err) : resolve()))
    }
  })
  const log = promises(FlumeLog(filename))
  t.equal(difference(await collect(log.log), all.filter((record, i) => !isDeleted(record, i))), null)
  t.equal(await codeOf(log.get(all[0].seq)), 'flumelog:deleted')
  await log.close()
})

test('its deletion in a block with a checksum is reported as corruption, and the other blocks are readable', async (t) => {
  const file = testFolder(t)
  const filename = file('log')
  const records = [1, 2, 3, 4, 5, 6].map(byte => Buffer.alloc(20, byte))
  await ours(filename, { blockSize: 64 }, records)
  await withAligned(filename, 64, log => new Promise((resolve, reject) => log.del(64, err => err ? reject(err) : resolve())))
  const log = promises(FlumeLog(filename))
  t.equal(await codeOf(collect(log.log)), 'flumelog:corrupt')
  t.deepEqual(await collect(log.log, { skipCorrupt: true, values: false }), [0, 24, 128, 152])
  await log.close()
  const unchecked = promises(FlumeLog(filename, { checksum: false }))
  t.deepEqual(await collect(unchecked.log, { values: false }), [0, 24, 88, 128, 152], 'without checksums it is read as what it is')
  await unchecked.close()
})

test('a tail that its deletion has padded with zeros is read up to its last whole record', async (t) => {
  const file = testFolder(t)
  const filename = file('log')
  const records = [1, 2, 3, 4, 5].map(byte => Buffer.alloc(20, byte))
  const { end } = placed(64, false, records)
  await appendAligned(filename, 64, records, end)
  await withAligned(filename, 64, log => new Promise((resolve, reject) => log.del(128, err => err ? reject(err) : resolve())))
  t.equal(fs.statSync(filename).size, 192)
  const log = promises(FlumeLog(filename))
  t.deepEqual(await collect(log.log, { values: false }), [0, 24, 64, 88])
  t.equal(await codeOf(log.get(128)), 'flumelog:deleted')
  t.equal(await log.append('more'), 152)
  await log.close()
  t.deepEqual((await readAligned(filename, 64)).map(({ seq }) => seq), [0, 24, 64, 88, 152])
})

test('flumelog-aligned-offset reads a log with holes in it, and appends to it', async (t) => {
  for (const checksum of [true, false]) {
    const filename = testFolder(t)('log')
    const blockSize = 16384
    const log = promises(FlumeLog(filename, { blockSize, checksum }))
    await log.append(Array.from({ length: 100 }, (_, i) => Buffer.alloc(1000, 1 + i)))
    const all = await collect(log.log)
    const isKept = ({ seq }) => ![0, 2, 3].includes(Math.floor(seq / blockSize))
    await log.del({ lt: blockSize })
    await log.del({ gte: 2 * blockSize, lt: 4 * blockSize })
    const { size } = log.log.stats()
    await log.close()
    t.ok([0, 2, 3].every(number => fs.readFileSync(filename).readUInt16LE(number * blockSize) > 16000), 'there are holes')
    const kept = all.filter(isKept)
    // both directions: a stream of this log gives deleted records as zeros, or not at all
    const isThere = ({ value }) => value !== null && value !== undefined && value.some(byte => byte !== 0)
    t.equal(difference((await readAligned(filename, blockSize)).filter(isThere), kept), null, `checksum: ${checksum}`)
    t.equal(difference((await readAligned(filename, blockSize, { reverse: true })).filter(isThere).reverse(), kept), null, 'backward')
    await appendAligned(filename, blockSize, [Buffer.from('one more')], size + 12)
    const again = promises(FlumeLog(filename))
    t.equal(difference((await collect(again.log)).slice(0, -1), kept), null)
    t.equal(String(await again.get(size)), 'one more')
    await again.close()
  }
})
