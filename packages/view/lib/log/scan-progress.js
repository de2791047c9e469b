'use strict'

// Reads all of a log, and tells its reader how far that is.

const { noCounts, tally } = require('flumelog-random-access-file/blocks')

/** Milliseconds between two reports. */
const INTERVAL = 100

/** Tells how far a scan is, at most ten times per second. */
class ScanProgress {
  /**
   * @param {import('../http/events').EventStream} events
   * @param {{ from: number, to: number }} range where the scan starts and ends
   */
  constructor (events, { from, to }) {
    this.events = events
    this.from = from
    this.to = to
    this.sentAt = -Infinity
  }

  /**
   * @param {number} at offset
   * @param {object} [more]
   */
  async tell (at, more = {}) {
    const now = performance.now()
    if (now - this.sentAt < INTERVAL) return
    this.sentAt = now
    await this.events.send('progress', { at, done: this.done(at), ...more })
  }

  /** @param {number} at */
  done (at) {
    const { from, to } = this
    return from === to ? 1 : Math.min(1, Math.max(0, (at - from) / (to - from)))
  }
}

/**
 * @param {import('./viewed-log').ViewedLog} log
 * @param {import('../http/events').EventStream} events
 * @param {(block: import('flumelog-random-access-file/blocks').Block) => void | Promise<void>} onBlock called with each block
 * @returns {Promise<{ counts: ReturnType<typeof noCounts>, corrupt: number }>} of the records in valid blocks; corrupt: blocks
 */
async function countAll (log, events, onBlock) {
  const progress = new ScanProgress(events, { from: log.start, to: log.limit })
  const counts = noCounts()
  let corrupt = 0
  for await (const blocks of log.scan({ from: log.start, signal: events.signal })) {
    for (const block of blocks) {
      if (block.error !== null) corrupt++
      else tally(counts, block.buffer, block.end)
      await onBlock(block)
      await progress.tell(block.offset)
    }
  }
  return { counts, corrupt }
}

module.exports = { ScanProgress, countAll }
