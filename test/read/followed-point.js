'use strict'

// The recovery point of a log that another process writes, while the log moves to another file or this process takes it over.

const tape = require('tape')
const { BlockCache } = require('../../lib/read/block-cache')
const { FollowedPoint } = require('../../lib/read/followed-point')

tape('a block that was read while the log was moved to another file, or taken over, is looked at again as it is there', async (t) => {
  const recorded = { id: 'a', writer: 'w', offset: 0, deletions: [], dropped: 0, isHeld: true, acknowledged: 0 }
  /** @type {Array<(point: any) => void>} */
  const reads = []
  const io = /** @type {any} */ ({ readPoint: () => new Promise(resolve => reads.push(resolve)), size: async () => 0 })
  const blocks = new BlockCache(/** @type {any} */ ({ filename: 'log' }), { blockSize: 128, checksum: true, cacheSize: 0 })
  blocks.followedPoint = new FollowedPoint(io, blocks, /** @type {any} */ (recorded), () => {})
  for (const isWriter of [false, true]) {
    const before = /** @type {FollowedPoint} */ (blocks.followedPoint)
    const same = new Promise(resolve => before.compare(before.current, resolve))
    while (reads.length === 0) await new Promise(resolve => setImmediate(resolve))
    blocks.followedPoint = isWriter ? null : new FollowedPoint(io, blocks, null, () => {})
    reads.shift()?.(recorded)
    t.equal(await same, false)
  }
})
