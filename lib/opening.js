'use strict'

// Opens a log: finds its block size and its end, recovers it after a crash, and puts
// together what an open log consists of.

const { BlockCache } = require('./read/block-cache')
const { Follower } = require('./read/follower')
const { findVisibleEnd } = require('./read/visible-end')
const { RecordReader } = require('./read/get')
const { findBlockSize } = require('./recovery/block-size')
const { findEnd } = require('./recovery/find-end')
const { recover } = require('./recovery/recover')
const { promises } = require('./storage/promisified-file')
const { Writer } = require('./write/writer')
const { DEFAULT_BLOCK_SIZE } = require('./options')

/**
 * @typedef {object} Opened what an open log consists of
 * @property {BlockCache} blocks
 * @property {RecordReader} reader
 * @property {Writer | null} writer null: the log is read-only
 * @property {Follower | null} follower null: this process writes the log
 * @property {import('./types').Cut | null} cut what recovery truncated
 * @property {number} recovered bytes behind the recovery point that were valid
 *
 * @typedef {object} Listeners
 * @property {(seq: number) => void} onadvance readers see more; the last record's seq is this
 * @property {(blockSize: number) => void} onblocksize the block size is this; a follower may find it only later
 * @property {(err: Error) => void} onfailure a follower cannot rely on what it has read
 */

/**
 * @param {import('./storage/path-file').LogFile} file
 * @param {import('./options').Settings} settings
 * @param {import('./record-codec').RecordCodec} records
 * @param {import('./write/appender').Limits} limits
 * @param {Listeners} listeners
 * @param {import('./read/turn-budget').TurnBudget} turn
 * @param {import('./clock').Clock} clock
 * @returns {Promise<{ opened: Opened, lastSeq: number }>}
 */
async function openLog (file, settings, records, limits, listeners, turn, clock) {
  const io = promises(file)
  await io.open()
  /** @type {Follower | null} */
  let follower = null
  try {
    const { blockSize, found, point } = await examine(io, file, settings, records.isWhole)
    const mustRecover = !settings.readOnly && (point !== null || found.cut > 0 || found.damagedTail !== null)
    const cutName = mustRecover ? await recover(io, found, blockSize) : null
    listeners.onblocksize(blockSize)

    const { checksum, cacheSize, readOnly } = settings
    const blocks = new BlockCache(file, { blockSize, checksum, cacheSize })
    blocks.tail = found.tail
    const writer = readOnly ? null : new Writer(file, blocks, { ...settings, blockSize }, limits, found.lastSeq, listeners.onadvance, clock)
    if (readOnly) {
      follower = new Follower(file, io, blocks, found, point, { ...listeners, blockSize: settings.blockSize, isWhole: records.isWhole, clock })
      await follower.begin()
    }
    const cut = mustRecover && found.cut > 0 ? { offset: found.kept, bytes: found.cut, filename: cutName } : null
    const reader = new RecordReader({ blocks, decode: records.isIdentity ? null : records.decode, turn })
    const opened = { blocks, reader, writer, follower, cut, recovered: mustRecover ? found.recovered : 0 }
    return { opened, lastSeq: follower?.lastSeq ?? found.lastSeq }
  } catch (err) {
    follower?.close()
    await io.close().catch(() => {})
    throw err
  }
}

/**
 * Finds the log in the file; changes nothing.
 * @param {import('./storage/promisified-file').Io} io
 * @param {import('./storage/path-file').LogFile} file
 * @param {import('./options').Settings} settings
 * @param {(data: Buffer) => boolean} isWhole
 */
async function examine (io, { filename }, settings, isWhole) {
  const { checksum, readOnly } = settings
  if (readOnly) return findVisibleEnd(io, io.read, filename, { blockSize: settings.blockSize, checksum, isWhole })
  const [size, point] = await Promise.all([io.size(), io.readPoint()])
  const blockSize = await findBlockSize(io.read, size, settings.blockSize, DEFAULT_BLOCK_SIZE, filename, point)
  const found = await findEnd(io.read, size, point, { blockSize, checksum, isWhole, canHavePoint: io.hasPoint, lastNonZero: io.lastNonZero })
  return { blockSize, found, point }
}

module.exports = { openLog }
