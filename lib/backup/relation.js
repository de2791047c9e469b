'use strict'

// Shows that a file is a backup of a log though none of its records is at the same offset in the log.

const layout = require('../format/layout')
const { findProblem } = require('../format/validation')
const { generationOf, readOwn } = require('../recovery/recovery-point')
const { OffsetMap } = require('../space/offset-map')
const { promises } = require('../storage/promisified-file')

/**
 * @param {import('./source-log').SourceLog} source
 * @param {import('../maintenance/extent').Extent} extent of the backup
 * @returns {Promise<boolean>} whether it was made as a backup of this log, or of one that is a copy of this one, or of which this one is a copy
 */
async function isKnownSource (source, extent) {
  const [log, backup] = await Promise.all([readOwn(promises(source.file)), readOwn(extent.io)])
  return log !== null && log.metadata.log === backup?.metadata.log
}

/**
 * @param {import('./source-log').SourceLog} source
 * @param {import('../maintenance/extent').Extent} extent of the backup
 * @returns {Promise<boolean>} whether the log was compacted since: its offset map leads from a record of the backup to the same record
 */
async function isOfEarlierGeneration (source, extent) {
  const { id } = generationOf((await readOwn(promises(source.file)))?.metadata)
  const map = source.file.location === null ? null : await OffsetMap.open(source.file.location.path, id)
  if (map === null) return false
  try {
    if (map.base > source.start || map.previousId !== generationOf((await readOwn(extent.io))?.metadata).id) return false
    for await (const { seq, data } of recordsOf(extent)) {
      const now = map.at(seq)
      if (now === null || now < source.start || now >= source.end) continue
      const block = await source.block(Math.floor(now / source.blockSize))
      const position = now % source.blockSize
      // one is enough, since ids of logs that were never compacted are all the same, but records are not
      if (!layout.isDeleted(block, position)) return layout.dataAt(block, position).equals(data)
    }
    return false
  } finally {
    map.close()
  }
}

/**
 * @param {import('../maintenance/extent').Extent} extent
 * @returns {AsyncGenerator<{ seq: number, data: Buffer }, void, void>} those that are not deleted, the blocks from the last one on
 */
async function * recordsOf ({ start, end, blockSize, read }) {
  for (let offset = Math.floor((end - 1) / blockSize) * blockSize; offset >= start; offset -= blockSize) {
    const block = await read(offset, Math.min(blockSize, end - offset))
    const isFull = block.length === blockSize
    if (isFull && findProblem(block, true) !== null) continue
    const last = isFull ? layout.paddingStart(block) : block.length
    for (let position = 0; position < last; position = layout.nextPosition(block, position)) {
      if (!layout.isDeleted(block, position)) yield { seq: offset + position, data: layout.dataAt(block, position) }
    }
  }
}

module.exports = { isKnownSource, isOfEarlierGeneration }
