'use strict'

// The clients of a shared log, as its writer sees them. Of a log that is not shared, there are none.

/**
 * @typedef {object} Clients
 * @property {() => Error | null} flush writes into FILE.meta whose records the next write has, before it. An error: that has failed
 * @property {(offset: number) => void} voidFrom what they sent behind this offset is not in the file
 * @property {(offset: number, base: number) => void} startMove a compaction is about to move the log, all of which is copied up to `offset`, to
 *   a file that starts at `base`
 * @property {() => void} stay it has not moved
 * @property {(map: import('../space/offset-map').OffsetMap, distance: number) => void} move it moves, and unwritten records by `distance`
 * @property {() => Promise<void>} whenFollowed resolves when all have followed the last compaction
 * @property {() => void} rewritten blocks have changed that they may have read
 * @property {(start: number, end: number) => boolean} mayAskFor whether one may ask the next owner for records between two offsets
 * @property {() => import('../storage/metadata-text').ClientLine[]} list what the next owner has to know of them
 */

/** @type {Clients} */
const NONE = {
  flush: () => null,
  voidFrom: () => {},
  startMove: () => {},
  stay: () => {},
  move: () => {},
  whenFollowed: async () => {},
  rewritten: () => {},
  mayAskFor: () => false,
  list: () => []
}

module.exports = { NONE }
