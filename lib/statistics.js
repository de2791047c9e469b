'use strict'

// What `stats` counts.

const { Writer } = require('./write/writer')

const NO_COUNT = { records: 0, bytes: 0 }
const NO_COUNTS = { appended: NO_COUNT, written: NO_COUNT, inFlight: NO_COUNT, writes: 0, syncs: 0 }
const NO_BLOCKS = { hits: 0, misses: 0, evictions: 0, start: 0, end: 0, blockSize: 1 }

/**
 * @param {import('./storage/path-file').LogFile} file
 * @param {import('./opening').Opened | null} opened null: the log is not open yet, or could not be opened
 * @param {import('./write/appender').Appender | null} appender null: the log takes no appends
 * @param {number} streams that are open
 * @returns {import('./types').Stats}
 */
function statsOf (file, opened, appender, streams) {
  const writer = opened?.writer ?? null
  const { appended, written, inFlight, writes, syncs } = writer?.counts ?? appender?.counts ?? NO_COUNTS
  const { hits, misses, evictions, blockSize, start, end } = opened?.blocks ?? NO_BLOCKS
  const size = opened?.follower?.end ?? end
  return {
    appended: { ...appended },
    written: { ...written },
    inFlight: { ...inFlight },
    writes,
    syncs,
    unsynced: unsyncedBytes(writer),
    cache: { hits, misses, evictions },
    streams,
    clients: opened?.sharing?.owner?.server.stats() ?? [],
    refused: opened?.sharing?.owner?.server.refusals ?? 0,
    size,
    allocated: file.allocated(),
    holes: file.canPunch(),
    start,
    // a reader may know that the log was trimmed before it knows what came since
    blocks: Math.max(0, Math.ceil((size - start) / blockSize)),
    recovered: opened?.recovered ?? 0,
    cut: opened?.cut ?? null
  }
}

/**
 * @param {import('./opening').Opened['writer']} writer
 * @returns {number} what a client has not synced is known to the owner only
 */
function unsyncedBytes (writer) {
  return writer instanceof Writer ? Math.max(0, writer.acknowledged - writer.durability.synced) : 0
}

module.exports = { statsOf }
