'use strict'

// Which generation of a log a file is.

const { OffsetMap } = require('./offset-map')

/** Of a log that was never compacted. */
const FIRST_ID = '0'

/**
 * @param {string | null} log its path; null: it is in a storage
 * @param {number} start where it starts
 * @returns {Promise<string>} its id
 */
async function readId (log, start) {
  const map = log === null ? null : await OffsetMap.open(log)
  if (map === null) return FIRST_ID
  map.close()
  // otherwise the compaction that has written it was stopped before its file took the log's place
  return map.base <= start ? map.id : map.previousId ?? FIRST_ID
}

module.exports = { readId, FIRST_ID }
