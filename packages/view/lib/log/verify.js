'use strict'

// Verifies a log, and tells of what is corrupt when it is found.

const { storedChecksum } = require('flumelog-random-access-file/blocks')
const { countAll } = require('./scan-progress')

/**
 * @typedef {import('./rows').Rows} Rows
 * @typedef {import('../http/events').EventStream} EventStream
 */

/**
 * Reads every block from the file again, and tells of those that are corrupt.
 * @param {Rows} rows
 * @param {EventStream} events
 */
async function sendVerified (rows, events) {
  const { log } = rows
  let checksummed = 0
  const { counts, corrupt } = await countAll(log, events, async ({ number, offset, buffer, sealed, error }) => {
    if (error !== null) await events.send('finding', { block: number, offset, message: error.reason === undefined ? log.messageOf(error) : `${error.reason} (at ${error.offset})` })
    else if (sealed && storedChecksum(buffer) !== 0) checksummed++
  })
  const torn = await log.tornBytes()
  if (torn > 0) {
    const message = `${torn} bytes after the end are no whole record: what an interrupted write has left; the next writer truncates it`
    await events.send('finding', { block: Math.floor(log.limit / log.blockSize), offset: log.limit, message })
  }
  if (!events.signal.aborted) await events.send('end', { corrupt, records: counts.records - counts.parts, deleted: counts.deleted, checksummed, torn })
}

module.exports = { sendVerified }
