'use strict'

// Whether an earlier backup was made of a log before that was compacted: its records have other offsets now, so it cannot be brought
// up to date, but replaced. The map of the compaction tells where they are.

const { findProblem } = require('../format/validation')
const layout = require('../format/layout')
const { readGeneration } = require('../space/log-id')
const { OffsetMap } = require('../space/offset-map')

/** Blocks of the backup whose records are looked up: from the first one, and from the last one. */
const SAMPLES = 4

/**
 * @param {import('./source-log').SourceLog} source
 * @param {string} name of the backup
 * @param {import('../maintenance/extent').Extent} extent of it
 * @returns {Promise<boolean>} whether the log has records of it, and no others in their place
 */
async function isOfEarlierGeneration (source, name, extent) {
  const map = source.file.location === null ? null : await OffsetMap.open(source.file.location.path)
  if (map === null) return false
  try {
    if (map.base > source.start || map.previousId !== (await readGeneration(name, extent.start)).id) return false
    return await hasSameRecords(source, extent, map)
  } finally {
    map.close()
  }
}

/**
 * @param {import('./source-log').SourceLog} source
 * @param {import('../maintenance/extent').Extent} extent
 * @param {OffsetMap} map
 * @returns {Promise<boolean>}
 */
async function hasSameRecords (source, extent, map) {
  const { blockSize } = source
  const first = extent.start / blockSize
  const last = Math.floor((extent.end - 1) / blockSize)
  let found = 0
  for (let number = first; number <= last; number++) {
    if (number === first + SAMPLES) number = Math.max(number, last - SAMPLES + 1)
    const offset = number * blockSize
    const copy = await extent.read(offset, Math.min(blockSize, extent.end - offset))
    if (copy.length === blockSize && findProblem(copy, true) !== null) return false
    const end = copy.length === blockSize ? layout.paddingStart(copy) : copy.length
    for (let position = 0; position < end; position = layout.nextPosition(copy, position)) {
      const seq = await map.map(offset + position)
      if (seq === null || seq < source.start || seq >= source.end || layout.isDeleted(copy, position)) continue
      const block = await source.block(Math.floor(seq / blockSize))
      const now = seq % blockSize
      if (layout.isDeleted(block, now)) continue
      if (!layout.dataAt(block, now).equals(layout.dataAt(copy, position))) return false
      found++
    }
  }
  return found > 0
}

module.exports = { isOfEarlierGeneration }
