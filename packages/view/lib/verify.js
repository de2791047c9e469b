'use strict'

// Verifies a log, and tells of what is corrupt when it is found.

const { noCounts, storedChecksum, tally } = require('flumelog-random-access-file/blocks')
const { ScanProgress } = require('./scan-progress')

/**
 * @typedef {import('./rows').Rows} Rows
 * @typedef {import('./events').EventStream} EventStream
 */

/**
 * Reads every block from the file again, and tells of those that are corrupt.
 * @param {Rows} rows
 * @param {EventStream} events
 */
async function sendVerified (rows, events) {
  const { log } = rows
  const progress = new ScanProgress(events, { from: log.start, to: log.limit })
  const counts = noCounts()
  let corrupt = 0
  let checksummed = 0
  for await (const blocks of log.scan({ from: log.start, signal: events.signal })) {
    for (const { number, offset, buffer, end, sealed, error } of blocks) {
      if (error !== null) {
        corrupt++
        await events.send('finding', { block: number, offset, message: error.reason === undefined ? log.messageOf(error) : `${error.reason} (at ${error.offset})` })
      } else {
        tally(counts, buffer, end)
        if (sealed && storedChecksum(buffer) !== 0) checksummed++
      }
      await progress.tell(offset)
    }
  }
  const torn = await log.tornBytes()
  if (torn > 0) {
    const message = `${torn} bytes after the end are no whole record: what an interrupted write has left; the next writer truncates it`
    await events.send('finding', { block: Math.floor(log.limit / log.blockSize), offset: log.limit, message })
  }
  if (!events.signal.aborted) await events.send('end', { corrupt, records: counts.records - counts.parts, deleted: counts.deleted, checksummed, torn })
}

module.exports = { sendVerified }
