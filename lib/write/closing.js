'use strict'

// The last thing that a writer does with its file: everything acknowledged is durable,
// nothing else is in it, and the recovery point is gone, which says so.

const { promised } = require('../callbacks')
const { countToLeave } = require('../recovery/count-records')

/**
 * @param {import('./writer').Writer} writer of which no operation is in progress
 * @returns {Promise<void>}
 */
async function finish (writer) {
  const { durability, recoveryPoint, deleter, trimmer } = writer
  // if any of this fails the recovery point stays, so that opening looks at what the file holds
  try {
    if (writer.failure !== null) throw writer.failure
    await settleFile(writer)
    await trimmer.flush()
    if (trimmer.hasUnsynced) await promised(cb => durability.syncAll(cb))
  } finally {
    durability.stopTimer()
    deleter.stopTimer()
    recoveryPoint.stop()
    await promised(cb => durability.whenQuiet(cb))
    await promised(cb => recoveryPoint.whenQuiet(cb))
  }
  const { file: { countFile }, recordCount, blocks, smallLog } = writer
  // the log has changed
  if ((recoveryPoint.offset !== -1 || deleter.holes.hasPunched) && countFile !== null) {
    await promised(cb => countFile.write(countToLeave(recordCount.records, blocks.end - blocks.start, smallLog), cb))
  }
  await promised(cb => recoveryPoint.remove(cb))
}

/**
 * Everything acknowledged is durable in the log's file, and nothing else is in it: it needs no recovery point.
 * @param {import('./writer').Writer} writer of which no other operation is in progress
 */
async function settleFile (writer) {
  const { durability, deleter, trimmer } = writer
  if (writer.mustTruncate) await promised(cb => writer.truncate(cb))
  await promised(cb => durability.syncTo(writer.acknowledged, cb))
  await deleter.flush()
  // what a failed write has left must not come back after a power cut
  if (durability.isTruncated || deleter.hasUnsyncedZeros || trimmer.hasUnsynced) await promised(cb => durability.syncAll(cb))
}

module.exports = { finish, settleFile }
