'use strict'

// Whether the disk has room for a compacted log, as far as that can be known before all of it is read.

const fs = require('fs')
const errors = require('../errors')
const layout = require('../format/layout')

/** Blocks that are read to estimate how much is deleted. */
const SAMPLES = 32
/** An estimate may be that much too high. */
const TOLERANCE = 0.8

/**
 * @param {{ blocks: import('../read/block-cache').BlockCache, file: import('../storage/path-file').LogFile }} log
 * @throws ENOSPC with `need` and `have`, if it obviously does not fit
 */
async function mustHaveRoom ({ blocks, file }) {
  const { path, folder } = /** @type {import('../storage/location').Location} */ (file.location)
  const { bavail, bsize } = await fs.promises.statfs(folder)
  const have = bavail * bsize
  const bytes = blocks.end - blocks.start
  if (bytes <= have) return
  const need = Math.floor(bytes * await shareKept(blocks) * TOLERANCE)
  if (need > have) throw errors.noRoom(file.filename ?? path, need, have)
}

/**
 * @param {import('../read/block-cache').BlockCache} blocks
 * @returns {Promise<number>} the share of the log that is not deleted, by some of its blocks
 */
async function shareKept (blocks) {
  const first = blocks.start / blocks.blockSize
  const count = blocks.tail.number - first
  if (count === 0) return 1
  let kept = 0
  const samples = Math.min(SAMPLES, count)
  for (let i = 0; i < samples; i++) kept += await keptIn(blocks, first + Math.floor(i * count / samples))
  return kept / (samples * blocks.blockSize)
}

/**
 * @param {import('../read/block-cache').BlockCache} blocks
 * @param {number} number
 * @returns {Promise<number>} bytes of records that are not deleted
 */
function keptIn (blocks, number) {
  return new Promise((resolve, reject) => blocks.get(number, false, (err, block) => {
    if (err) return reject(err)
    const { buffer, end } = /** @type {import('../format/block').Block} */ (block)
    let bytes = 0
    for (let position = 0; position < end;) {
      const next = layout.nextPosition(buffer, position)
      if (!layout.isDeleted(buffer, position)) bytes += next - position
      position = next
    }
    resolve(bytes)
  }))
}

module.exports = { mustHaveRoom }
