'use strict'

// The last thing that a writer does with its file: everything acknowledged is durable,
// nothing else is in it, and FILE.meta says that the log is closed.

const { promised } = require('../callbacks')

/**
 * @param {import('./writer').Writer} writer of which no operation is in progress
 * @returns {Promise<void>}
 */
async function finish (writer) {
  const { durability, metadata, deleter, trimmer } = writer
  // if any of this fails the log stays open in FILE.meta, so that opening looks at what the file holds
  try {
    if (writer.failure !== null) throw writer.failure
    await settleFile(writer)
    await trimmer.flush()
    if (trimmer.hasUnsynced) await promised(cb => durability.syncAll(cb))
  } finally {
    durability.stopTimer()
    deleter.stopTimer()
    await promised(cb => durability.whenQuiet(cb))
    await metadata.stop()
  }
  if (writer.synced >= writer.acknowledged) writer.recordCount.allSynced()
  // on a full disk, it stays open there, too
  await metadata.close().catch(() => {})
}

/**
 * Everything acknowledged is durable in the log's file, and nothing else is in it: it would be valid without FILE.meta.
 * @param {import('./writer').Writer} writer of which no other operation is in progress
 */
async function settleFile (writer) {
  const { durability, deleter, trimmer } = writer
  if (writer.committer.mustTruncate) await promised(cb => writer.committer.truncate(cb))
  await promised(cb => durability.syncTo(writer.acknowledged, cb))
  await deleter.flush()
  // what a failed write has left must not come back after a power cut
  if (durability.isTruncated || deleter.hasUnsyncedZeros || trimmer.hasUnsynced) await promised(cb => durability.syncAll(cb))
}

module.exports = { finish, settleFile }
