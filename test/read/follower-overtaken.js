'use strict'

// A reader in another process learns of deletions while it reads the block that they are in: it shows no record again
// that it has shown as deleted, and does not take its own patches for a change of the log.

const tape = require('tape')
const fs = require('fs')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { writeChecksum, storedChecksum } = require('../../lib/format/checksum')
const layout = require('../../lib/format/layout')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { deletionOf, patchesOf } = require('../../lib/format/deletions')
const { pathFile } = require('../../lib/storage/path-file')
const { testFolder } = require('../helpers/folder')
const { frame, playedWriter, until } = require('../helpers/followers')
const { promises } = require('../helpers/promises')
const { codeOf } = require('../helpers/reading')

const BLOCK_SIZE = 512
/** Four of them fill a block. */
const RECORD_SIZE = 100
const SECOND = RECORD_SIZE + layout.FRAME_SIZE
const RECORDS_END = 4 * SECOND

/**
 * Of block 1, with and without its second record.
 * @param {string} file
 */
function deletionIn (file) {
  const bytes = fs.readFileSync(file).subarray(BLOCK_SIZE, 2 * BLOCK_SIZE)
  const after = Buffer.from(bytes)
  layout.zeroRecord(after, SECOND)
  writeChecksum(after)
  const deletion = { ...deletionOf(BLOCK_SIZE, bytes, [SECOND], storedChecksum(after)), number: 1 }
  return { deletion, patches: patchesOf([deletion], BLOCK_SIZE) }
}

/** A log of which block 0 has no checksum, so that its readers look at FILE.meta, and block 2 has one record. */
async function makeFile (file) {
  for (const [count, checksum] of [[5, false], [4, true]]) {
    const log = promises(FlumeLog(file, { blockSize: BLOCK_SIZE, checksum }))
    await log.append(Array.from({ length: count }, (_, i) => Buffer.alloc(RECORD_SIZE, i + 1)))
    await log.close()
  }
}

/** A reader that waits after it has read all of block 1 at once. */
function readerOf (file, afterRead) {
  const made = pathFile(file, { readOnly: true, lock: false })
  const read = (offset, size, cb) => made.read(offset, size, (err, data) => {
    if (offset === BLOCK_SIZE && size === BLOCK_SIZE) afterRead().then(() => cb(err, data))
    else cb(err, data)
  })
  return promises(createLog({ ...made, read }, settingsOf({ readOnly: true, blockSize: BLOCK_SIZE })))
}

for (const isDropped of [false, true]) {
  const what = isDropped ? 'that is dropped while the block is read' : 'that is listed before the end of its block is published'

  tape(`a follower goes on after a deletion ${what}`, async (t) => {
    const file = testFolder(t)('log')
    await makeFile(file)
    const { size } = fs.statSync(file)
    const { deletion, patches } = deletionIn(file)
    const writer = playedWriter(t, file, BLOCK_SIZE)
    const offset = BLOCK_SIZE + RECORDS_END
    await writer.write({ end: offset, acknowledged: offset })
    /** The writer gives the deletion to the file, and drops it; and readers look at FILE.meta. */
    const drop = async () => {
      const fd = fs.openSync(file, 'r+')
      for (const { offset, data } of patches) fs.writeSync(fd, data, 0, data.length, offset)
      fs.closeSync(fd)
      await writer.write({ end: offset, acknowledged: size, dropped: 1 })
      reader.get(0).catch(() => {})
    }
    let isDue = isDropped
    const reader = readerOf(file, async () => {
      if (isDue) await drop(isDue = false)
    })
    await reader.onReady()
    let failure = null
    const shown = []
    pull(reader.log.stream({ live: true, gte: offset, seqs: false }), pull.drain(value => shown.push(value[0]), err => { failure = err }))

    // what is acknowledged is published in a later turn of the event loop
    writer.record([deletion])
    while (await codeOf(reader.get(BLOCK_SIZE + SECOND)) !== 'flumelog:deleted') await new Promise(resolve => setImmediate(resolve))
    writer.publish(size)
    await until(() => failure !== null || shown.length > 0)
    t.equal(failure?.message, undefined)
    t.deepEqual(shown, [4])
    t.equal(await codeOf(reader.get(BLOCK_SIZE + SECOND)), 'flumelog:deleted')
    await reader.close()
  })
}

tape('a reader of a closed log shows nothing of a write that failed while it was reading', async (t) => {
  const file = testFolder(t)('log')
  await makeFile(file)
  const made = pathFile(file, { readOnly: true, lock: false })
  const { size } = fs.statSync(file)
  let reads = 0
  // the writer had the log open for that time only
  const read = (offset, length, cb) => made.read(offset, length, (err, data) => {
    if (offset + length > size && reads++ === 0) fs.truncateSync(file, size)
    cb(err, data)
  })
  const reader = promises(createLog({ ...made, read }, settingsOf({ readOnly: true, blockSize: BLOCK_SIZE })))
  await reader.onReady()
  const given = []
  let end = null
  pull(reader.log.stream({ live: true, gt: reader.log.since.value, values: false }), pull.drain(seq => { given.push(seq) }, (err) => { end = err }))
  fs.appendFileSync(file, frame(Buffer.alloc(RECORD_SIZE, 9)))
  await until(() => reads > 0)
  const log = promises(FlumeLog(file))
  const seq = await log.append(Buffer.alloc(20, 7))
  await until(() => given.length > 0 || end !== null)
  t.deepEqual(given, [seq])
  t.equal(end, null)
  t.deepEqual(await reader.get(seq), Buffer.alloc(20, 7))
  await log.close()
  await reader.close()
})
