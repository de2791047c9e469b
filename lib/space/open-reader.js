'use strict'

// Opens a log for a process that does not write it: a read-only log, or the client of a shared log.

const { findFollowed } = require('../read/followed-log')
const { Follower } = require('../read/follower')
const { openBlocks } = require('../read/open-blocks')
const { followCompaction } = require('./follow-compaction')

/** How often a log is opened that is compacted, or replaced, meanwhile. */
const MAX_OPENS = 100

/**
 * @typedef {object} Opened
 * @property {import('../read/block-cache').BlockCache} blocks
 * @property {import('../read/get').RecordReader} reader
 * @property {Follower} follower
 *
 * @typedef {object} ReaderOptions
 * @property {number | undefined} blockSize in bytes; undefined: it is found
 * @property {boolean} [isClient] see `Follower`
 * @property {import('../read/follower').Listeners} listeners
 */

/**
 * @param {import('../opening').Context} context
 * @param {ReaderOptions} options
 * @returns {Promise<Opened>}
 */
async function openReader (context, options) {
  const { file } = context
  for (let opens = 1; ; opens++) {
    try {
      return await openFollower(context, options)
    } catch (err) {
      const isReplaced = /** @type {NodeJS.ErrnoException} */ (err).code === 'flumelog:replaced'
      if (!isReplaced || opens === MAX_OPENS) throw err
      // the log is another file by now
      file.moveTo(await file.openSuccessor().catch(() => { throw err }), 0)
    }
  }
}

/**
 * @param {import('../opening').Context} context
 * @param {ReaderOptions} options
 * @returns {Promise<Opened>}
 */
async function openFollower (context, { blockSize: wanted, isClient = false, listeners }) {
  const { file, settings, codec, clock } = context
  const { isWhole } = codec
  const end = await findFollowed(file, file.io, { ...settings, blockSize: wanted, isWhole })
  const { blocks, reader } = openBlocks(context, end.blockSize)
  let isOpen = false
  const follow = async (/** @type {Follower} */ follower, /** @type {Error} */ replaced) => {
    if (!isOpen) throw replaced
    await followCompaction(follower, replaced)
  }
  const follower = new Follower(file, blocks, { ...listeners, followCompaction: follow, blockSize: wanted, isClient, isWhole, clock })
  try {
    await follower.begin(end)
    isOpen = true
  } catch (err) {
    follower.close()
    throw err
  }
  return { blocks, reader, follower }
}

module.exports = { openReader }
