'use strict'

// Copies random logs with random corruption.

const test = require('tape')
const fc = require('fast-check')
const layout = require('../../lib/format/layout')
const { pathFile } = require('../../lib/storage/path-file')
const { openExtent } = require('../../lib/maintenance/extent')
const { verify } = require('../../lib/maintenance/verify')
const { copyRecords } = require('../../lib/maintenance/copy')
const { sealedBlock, tailOf } = require('../helpers/bytes')
const { newFile } = require('../helpers/folder')

const BLOCK_SIZE = 64

/** @typedef {{ seq: number, data: Buffer }} Placed */

/** Data derived from a number, so that all records differ. */
function numbered (number, size) {
  const data = Buffer.alloc(size, 1 + number % 255)
  if (size >= 4) data.writeUInt32LE(number + 1)
  return data
}

/**
 * Blocks of records of these sizes; negative ones are deleted.
 * @param {number[][]} blocks
 * @param {number[]} tail
 */
function logOf (blocks, tail, checksum) {
  /** @type {Placed[]} */
  const placed = []
  let number = 0
  const recordsOf = (sizes, start) => {
    let position = 0
    const records = []
    for (const size of sizes) {
      const length = Math.abs(size)
      if (!layout.fits(BLOCK_SIZE, checksum, position, length)) continue
      const data = size < 0 ? Buffer.alloc(length) : numbered(number++, length)
      if (size > 0) placed.push({ seq: start + position, data })
      records.push(data)
      position += length + layout.FRAME_SIZE
    }
    return records
  }
  const parts = blocks.map((sizes, i) => sealedBlock(BLOCK_SIZE, recordsOf(sizes, i * BLOCK_SIZE), { checksum }))
  parts.push(tailOf(recordsOf(tail, blocks.length * BLOCK_SIZE)))
  return { bytes: Buffer.concat(parts), placed }
}

/**
 * @param {Buffer} bytes
 */
async function copyOf (bytes) {
  const extent = await openExtent(pathFile(newFile(bytes), { readOnly: true }), true)
  const { io: target } = pathFile(newFile(), { readOnly: false })
  await target.open()
  const copied = await copyRecords(extent, target)
  const result = copied.size === 0 ? Buffer.alloc(0) : await target.read(0, copied.size)
  return { bytes: result, copied, extent }
}

/**
 * @param {Buffer} bytes of a sound log
 * @returns {Placed[]} records that are not deleted
 */
function recordsIn (bytes) {
  const records = []
  for (let start = 0; start < bytes.length; start += BLOCK_SIZE) {
    const block = bytes.subarray(start, start + BLOCK_SIZE)
    const end = block.length === BLOCK_SIZE ? layout.paddingStart(block) : block.length
    for (let position = 0; position < end; position = layout.nextPosition(block, position)) {
      if (!layout.isDeleted(block, position)) records.push({ seq: start + position, data: layout.dataAt(block, position) })
    }
  }
  return records
}

const size = fc.oneof({ arbitrary: fc.integer({ min: 1, max: 52 }), weight: 4 }, { arbitrary: fc.integer({ min: -20, max: -1 }), weight: 1 })
const block = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.array(size, { maxLength: 8 })).map(([first, rest]) => [first, ...rest])
const damage = fc.array(fc.record({ at: fc.nat(), bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }) }), { minLength: 1, maxLength: 4 })
// the first block determines the block size, so it is kept valid
const log = fc.record({ first: block, blocks: fc.array(block, { maxLength: 5 }), tail: fc.array(size, { maxLength: 5 }), damage })

/**
 * Corrupts a log after its first block.
 * @returns {{ bytes: Buffer, placed: Placed[], touched: Set<number>, whole: Buffer }} touched: blocks that are not as they were
 */
function damaged ({ first, blocks, tail, damage }, checksum) {
  const { bytes: whole, placed } = logOf([first, ...blocks], tail, checksum)
  const bytes = Buffer.from(whole)
  const rest = bytes.subarray(BLOCK_SIZE)
  for (const { at, bytes: bad } of damage) {
    for (const [i, byte] of bad.entries()) rest[(at + i) % rest.length] = byte
  }
  const touched = new Set()
  for (let offset = 0; offset < bytes.length; offset++) if (bytes[offset] !== whole[offset]) touched.add(Math.floor(offset / BLOCK_SIZE))
  return { bytes, whole, placed, touched }
}

const isIn = (records) => {
  const known = new Map(records.map(({ seq, data }) => [seq, data]))
  return ({ seq, data }) => known.get(seq)?.equals(data) === true
}

test('a copy is valid, and has every record of valid blocks at its offset', async (t) => {
  await fc.assert(fc.asyncProperty(log, fc.boolean(), async (plan, checksum) => {
    const { bytes, placed, touched } = damaged(plan, checksum)
    const copy = await copyOf(bytes)
    const report = await verify(pathFile(newFile(copy.bytes), { readOnly: true }))
    if (report.ranges.length > 0) throw new Error(`the copy is damaged: ${JSON.stringify(report.ranges)}`)
    const isCopied = isIn(recordsIn(copy.bytes))
    return placed.every(record => touched.has(Math.floor(record.seq / BLOCK_SIZE)) || isCopied(record)) &&
      copy.bytes.length === copy.extent.end && report.counts.records === copy.copied.counts.records
  }), { numRuns: 1000 })
  t.pass('for 1,000 logs')
})

test('only intact records are copied from blocks with checksums', async (t) => {
  await fc.assert(fc.asyncProperty(log, async (plan) => {
    const { bytes, whole, placed } = damaged(plan, true)
    // if all of its padding is corrupt, the last block looks like one without a checksum
    const tail = whole.length - 1 - (whole.length - 1) % BLOCK_SIZE
    const wasAppended = isIn(placed)
    const copy = await copyOf(bytes)
    return recordsIn(copy.bytes).every(record => record.seq >= tail || wasAppended(record))
  }), { numRuns: 1000 })
  t.pass('for 1,000 logs')
})
