'use strict'

// A compaction moves records: where a position is since.

/**
 * @typedef {import('../space/offset-map').OffsetMap} OffsetMap
 * @typedef {import('./cursor-text').Position} Position
 */

/**
 * @param {Position} position
 * @param {string} id of the log now
 * @param {OffsetMap | null} map of its last compaction
 * @returns {Position} the same one in the log as it is now; or as it is, if it is from before an earlier compaction, or from after a later one
 */
function positionIn (position, id, map) {
  // a process that has not heard of a compaction gets positions from after it: offsets grow
  if (position.id === id || map === null || map.id !== id || position.next > map.base) return position
  if (map.previousId !== position.id) return position
  // what comes next was trimmed: that is an error in this log, too. Offsets grow
  if (position.next < map.start) return { id, seq: -1, next: map.base - 1, tie: null }
  if (position.seq === -1) return { id, seq: -1, next: map.base, tie: null }
  const seq = map.at(position.seq)
  if (seq !== null) return { id, seq, next: seq + 1, tie: position.tie }
  const before = map.down(position.seq)
  return { id, seq: before, next: before === -1 ? map.base : before + 1, tie: null }
}

/**
 * @param {number | null} seq of a record of the log as it is now, or as it was before its last compaction; -1 or null: none
 * @param {OffsetMap} map of that compaction
 * @returns {number | null} the same record now; if it is gone, the one before it
 */
function seqIn (seq, map) {
  return seq === null || seq >= map.base ? seq : map.down(seq)
}

module.exports = { positionIn, seqIn }
