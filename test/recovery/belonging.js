'use strict'

// FILE.meta belongs to a file that is at least as long as its recovery point, and has the same bytes in front of that, whatever it has of
// the deletions that FILE.meta lists.

const test = require('tape')
const fc = require('fast-check')
const { writeChecksum, storedChecksum } = require('../../lib/format/checksum')
const { deletionOf } = require('../../lib/format/deletions')
const layout = require('../../lib/format/layout')
const { ownMetadata, tieAt } = require('../../lib/recovery/belonging')
const { readOwn } = require('../../lib/recovery/recovery-point')
const { dataOf, sealedBlock, tailOf } = require('../helpers/bytes')
const { metadataOf } = require('../helpers/left-metadata')

const BLOCK_SIZE = 512
const SIZES = [100, 20, 100, 100]
const STARTS = [0, 104, 128, 232]
const BLOCK_END = 336

/** The bytes of a log of two full blocks and a tail, all with the same records. */
function logOf (byte = 1, isDeleted = () => false) {
  const values = (block) => SIZES.map((size, i) => isDeleted(block, i) ? Buffer.alloc(size) : dataOf(size, byte + block * 10 + i))
  return Buffer.concat([sealedBlock(BLOCK_SIZE, values(0)), sealedBlock(BLOCK_SIZE, values(1)), tailOf(values(2))])
}

/** The deletion of the records of a block that `isDeleted` says. */
function deletionIn (bytes, block, isDeleted) {
  const start = block * BLOCK_SIZE
  const before = Buffer.from(bytes.subarray(start, start + BLOCK_SIZE))
  const positions = STARTS.filter((_, i) => isDeleted(block, i))
  const after = Buffer.from(before)
  for (const position of positions) layout.zeroRecord(after, position)
  const isSealed = before.length === BLOCK_SIZE
  if (isSealed) writeChecksum(after)
  return deletionOf(start, before, positions, isSealed ? storedChecksum(after) : null)
}

/** Whether the metadata belongs to a file with these bytes. */
async function isOwn (bytes, metadata, isHeld = false) {
  const read = async (offset, size) => {
    if (offset + size > bytes.length) throw Object.assign(new Error('EPARTIALREAD'), { code: 'EPARTIALREAD' })
    return bytes.subarray(offset, offset + size)
  }
  return await ownMetadata(read, bytes.length, metadata, isHeld) !== null
}

/** Recovery points: at the end of the file, of a block, of a record, and at the start. */
const ENDS = [2 * BLOCK_SIZE + BLOCK_END, 2 * BLOCK_SIZE, BLOCK_SIZE, BLOCK_SIZE + 128, 128, 0]

test('metadata belongs to its file, however far the listed deletions have got in it', () => fc.assert(fc.asyncProperty(
  fc.constantFrom(...ENDS), fc.array(fc.integer({ min: 0, max: 11 })), fc.integer({ min: 1, max: 600 }), fc.infiniteStream(fc.boolean()),
  async (end, deleted, pageSize, isNew) => {
    const isDeleted = (block, i) => deleted.includes(block * 4 + i)
    const before = logOf()
    const after = logOf(1, isDeleted)
    const deletions = [0, 1, 2].map(block => deletionIn(before, block, isDeleted)).filter(({ records }) => records.length > 0)
    const metadata = await metadataOf(before, { blockSize: BLOCK_SIZE, end, deletions })
    const mixed = Buffer.from(before)
    for (let at = 0; at < mixed.length; at += pageSize) if (isNew.next().value) after.copy(mixed, at, at, at + pageSize)
    for (const current of [before, after, mixed]) if (!await isOwn(current, metadata)) return false
    return true
  }
)))

test('metadata belongs to its file when more was appended, and not when it was truncated in front of the recovery point', async (t) => {
  const bytes = logOf()
  for (const end of ENDS) {
    const metadata = await metadataOf(bytes, { blockSize: BLOCK_SIZE, end })
    t.ok(await isOwn(Buffer.concat([bytes, tailOf([dataOf(50, 7)])]), metadata))
    t.ok(await isOwn(bytes.subarray(0, end), metadata))
    if (end > 0) t.notOk(await isOwn(bytes.subarray(0, end - 1), metadata))
  }
})

test('metadata does not belong to a file with other records, whose deletions it must not get', async (t) => {
  const bytes = logOf()
  const deletions = [deletionIn(bytes, 0, () => true), deletionIn(bytes, 2, (_, i) => i === 1)]
  for (const end of ENDS.filter(end => end > 0)) {
    const metadata = await metadataOf(bytes, { blockSize: BLOCK_SIZE, end, deletions: end > BLOCK_SIZE ? deletions : [] })
    t.notOk(await isOwn(logOf(101), metadata), `up to ${end}`)
  }
})

test('metadata is ignored whose recovery point is no offset', async (t) => {
  const bytes = logOf()
  const metadata = await metadataOf(bytes, { blockSize: BLOCK_SIZE })
  for (const end of [-1, 1.5, 1e15, NaN, '0', null, undefined]) t.notOk(await isOwn(bytes, { ...metadata, end }), String(end))
})

test('a file that a writer truncates while it is read has no metadata of its own', async (t) => {
  const metadata = await metadataOf(logOf(), { blockSize: BLOCK_SIZE })
  const fail = (code) => async () => { throw Object.assign(new Error(code), { code }) }
  t.equal(await ownMetadata(fail('EPARTIALREAD'), metadata.end, metadata, false), null)
  t.equal(await ownMetadata(fail('EIO'), metadata.end, metadata, false).catch(err => err.code), 'EIO', 'other errors are errors')
})

test('whichever of two files has the name when a compaction was stopped, what is said of that one counts', async (t) => {
  const files = [logOf(1), logOf(101)]
  const [own, next] = await Promise.all(files.map(bytes => metadataOf(bytes, { blockSize: BLOCK_SIZE })))
  const { end, tie, blockSize } = next
  const metadata = { ...own, deletions: [deletionIn(files[0], 0, () => true)], next: { end, tie, blockSize, start: 0, freed: 0, id: '1', base: 0 } }
  const readOf = (bytes) => async (offset, size) => bytes.subarray(offset, offset + size)
  t.equal(await ownMetadata(readOf(files[0]), files[0].length, metadata, false), metadata)
  const found = await ownMetadata(readOf(files[1]), files[1].length, metadata, false)
  t.deepEqual([found.id, found.deletions, found.next], ['1', [], null], 'it has all that was deleted')
  t.equal(await ownMetadata(readOf(logOf(50)), files[0].length, metadata, false), null, 'and neither of another')
})

test('metadata does not belong to a log with other records of the same sizes, though the last ones of its block are deleted', async (t) => {
  for (const deleted of [[3], [2, 3], [1, 2, 3]]) {
    const isDeleted = (block, i) => block === 2 && deleted.includes(i)
    const before = logOf()
    const metadata = await metadataOf(before, { blockSize: BLOCK_SIZE, deletions: [deletionIn(before, 2, isDeleted)] })
    t.ok(await isOwn(before, metadata))
    t.notOk(await isOwn(logOf(101), metadata))
  }
})

test('a reader that reads the metadata just before the writer deletes a record of a compacted log knows which generation the file is', async (t) => {
  for (const isHeld of [true, false]) {
    const isDeleted = (block, i) => block === 2 && i === 3
    const [before, after] = [logOf(), logOf(1, isDeleted)]
    const place = await metadataOf(before, { blockSize: BLOCK_SIZE, id: '1' })
    const switching = { metadata: { ...await metadataOf(logOf(101), { blockSize: BLOCK_SIZE }), next: place }, version: '1', isHeld, published: null, size: 1 }
    const deletions = [deletionIn(before, 2, isDeleted)]
    const read = async (offset, size) => after.subarray(offset, offset + size)
    const deleted = { ...switching, metadata: { ...place, deletions, tie: await tieAt(read, place.end, BLOCK_SIZE, deletions) }, version: '2' }
    const reads = [switching, deleted]
    const io = { size: async () => after.length, read, metadata: { read: async () => reads.length > 1 ? reads.shift() : reads[0] } }
    t.equal((await readOwn(io)).metadata.id, '1', isHeld ? 'while the writer is alive' : 'when it is gone')
  }
})
