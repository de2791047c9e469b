'use strict'

// The last thing that a writer does with its file: everything acknowledged is durable,
// nothing else is in it, and FILE.meta says that the log is closed.

const { promised } = require('../callbacks')

/**
 * @param {import('./writer').Writer} writer of which no operation is in progress
 * @returns {Promise<void>}
 */
async function finish (writer) {
  const { durability, metadata, deleter } = writer
  // if any of this fails the log stays open in FILE.meta, so that opening looks at what the file holds
  try {
    if (writer.failure !== null) throw writer.failure
    await settleFile(writer)
  } finally {
    durability.timer.stop()
    deleter.timer.stop()
    await promised(cb => durability.whenQuiet(cb))
    await metadata.stop()
  }
  durability.noteSynced()
  // on a full disk, it stays open there, too
  await metadata.close().catch(() => {})
}

/**
 * Everything acknowledged, deleted or trimmed is so in the log's file, durably, and nothing else is in it: it would be valid without FILE.meta.
 * @param {import('./writer').Writer} writer of which no other operation is in progress
 */
async function settleFile (writer) {
  const { durability, deletions, metadata, trimmer } = writer
  await deletions.flush()
  await trimmer.flush()
  if (metadata.hasUnsyncedZeros || trimmer.hasUnsynced) await promised(cb => durability.syncAll(cb))
}

module.exports = { finish, settleFile }
