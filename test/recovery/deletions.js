'use strict'

// lib/recovery/deletions.js: a recorded deletion is repeated in the file it was made for,
// however far it had got, and in no other.

const test = require('tape')
const fc = require('fast-check')
const layout = require('../../lib/format/layout')
const { writeChecksum, storedChecksum } = require('../../lib/format/checksum')
const { applyPatches, blockSizeOfDeletions, deletionOf, ownDeletions, patchesOf, wholeDeletionOf } = require('../../lib/recovery/deletions')
const { deletionsLine, parsePoint, formatLine } = require('../../lib/storage/recovery-point-text')
const { holeOf } = require('../../lib/format/hole')
const { dataOf, sealedBlock, tailOf } = require('../helpers/bytes')

const BLOCK_SIZE = 4096
const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 12 })

/** The bytes of a block with records of these sizes before and after a deletion, and the deletion. */
function deletion (sizes, isDeleted, { isSealed = false, checksum = true, byte = 1, block = 0 } = {}) {
  const values = sizes.map((size, i) => dataOf(size, byte + i))
  const before = isSealed ? sealedBlock(BLOCK_SIZE, values, { checksum }) : tailOf(values)
  const after = Buffer.from(before)
  const positions = []
  let position = 0
  for (let i = 0; i < sizes.length; i++) {
    if (isDeleted(i)) {
      positions.push(position)
      layout.zeroRecord(after, position)
    }
    position = layout.nextPosition(after, position)
  }
  if (isSealed && checksum) writeChecksum(after)
  const made = deletionOf(block, before, positions, isSealed && checksum ? storedChecksum(after) : null)
  return { before, after, made }
}

/** What becomes of a file when the deletions are repeated in it. */
async function repeated (bytes, deletions) {
  const read = async (offset, size) => Buffer.from(bytes.subarray(offset, offset + size))
  return applyPatches(Buffer.from(bytes), 0, patchesOf(await ownDeletions(read, bytes.length, deletions, BLOCK_SIZE), BLOCK_SIZE))
}

test('a deletion is repeated however far it had got, also twice', () => fc.assert(fc.asyncProperty(
  sizes, fc.infiniteStream(fc.boolean()), fc.boolean(), fc.boolean(), fc.nat(), fc.infiniteStream(fc.boolean()),
  async (sizes, deleted, isSealed, checksum, cut, isNew) => {
    const { before, after, made } = deletion(sizes, () => deleted.next().value, { isSealed, checksum })
    const torn = Buffer.from(before)
    after.copy(torn, 0, 0, cut % (after.length + 1))
    const mixed = Buffer.from(before)
    for (let at = 0; at < mixed.length; at += 512) if (isNew.next().value) after.copy(mixed, at, at, at + 512)
    for (const current of [before, after, torn, mixed]) {
      const once = await repeated(current, [made])
      if (!once.equals(after)) return false
      if (!(await repeated(once, [made])).equals(after)) return false
    }
    return true
  }
)))

test('deletions in one block are repeated in their order, whichever of them had been done', async (t) => {
  const all = [100, 200, 50, 300]
  const first = deletion(all, i => i === 2, { isSealed: true })
  const after = Buffer.from(first.after)
  layout.zeroRecord(after, 0)
  writeChecksum(after)
  const second = deletionOf(0, first.after, [0], storedChecksum(after))
  for (const current of [first.before, first.after, after]) t.ok((await repeated(current, [first.made, second])).equals(after))
})

test('a deletion that the block has already, and later ones that are not listed, change nothing, and its records count as deleted', async (t) => {
  const first = deletion([10, 10, 200], i => i === 0, { isSealed: true })
  const both = deletion([10, 10, 200], i => i < 2, { isSealed: true })
  const inTail = deletion([10, 10, 200], i => i === 0)
  for (const made of [first.made, inTail.made]) {
    t.ok((await repeated(both.after, [made])).equals(both.after))
    const [{ records }] = await ownDeletions(async () => both.after, BLOCK_SIZE, [made], BLOCK_SIZE)
    t.deepEqual(records.map(({ seq }) => seq), [0])
  }
})

test('records that follow each other are one write', (t) => {
  const { after, made } = deletion([10, 20, 30, 40, 50], i => i !== 2, { isSealed: true })
  const patches = patchesOf([made], BLOCK_SIZE)
  t.deepEqual(patches.map(({ offset, data }) => [offset, data.length]), [[0, 14 + 24], [72, 44 + 54], [BLOCK_SIZE - 8, 4]])
  for (const { offset, data } of patches) t.ok(after.subarray(offset, offset + data.length).equals(data))
  t.end()
})

test('a deletion changes nothing in a file it was not made for', () => fc.assert(fc.asyncProperty(
  sizes, sizes, fc.boolean(), fc.boolean(), async (sizes, others, isSealed, isOtherSealed) => {
    const { made } = deletion(sizes, () => true, { isSealed })
    for (const lengths of [sizes, others]) {
      const { before } = deletion(lengths, () => false, { isSealed: isOtherSealed, byte: 101 })
      if (!(await repeated(before, [made])).equals(before)) return false
    }
    return true
  }
)))

test('a deletion changes nothing in another file of the same log', async (t) => {
  // a copy that was made before the deletion, and went on otherwise: its block is full
  const { made } = deletion([100, 100], i => i === 0)
  const copy = sealedBlock(BLOCK_SIZE, [dataOf(100, 1), dataOf(100, 2), dataOf(100, 7)], { checksum: true })
  t.ok((await repeated(copy, [made])).equals(copy), 'one without the deletion, though it has the record')
})

test('a deletion whose block is shorter now deletes the records that are there, and writes no checksum', async (t) => {
  const { before, made } = deletion([100, 100, 100], i => i > 0, { isSealed: true })
  const found = await repeated(before.subarray(0, 208), [made])
  t.ok(found.subarray(0, 104).equals(before.subarray(0, 104)))
  t.ok(layout.isDeleted(found, 104))
  t.equal(found.length, 208)
})

test('nonsense in place of deletions changes nothing', async (t) => {
  const { before } = deletion([100, 100], () => false, { isSealed: true })
  const replaces = Buffer.alloc(8)
  for (const made of [
    { block: 1, records: [{ seq: 0, length: 100, replaces }], checksum: 1 },
    { block: BLOCK_SIZE, records: [{ seq: BLOCK_SIZE, length: 100, replaces }], checksum: 1 },
    { block: 0, records: [{ seq: -4, length: 100, replaces }], checksum: 1 },
    { block: 0, records: [{ seq: 2, length: 100, replaces }], checksum: 1 },
    { block: 0, records: [{ seq: 0, length: 100, replaces: Buffer.alloc(3) }], checksum: 1 },
    { block: 0, records: [{ seq: BLOCK_SIZE - 10, length: 100, replaces }], checksum: 1 }
  ]) t.ok((await repeated(before, [made])).equals(before))
})

// Whole blocks

const blockSizes = fc.constantFrom(32, 64, 100, 129, 200, 512, 1000, 4096)

/** The bytes of a file of three blocks, the second of which is to become a hole. */
function wholeDeletion (blockSize, checksum, byte = 1) {
  const block = (first) => sealedBlock(blockSize, [dataOf(Math.floor((blockSize - 24) / 2), first), dataOf(3, first + 1)], { checksum })
  const before = Buffer.concat([block(byte), block(byte + 10), block(byte + 20)])
  const after = Buffer.from(before)
  const hole = holeOf(blockSize, checksum)
  hole.copy(after, blockSize)
  return { before, after, made: wholeDeletionOf(blockSize, before.subarray(blockSize, 2 * blockSize), 2) }
}

async function repeatedWhole (bytes, deletions, blockSize) {
  const read = async (offset, size) => Buffer.from(bytes.subarray(offset, offset + size))
  return applyPatches(Buffer.from(bytes), 0, patchesOf(await ownDeletions(read, bytes.length, deletions, blockSize), blockSize))
}

test('a block becomes a hole however far that had got, also twice, and tells the block size', () => fc.assert(fc.asyncProperty(
  blockSizes, fc.boolean(), fc.nat(), fc.infiniteStream(fc.boolean()),
  async (blockSize, checksum, cut, isNew) => {
    const { before, after, made } = wholeDeletion(blockSize, checksum)
    const [point] = [parsePoint(formatLine(JSON.stringify({ offset: 0 })) + '\n' + deletionsLine([made]), false)]
    const torn = Buffer.from(before)
    after.copy(torn, blockSize, blockSize, blockSize + cut % (blockSize + 1))
    const mixed = Buffer.from(before)
    for (let at = 0; at < mixed.length; at += 64) if (isNew.next().value) after.copy(mixed, at, at, at + 64)
    for (const current of [before, after, torn, mixed]) {
      const once = await repeatedWhole(current, point.deletions, blockSize)
      if (!once.equals(after) || !(await repeatedWhole(once, point.deletions, blockSize)).equals(after)) return false
      if (await blockSizeOfDeletions(async (offset, size) => current.subarray(offset, offset + size), current.length, point.deletions) !== blockSize) return false
    }
    return true
  }
)))

test('a block of a file that it was not made for does not become a hole', () => fc.assert(fc.asyncProperty(
  blockSizes, fc.boolean(), fc.boolean(), fc.constantFrom('other records', 'another size', 'shorter'),
  async (blockSize, checksum, isOtherChecksum, kind) => {
    const { made } = wholeDeletion(blockSize, checksum)
    const { before } = wholeDeletion(kind === 'another size' ? blockSize + 7 : blockSize, isOtherChecksum, 101)
    const other = kind === 'shorter' ? before.subarray(0, 2 * blockSize - 1) : before
    const size = kind === 'another size' ? blockSize + 7 : blockSize
    return (await repeatedWhole(other, [made], size)).equals(other)
  }
)))

test('records that were deleted before all of their block was count as deleted, and change nothing in the hole', async (t) => {
  const { before, made } = deletion([100, 100], () => true, { isSealed: true })
  const whole = wholeDeletionOf(0, before, 0)
  const hole = holeOf(BLOCK_SIZE, true)
  for (const current of [before, hole]) t.ok((await repeated(current, [made, whole])).equals(hole))
  t.equal((await ownDeletions(async () => Buffer.from(hole), BLOCK_SIZE, [made, whole], BLOCK_SIZE)).length, 2)
})
