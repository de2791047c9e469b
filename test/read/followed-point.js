'use strict'

// FILE.meta of a log that another process writes, while the log moves to another file or this process takes it over.

const tape = require('tape')
const { BlockCache } = require('../../lib/read/block-cache')
const { FollowedPoint } = require('../../lib/read/followed-point')
const { pointOf } = require('../../lib/recovery/recovery-point')
const { metadataOf } = require('../helpers/left-metadata')

tape('a block that was read while the log was moved to another file, or taken over, is looked at again as it is there', async (t) => {
  const metadata = await metadataOf(Buffer.alloc(0), { blockSize: 128 })
  const recorded = { metadata, version: 'a', published: 0, isHeld: true }
  /** @type {Array<(found: any) => void>} */
  const reads = []
  const io = /** @type {any} */ ({ readMetadata: () => new Promise(resolve => reads.push(resolve)), size: async () => 0 })
  const blocks = new BlockCache(/** @type {any} */ ({ filename: 'log' }), { blockSize: 128, checksum: true, cacheSize: 0 })
  blocks.followedPoint = new FollowedPoint(io, blocks, pointOf(metadata, 'a', 0, true), null, () => {})
  for (const isWriter of [false, true]) {
    const before = /** @type {FollowedPoint} */ (blocks.followedPoint)
    const same = new Promise(resolve => before.compare(before.current, resolve))
    while (reads.length === 0) await new Promise(resolve => setImmediate(resolve))
    blocks.followedPoint = isWriter ? null : new FollowedPoint(io, blocks, null, null, () => {})
    reads.shift()?.(recorded)
    t.equal(await same, false)
  }
})
