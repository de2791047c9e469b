'use strict'

// Where a reader finds the end of a log that another process opens, writes or recovers
// meanwhile. What that process does happens between two calls of the reader.

const tape = require('tape')
const { findVisibleEnd } = require('../../lib/read/visible-end')
const { sealedBlock, tailOf, dataOf } = require('../helpers/bytes')

const RECORD = tailOf([dataOf(50)])
const TORN = RECORD.subarray(0, 30)
const BLOCK = sealedBlock(512, [1, 2, 3, 4].map(byte => dataOf(100, byte)))

/**
 * A file that changes once.
 * @param {{ bytes: Buffer, point?: object | null }} before
 * @param {{ bytes: Buffer, point?: object | null }} after
 * @param {number} calls after which it changes
 */
function changingFile (before, after, calls) {
  const state = () => file.calls++ < calls ? before : after
  const file = {
    calls: 0,
    metadata: { read: async () => state().point ?? null },
    size: async () => state().bytes.length,
    read: async (offset, size) => {
      const { bytes } = state()
      if (offset + size > bytes.length) throw Object.assign(new Error('short read'), { code: 'EPARTIALREAD' })
      return Buffer.from(bytes.subarray(offset, offset + size))
    }
  }
  return file
}

const METADATA = { log: 'log', blockSize: 512, writer: 'w', closed: false, end: 0, tie: 0, records: 0, start: 0, freed: 0, deletions: [], dropped: 0, clients: {}, next: null }
const heldPoint = (published) => ({ metadata: METADATA, version: 'held', published, isHeld: true })

const find = (file, blockSize, shown) => findVisibleEnd(file, file.read, 'log', { blockSize, checksum: true, isWhole: () => true, shown })

async function errorOf (promise) {
  return promise.then(() => null, err => err.code)
}

/** Whenever the file changes before the last two calls of a reader, it finds the log as it is then. */
async function isFound (t, before, after, blockSize, expected) {
  const unchanged = changingFile(before, before, 0)
  await errorOf(find(unchanged, blockSize))
  for (let calls = 0; calls < unchanged.calls - 1; calls++) {
    const { found } = await find(changingFile(before, after, calls), blockSize)
    t.equal(found.kept, expected, `after ${calls} calls`)
  }
}

tape('a log is found while its writer makes its very first write', async (t) => {
  const before = { bytes: TORN }
  t.equal(await errorOf(find(changingFile(before, before, 0))), 'flumelog:not-a-log', 'though its first record is torn')
  // the last one has been closed again: only its size has changed
  for (const after of [{ bytes: TORN, point: heldPoint(0) }, { bytes: RECORD, point: heldPoint(RECORD.length) }, { bytes: RECORD }]) {
    await isFound(t, before, after, undefined, after.point?.published ?? RECORD.length)
  }
})

tape('a file with metadata of another one is an error if it is no log', async (t) => {
  const state = { bytes: TORN, point: { metadata: { ...METADATA, end: 1, tie: 1 }, version: 'left', published: null, isHeld: false } }
  t.equal(await errorOf(find(changingFile(state, state, 0))), 'flumelog:not-a-log')
})

tape('a block size that is contradicted only by what is rolled back is no error', async (t) => {
  const before = { bytes: tailOf([dataOf(600)]) }
  const after = { bytes: BLOCK, point: heldPoint(512) }
  t.equal(await errorOf(find(changingFile(before, before, 0), 512)), 'flumelog:block-size')
  await isFound(t, before, after, 512, 512)
})

tape('a log is found while a writer truncates what a crash has left', async (t) => {
  await isFound(t, { bytes: Buffer.concat([BLOCK, TORN]) }, { bytes: BLOCK }, 512, 512)
})

tape('a log is found while a writer truncates what a crash has left, and appends as much', async (t) => {
  const bytes = Buffer.concat([BLOCK, RECORD])
  const unchanged = changingFile({ bytes }, { bytes }, 0)
  await find(unchanged, 512)
  for (let short = 0; short < unchanged.calls; short++) {
    const file = changingFile({ bytes }, { bytes }, 0)
    let reads = 0
    const { found } = await find({
      ...file,
      read: async (offset, size) => {
        if (reads++ === short) throw Object.assign(new Error('short read'), { code: 'EPARTIALREAD' })
        return file.read(offset, size)
      }
    }, 512)
    t.equal(found.kept, bytes.length, `read ${short}`)
  }
})

tape('where a writer cannot be seen, a log ends in front of an atomic batch, or behind it, while its first length is written', async (t) => {
  const point = { metadata: METADATA, version: 'open', published: null, isHeld: false }
  const finished = Buffer.concat([BLOCK, tailOf([dataOf(50), dataOf(50)])])
  const withheld = Buffer.from(finished)
  withheld.writeUInt16LE(0, BLOCK.length)
  const states = [withheld, finished].map(bytes => ({ bytes, point }))
  const shown = BLOCK.length - 8
  const unchanged = changingFile(states[0], states[0], 0)
  await find(unchanged, 512, shown)
  for (let calls = 0; calls < unchanged.calls; calls++) {
    const { found: { kept, damagedTail } } = await find(changingFile(states[0], states[1], calls), 512, shown)
    t.equal(damagedTail, null, `after ${calls} calls, nothing is corrupt`)
    t.ok(kept === BLOCK.length || kept === finished.length, `and the log ends at ${kept}`)
  }
})

tape('a file whose size never stops changing, and which is no log, is an error', async (t) => {
  const file = changingFile({ bytes: TORN }, { bytes: TORN }, 0)
  let sizes = 0
  file.size = async () => TORN.length - sizes++ % 2
  t.equal(await errorOf(find(file)), 'flumelog:not-a-log')
})
