'use strict'

// The clients of a shared log, as its writer sees them. Of a log that is not shared, there are none.

/**
 * @typedef {object} Clients
 * @property {() => Error | null} flush writes into FILE.meta whose records the next write has, before it. An error: that has failed
 * @property {(acknowledged: number) => void} rollBack what they sent is not in the file behind this offset
 * @property {(distance: number) => void} move a compaction moves the log to another file, and what is not
 *   acknowledged by `distance`
 * @property {(signal: AbortSignal) => Promise<void>} whenFollowed resolves when all have followed the last compaction, or the signal is aborted
 * @property {() => void} rewritten blocks have changed that they may have read
 * @property {(end?: number) => import('../storage/metadata-text').ClientRuns} list what the next owner has to know of them, of records up to `end`; default: of all
 */

/** @type {Clients} */
const NONE = {
  flush: () => null,
  rollBack: () => {},
  move: () => {},
  whenFollowed: async () => {},
  rewritten: () => {},
  list: () => ({})
}

module.exports = { NONE }
