'use strict'

// What `stats` of a log in a stream counts: the same as for a file, as far as that has a meaning here.

/**
 * @param {import('./stream-log').StreamLog} log
 * @returns {import('flumelog-random-access-file').Stats & { reconnects: number }}
 */
function statsOf ({ publisher: { counts: { appended, written, inFlight, writes } }, state: { opened }, streams, connection: { reconnects } }) {
  const { bytes = 0, first_seq: start = 0 } = opened?.reader.state ?? {}
  return {
    appended: { ...appended },
    written: { ...written },
    inFlight: { ...inFlight },
    writes,
    syncs: 0,
    unsynced: 0,
    cache: { hits: 0, misses: 0, evictions: 0 },
    streams: streams.size,
    clients: [],
    refused: 0,
    // as the server said last, and what was stored here since
    size: bytes,
    allocated: null,
    holes: null,
    start,
    blocks: 0,
    recovered: 0,
    cut: null,
    reconnects
  }
}

module.exports = { statsOf }
