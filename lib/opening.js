'use strict'

// Opens what a log consists of: for writing, read-only, or shared.

const errors = require('./errors')
const { openWriter } = require('./space/open-writer')

/**
 * @typedef {object} Opened what an open log consists of
 * @property {import('./read/block-cache').BlockCache} blocks
 * @property {import('./read/get').RecordReader} reader
 * @property {import('./write/writer').Writer | import('./sharing/remote-writer').RemoteWriter | null} writer null: the log is read-only
 * @property {import('./read/follower').Follower | null} follower null: this process writes the file
 * @property {import('./sharing/sharing').Sharing | null} sharing null: the log is not shared
 * @property {import('./types').Cut | null} cut what recovery truncated
 * @property {number} recovered bytes behind the recovery point that were valid
 *
 * @typedef {object} Listeners
 * @property {(seq: number) => void} onadvance readers see more; the last record's seq is this
 * @property {(blockSize: number) => void} onblocksize the block size is this; a follower may find it only later
 * @property {(err: Error) => void} onfailure a follower cannot rely on what it has read
 * @property {(map: import('./space/offset-map').OffsetMap, lastSeq: number) => void} onmoved another process has compacted the log
 * @property {() => Promise<import('./space/types').Compacted>} oncompact another process of a shared log wants it to be compacted
 * @property {() => void} onrole this process of a shared log has another writer now
 * @property {() => void} onfresh whether blocks have all that was acknowledged to this process has changed
 *
 * @typedef {object} Context what a log is opened with
 * @property {import('./storage/path-file').LogFile} file
 * @property {import('./options').Settings} settings
 * @property {import('./record-codec').RecordCodec} codec
 * @property {Listeners} listeners
 * @property {import('./read/turn-budget').TurnBudget} turn
 * @property {import('./clock').Clock} clock
 */

/**
 * @param {Context} context
 * @returns {Promise<{ opened: Opened, lastSeq: number }>}
 */
async function openInMode (context) {
  try {
    return await (context.settings.shared ? openShared(context) : openAlone(context))
  } catch (err) {
    // Deno's errors for what it was not allowed have no code
    throw /** @type {any} */ (err)?.name === 'NotCapable' ? errors.notAllowed(context.file.filename, /** @type {Error} */ (err)) : err
  }
}

/** @param {Context} context */
async function openShared (context) {
  // only then: it is a third of the code
  const { Sharing } = require('./sharing/sharing')
  return new Sharing(context).open()
}

/** @param {Context} context */
async function openAlone (context) {
  const { file: { io }, settings } = context
  await io.open()
  try {
    return await (settings.readOnly ? openReadOnly(context) : openToWrite(context))
  } catch (err) {
    await io.close().catch(() => {})
    throw err
  }
}

/** @param {Context} context */
async function openToWrite (context) {
  const opened = await openWriter(context, { onacknowledged: context.listeners.onadvance })
  return { opened: { ...opened, follower: null, sharing: null }, lastSeq: opened.writer.appender.lastSeq }
}

/** @param {Context} context */
async function openReadOnly (context) {
  const { settings, listeners } = context
  // only then: a process that writes a log needs none of it
  const { openReader } = require('./space/open-reader')
  const opened = await openReader(context, { blockSize: settings.blockSize, listeners })
  return { opened: { ...opened, writer: null, sharing: null, cut: null, recovered: 0 }, lastSeq: opened.follower.lastSeq }
}

module.exports = { openInMode }
