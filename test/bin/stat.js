'use strict'

// flumelog stat: counts what a log consists of.

const fs = require('fs')
const test = require('tape')
const fc = require('fast-check')
const layout = require('../../lib/format/layout')
const { pathFile } = require('../../lib/storage/path-file')
const { verify } = require('../../lib/maintenance/verify')
const { sealedBlock, tailOf, dataOf } = require('../helpers/bytes')
const { newFile, testFolder } = require('../helpers/folder')
const { makeLog, deleteFrom, overwrite } = require('../helpers/logs')
const { flumelog } = require('../helpers/warm-flumelog')

/** Makes a log with one record of each size; the third is deleted. */
async function makeMixed (file) {
  const sizes = [1, 2, 3, 100, 120, 127, 128, 300, 300, 300, 900]
  const seqs = await makeLog(file, sizes.map(size => dataOf(size)), { blockSize: 1024 })
  await deleteFrom(file, [seqs[2]])
}

test('stat prints the figures of a log, and a histogram of record sizes', async (t) => {
  const name = testFolder(t)
  await makeMixed(name('log'))
  const { code, stdout, stderr } = await flumelog(['stat', 'log'], { cwd: name('.') })
  t.equal(code, 0)
  t.equal(stderr, '')
  const allocated = fs.statSync(name('log')).blocks * 512
  t.equal(stdout, `file          log
size          2,952 bytes (2.95 kB)
allocated     ${allocated.toLocaleString('en')} bytes${allocated > 2952 ? '' : ` (${(100 * allocated / 2952).toFixed(1)} %)`}
block size    1,024 bytes
blocks        3 (2 full, all with a checksum)
records       10
data          2,278 bytes (77.2 %)
deleted       1 record, 3 bytes (0.1 %)
framing       44 bytes (1.5 %)
padding       627 bytes (21.2 %)
record size   smallest 1, mean 228, largest 900 bytes

       bytes  records
           1        1  ███████████████████
      2 to 3        1  ███████████████████
      4 to 7        0
     8 to 15        0
    16 to 31        0
    32 to 63        0
   64 to 127        3  █████████████████████████████████████████████████████████
  128 to 255        1  ███████████████████
  256 to 511        3  █████████████████████████████████████████████████████████
512 to 1,023        1  ███████████████████
`)
})

test('the histogram is as wide as the terminal, and no line is longer than that', async (t) => {
  const name = testFolder(t)
  await makeMixed(name('log'))
  for (const columns of [40, 80, 120, 200]) {
    const { stdout } = await flumelog(['stat', 'log'], { cwd: name('.'), columns })
    const bars = stdout.split('\n').filter(line => line.includes('█'))
    t.equal(Math.max(...bars.map(line => line.length)), columns, `${columns} columns`)
  }
})

test('stat --json prints the same figures as JSON', async (t) => {
  const file = testFolder(t)('log')
  await makeMixed(file)
  const { stdout } = await flumelog(['stat', file, '--json'])
  const bucket = (from, to, records) => ({ from, to, records })
  t.deepEqual(JSON.parse(stdout), {
    file,
    size: 2952,
    start: 0,
    allocated: fs.statSync(file).blocks * 512,
    blockSize: 1024,
    blocks: 3,
    sealed: 2,
    checksummed: 2,
    records: 10,
    parts: 0,
    bytes: 2278,
    framing: 44,
    deleted: { records: 1, freedBlocks: 0, bytes: 3 },
    padding: { bytes: 627, percent: 21.2 },
    corrupt: { blocks: 0, bytes: 0 },
    torn: { bytes: 0 },
    closed: true,
    record: { smallest: 1, mean: 227.8, largest: 900 },
    histogram: [
      bucket(1, 1, 1), bucket(2, 3, 1), bucket(4, 7, 0), bucket(8, 15, 0), bucket(16, 31, 0), bucket(32, 63, 0),
      bucket(64, 127, 3), bucket(128, 255, 1), bucket(256, 511, 3), bucket(512, 1023, 1)
    ]
  })
})

test('stat of an empty log, and of one with deleted records only, has no histogram', async (t) => {
  const name = testFolder(t)
  await makeLog(name('empty'), [])
  const empty = await flumelog(['stat', name('empty')])
  t.match(empty.stdout, /^size {10}0 bytes$/m)
  t.match(empty.stdout, /^records {7}0$/m)
  t.doesNotMatch(empty.stdout, /record size|NaN|Infinity/)
  const { record, histogram } = JSON.parse((await flumelog(['stat', name('empty'), '--json'])).stdout)
  t.deepEqual(record, { smallest: null, mean: null, largest: null })
  t.deepEqual(histogram, [])

  const seqs = await makeLog(name('deleted'), ['a', 'b'])
  await deleteFrom(name('deleted'), seqs)
  const deleted = await flumelog(['stat', name('deleted')])
  t.match(deleted.stdout, /^deleted {7}2 records, 2 bytes \(20\.0 %\)$/m)
  t.doesNotMatch(deleted.stdout, /record size|NaN|Infinity/)
})

test('stat counts deleted records, and the blocks that were freed, of which nobody knows how many there were', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), Array.from({ length: 1000 }, () => dataOf(1000)))
  const block = seqs.filter(seq => seq < 65536)
  await deleteFrom(name('log'), [...block, seqs.at(-1), seqs.at(-2)])
  t.match((await flumelog(['stat', name('log')])).stdout, /^deleted {7}2 records and 1 freed block, 67,522 bytes /m)
  const { records, deleted } = JSON.parse((await flumelog(['stat', name('log'), '--json'])).stdout)
  t.deepEqual([records, deleted], [1000 - block.length - 2, { records: 2, freedBlocks: 1, bytes: 67522 }])
})

test('stat counts corrupt and torn bytes separately, and refers to verify', async (t) => {
  const file = testFolder(t)('log')
  await makeMixed(file)
  overwrite(file, 100, 'XX')
  overwrite(file, fs.statSync(file).size, 'torn')
  const { code, stdout } = await flumelog(['stat', file])
  t.equal(code, 0)
  t.match(stdout, /^corrupt {7}1 block, 1,024 bytes \(34\.6 %\); see flumelog verify$/m)
  t.match(stdout, /^torn {10}4 bytes \(0\.1 %\) at the end; see flumelog verify$/m)
})

test('whatever a file contains, each byte is counted once', async (t) => {
  await fc.assert(fc.asyncProperty(fc.array(sizesOfBlock(), { maxLength: 6 }), sizesOfBlock(), fc.array(fc.nat(700)), fc.boolean(), async (blocks, tail, damage, checksum) => {
    const bytes = Buffer.concat([
      ...blocks.map(sizes => sealedBlock(128, sizes.map(recordOf), { checksum })),
      tailOf(tail.map(recordOf))
    ])
    for (const offset of damage) if (offset < bytes.length) bytes[offset] ^= 0x55
    const report = await verify(pathFile(newFile(bytes), { readOnly: true })).catch((err) => {
      if (err.code !== 'flumelog:not-a-log') throw err
    })
    if (report === undefined) return true
    const { size, counts, padding, corruptBytes, end } = report
    return size === bytes.length &&
      size === counts.bytes + counts.deletedBytes + counts.framing + padding + corruptBytes + (size - end)
  }), { numRuns: 1000 })
  t.pass('for 1,000 files')
})

/** Sizes of records that fit into a block of 128 bytes; negative ones are deleted. */
function sizesOfBlock () {
  return fc.array(fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: -30, max: -1 })), { minLength: 1, maxLength: 12 }).map((sizes) => {
    let position = 0
    return sizes.filter((size) => {
      if (!layout.fits(128, true, position, Math.abs(size))) return false
      position += Math.abs(size) + layout.FRAME_SIZE
      return true
    })
  })
}

function recordOf (size) {
  return dataOf(Math.abs(size), size < 0 ? 0 : 7)
}
