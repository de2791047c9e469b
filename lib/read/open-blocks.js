'use strict'

// What the readers of a log need, once its block size is known.

const { BlockCache } = require('./block-cache')
const { RecordReader } = require('./get')

/**
 * @param {Pick<import('../opening').Context, 'file' | 'settings' | 'codec' | 'listeners' | 'turn' | 'clock'>} context
 * @param {number} blockSize in bytes
 * @returns {{ blocks: BlockCache, reader: RecordReader }} whose tail the caller sets
 */
function openBlocks ({ file, settings, codec, listeners, turn, clock }, blockSize) {
  listeners.onblocksize(blockSize)
  const { checksum, cacheSize, large, sequentialShare } = settings
  const blocks = new BlockCache(file, { blockSize, checksum, cacheSize, large, sequentialShare, clock })
  return { blocks, reader: new RecordReader({ blocks, decode: codec.isIdentity ? null : codec.decode, takesText: codec.takesText, turn }) }
}

module.exports = { openBlocks }
