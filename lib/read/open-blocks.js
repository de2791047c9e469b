'use strict'

// What the readers of a log need, once its block size is known.

const { BlockCache } = require('./block-cache')
const { RecordReader } = require('./get')

/**
 * @param {Pick<import('../opening').Context, 'file' | 'settings' | 'records' | 'listeners' | 'turn' | 'clock'>} context
 * @param {number} blockSize in bytes
 * @returns {{ blocks: BlockCache, reader: RecordReader }} whose tail the caller sets
 */
function openBlocks ({ file, settings, records, listeners, turn, clock }, blockSize) {
  listeners.onblocksize(blockSize)
  const { checksum, cacheSize, large, sequentialShare } = settings
  const blocks = new BlockCache(file, { blockSize, checksum, cacheSize, large, sequentialShare, clock })
  return { blocks, reader: new RecordReader({ blocks, decode: records.isIdentity ? null : records.decode, takesText: records.takesText, turn }) }
}

module.exports = { openBlocks }
