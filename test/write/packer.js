'use strict'

// The packer against a plain file: what `nextWrite` gives, written one after the other,
// is the file, wherever it is acknowledged and rolled back.

const test = require('tape')
const fc = require('fast-check')
const { Block } = require('../../lib/format/block')
const { Packer, MAX_WRITE } = require('../../lib/write/packer')
const { findProblem, endOfRecords } = require('../../lib/format/validation')
const { dataAt, nextPosition, paddingStart } = require('../../lib/format/layout')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const BLOCK_SIZE = 128

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('add'), size: fc.integer({ min: 1, max: 114 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('atomic'), sizes: fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('write') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('acknowledge') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rollBack') }) }
)

test('what is written is the records that were added and not rolled back, in valid blocks', (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), live), { numRuns: 1000, seed: SEED })
  t.pass('1000 random lives')
  t.end()
})

test('one write has at most 1 MiB, and ends at the end of a block if more is packed', (t) => {
  const packer = new Packer(new Block(0, Buffer.alloc(65536), 0, false), 65536, true)
  for (let i = 0; i < 4000; i++) packer.add(Buffer.alloc(1000, 1))
  let from = 0
  while (from < packer.end) {
    const size = packer.nextWrite(from).reduce((sum, buffer) => sum + buffer.length, 0)
    t.ok(size <= MAX_WRITE && ((from + size) % 65536 === 0 || from + size === packer.end), `${size} bytes`)
    from += size
  }
  t.equal(from, packer.end)
  t.end()
})

function live (steps) {
  const packer = new Packer(new Block(0, Buffer.allocUnsafe(BLOCK_SIZE), 0, false), BLOCK_SIZE, true)
  let file = Buffer.alloc(0)
  let acknowledged = 0
  let made = 0
  /** What was added: value and seq. */
  let records = []
  let batches = []
  const make = (size) => Buffer.alloc(size, ++made % 255 + 1)

  for (const step of steps) {
    if (step.do === 'add') {
      const value = make(step.size)
      records.push({ value, seq: packer.add(value), end: packer.end })
    } else if (step.do === 'atomic') {
      const values = step.sizes.map(make)
      const seqs = packer.addAtomic(values)
      if (Math.floor(seqs[0] / BLOCK_SIZE) !== Math.floor(packer.end / BLOCK_SIZE)) throw new Error('an atomic batch lies in two blocks')
      batches.push({ first: seqs[0], end: packer.end, isWritten: false })
      records.push(...values.map((value, i) => ({ value, seq: seqs[i], end: packer.end })))
    } else if (step.do === 'write' && packer.end > file.length) {
      file = Buffer.concat([file, ...packer.nextWrite(file.length)])
      checkBatches(file, packer, batches)
      if (packer.withheld !== -1) packer.withheldLength.copy(file, packer.withheld)
    } else if (step.do === 'acknowledge') {
      acknowledged = records.findLast(({ end }) => end <= file.length)?.end ?? acknowledged
      for (const block of packer.reveal(acknowledged)) if (findProblem(block.buffer, true) !== null) throw new Error('a full block is not valid')
    } else if (step.do === 'rollBack') {
      packer.rollBack()
      file = file.subarray(0, acknowledged)
      records = records.filter(({ end }) => end <= acknowledged)
      batches = batches.filter(({ end }) => end <= acknowledged)
    }
  }
  while (packer.end > file.length) {
    file = Buffer.concat([file, ...packer.nextWrite(file.length)])
    if (packer.withheld !== -1) packer.withheldLength.copy(file, packer.withheld)
  }
  const found = readAll(file)
  if (JSON.stringify(found) !== JSON.stringify(records.map(({ value, seq }) => ({ value: value.toString('hex'), seq })))) throw new Error('other records are in the file')
}

/** Nothing that was written of an atomic batch is a record before the length is there that is withheld. */
function checkBatches (file, packer, batches) {
  const { withheld } = packer
  const unwritten = batches.filter(({ first, end, isWritten }) => !isWritten && first < file.length)
  for (const batch of unwritten) {
    batch.isWritten = true
    if (batch.end > file.length) throw new Error('an atomic batch lies in two writes')
    if (withheld === -1 || withheld > batch.first) throw new Error('no length is withheld in front of an atomic batch')
  }
  if (withheld === -1) return
  if (unwritten.every(({ first }) => first !== withheld)) throw new Error('the length that is withheld is not the first of an atomic batch')
  if (file.readUInt16LE(withheld) !== 0) throw new Error('the first length of an atomic batch is written too early')
  const start = withheld - withheld % BLOCK_SIZE
  if (start + endOfRecords(file.subarray(start, start + BLOCK_SIZE), 0, BLOCK_SIZE - 10) !== withheld) throw new Error('the log does not end where a length is withheld')
}

function readAll (bytes) {
  const found = []
  for (let start = 0; start < bytes.length; start += BLOCK_SIZE) {
    const block = bytes.subarray(start, start + BLOCK_SIZE)
    const end = block.length === BLOCK_SIZE ? paddingStart(block) : block.length
    if (endOfRecords(block, 0, end) !== end) throw new Error(`block at ${start} is not valid`)
    for (let position = 0; position < end; position = nextPosition(block, position)) {
      found.push({ value: dataAt(block, position).toString('hex'), seq: start + position })
    }
  }
  return found
}
