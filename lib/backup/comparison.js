'use strict'

// Compares an earlier backup with its log, block by block: by their checksums, or where these are different, or missing, by their records.

const layout = require('../format/layout')
const { findProblem } = require('../format/validation')
const errors = require('../errors')
const { compareBlocks } = require('./compare-blocks')
const { readSummary } = require('./source-log')

/** Blocks whose last bytes are read together. */
const SUMMARIES = 128

class Comparison {
  /**
   * @param {import('./source-log').SourceLog} source
   * @param {string} target name of the backup, as the caller gave it
   * @param {import('../storage/path-file').LogFile} file of the backup
   * @param {import('../maintenance/extent').Extent} extent of it
   * @param {number} sure offset from which on the backup may lack bytes, which are zeros then
   */
  constructor (source, target, file, extent, sure) {
    this.source = source
    this.target = target
    this.file = file
    this.extent = extent
    this.sure = sure
    /** Blocks to which deletions were not applied completely. */
    this.unfinished = new Set(extent.rewrites.map(({ offset }) => Math.floor(offset / source.blockSize)))
  }

  /**
   * @param {number} end of what is compared
   * @param {(bytes: number, total: number) => void} onprogress
   * @returns {AsyncGenerator<{ number: number, copy: Buffer, difference: import('./compare-blocks').Difference | null }, void, void>}
   *   blocks that may be different, and with null, those that show that they are of the same log
   */
  async * differences (end, onprogress) {
    const { source, extent } = this
    const { blockSize } = source
    const first = Math.max(source.start, extent.start) / blockSize
    const fullBlocks = Math.floor(end / blockSize)
    for (let number = first; number < fullBlocks; number += SUMMARIES) {
      const count = Math.min(SUMMARIES, fullBlocks - number)
      const equal = await Promise.all(Array.from({ length: count }, (_, i) => this.isEqual(number + i)))
      if (equal.includes('related')) yield { number, copy: Buffer.alloc(0), difference: null }
      for (let i = 0; i < count; i++) {
        const compared = equal[i] !== null ? null : await this.compare(number + i, end).catch(err => source.skipTrimmed(err))
        if (compared !== null) yield compared
      }
      // small reads may have been made at once
      await new Promise(resolve => setImmediate(resolve))
      onprogress((number + count - first) * blockSize, end - first * blockSize)
    }
    if (end % blockSize > 0 && fullBlocks >= first) yield await this.compare(fullBlocks, end)
  }

  /**
   * @param {number} number of a block
   * @returns {Promise<'related' | 'equal' | null>} whether its checksum is the same in both. Holes are the same in all logs; others show that it is of this one
   */
  async isEqual (number) {
    const { source, file, unfinished } = this
    if (unfinished.has(number)) return null
    const [mine, copy] = await Promise.all([source.summary(number), readSummary(file, (number + 1) * source.blockSize)])
    const last = source.blockSize - layout.CHECKED_PADDING_SIZE
    // where the last record takes the place of the checksum, there is none
    if (mine === null || mine.checksum === 0 || mine.start > last || mine.checksum !== copy.checksum || mine.start !== copy.start) return null
    return mine.start === last ? 'equal' : 'related'
  }

  /**
   * @param {number} number of a block
   * @param {number} end of what is compared
   */
  async compare (number, end) {
    const { source, extent, target } = this
    const { blockSize } = source
    const offset = number * blockSize
    const [block, copy] = await Promise.all([source.block(number), extent.read(offset, Math.min(blockSize, end - offset))])
    const isFull = copy.length === blockSize
    const problem = isFull ? findProblem(copy, true) : null
    if (problem !== null) throw errors.corrupt(target, number, blockSize, problem.position, problem.reason)
    const copyEnd = isFull ? layout.paddingStart(copy) : copy.length
    return { number, block, copy, difference: compareBlocks(block, copy, copyEnd, this.sure - offset) }
  }
}

module.exports = { Comparison }
