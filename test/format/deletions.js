'use strict'

// A recorded deletion is repeated in a file however far it had got there.

const test = require('tape')
const fc = require('fast-check')
const layout = require('../../lib/format/layout')
const { writeChecksum, storedChecksum } = require('../../lib/format/checksum')
const { applyPatches, deletedBefore, deletionOf, patchesOf, wholeDeletionOf } = require('../../lib/format/deletions')
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

/** What a file has when the deletions are repeated in it. */
function repeated (bytes, deletions, blockSize = BLOCK_SIZE) {
  return applyPatches(Buffer.from(bytes), 0, patchesOf(deletions, blockSize))
}

test('a deletion is repeated however far it had got, also twice', async () => fc.assert(fc.property(
  sizes, fc.infiniteStream(fc.boolean()), fc.boolean(), fc.boolean(), fc.nat(), fc.infiniteStream(fc.boolean()),
  (sizes, deleted, isSealed, checksum, cut, isNew) => {
    const { before, after, made } = deletion(sizes, () => deleted.next().value, { isSealed, checksum })
    const torn = Buffer.from(before)
    after.copy(torn, 0, 0, cut % (after.length + 1))
    const mixed = Buffer.from(before)
    for (let at = 0; at < mixed.length; at += 512) if (isNew.next().value) after.copy(mixed, at, at, at + 512)
    for (const current of [before, after, torn, mixed]) {
      const once = repeated(current, [made])
      if (!once.equals(after) || !repeated(once, [made]).equals(after)) return false
    }
    return true
  }
)))

test('deletions in one block are repeated in their order, whichever of them had been done', (t) => {
  const all = [100, 200, 50, 300]
  const first = deletion(all, i => i === 2, { isSealed: true })
  const after = Buffer.from(first.after)
  layout.zeroRecord(after, 0)
  writeChecksum(after)
  const second = deletionOf(0, first.after, [0], storedChecksum(after))
  for (const current of [first.before, first.after, after]) t.ok(repeated(current, [first.made, second]).equals(after))
  t.end()
})

test('records that follow each other are one write', (t) => {
  const { after, made } = deletion([10, 20, 30, 40, 50], i => i !== 2, { isSealed: true })
  const patches = patchesOf([made], BLOCK_SIZE)
  t.deepEqual(patches.map(({ offset, data }) => [offset, data.length]), [[0, 14 + 24], [72, 44 + 54], [BLOCK_SIZE - 8, 4]])
  for (const { offset, data } of patches) t.ok(after.subarray(offset, offset + data.length).equals(data))
  t.end()
})

test('patches apply to any part of a file', async () => fc.assert(fc.property(sizes, fc.infiniteStream(fc.boolean()), fc.nat(), fc.nat(), (sizes, deleted, from, length) => {
  const { before, after, made } = deletion(sizes, () => deleted.next().value, { isSealed: true })
  const start = from % before.length
  const part = Buffer.from(before.subarray(start, start + length % before.length))
  return applyPatches(part, start, patchesOf([made], BLOCK_SIZE)).equals(after.subarray(start, start + part.length))
})))

test('a deletion tells how many records in front of an offset it deletes', (t) => {
  const { made } = deletion([10, 20, 30, 40], i => i !== 1)
  t.deepEqual([0, 1, 14, 38, 39, 72, 73, 1000].map(end => deletedBefore(made, end)), [0, 1, 1, 1, 2, 2, 3, 3])
  const whole = wholeDeletionOf(BLOCK_SIZE, sealedBlock(BLOCK_SIZE, [dataOf(10)]), 1)
  t.deepEqual([0, BLOCK_SIZE, BLOCK_SIZE + 1, Infinity].map(end => deletedBefore(whole, end)), [0, 0, 1, 1])
  t.end()
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

test('a block becomes a hole however far that had got, also twice', async () => fc.assert(fc.property(
  blockSizes, fc.boolean(), fc.nat(), fc.infiniteStream(fc.boolean()),
  (blockSize, checksum, cut, isNew) => {
    const { before, after, made } = wholeDeletion(blockSize, checksum)
    const torn = Buffer.from(before)
    after.copy(torn, blockSize, blockSize, blockSize + cut % (blockSize + 1))
    const mixed = Buffer.from(before)
    for (let at = 0; at < mixed.length; at += 64) if (isNew.next().value) after.copy(mixed, at, at, at + 64)
    return [before, after, torn, mixed].every((current) => {
      const once = repeated(current, [made], blockSize)
      return once.equals(after) && repeated(once, [made], blockSize).equals(after)
    })
  }
)))

test('records that were deleted before all of their block change nothing in the hole', (t) => {
  const { before, made } = deletion([100, 100], () => true, { isSealed: true })
  const whole = wholeDeletionOf(0, before, 0)
  const hole = holeOf(BLOCK_SIZE, true)
  for (const current of [before, hole]) t.ok(repeated(current, [made, whole]).equals(hole))
  t.end()
})
