'use strict'

// Verifies and counts everything in a log's file. Changes nothing.

const { storedChecksum } = require('../format/checksum')
const { openExtent } = require('./extent')
const { pieces } = require('./blocks')
const { corruptRange, addRange, tornRange } = require('./ranges')
const { noCounts, tally } = require('./counts')

/**
 * @typedef {import('./extent').Extent} Extent
 * @typedef {import('./ranges').Range} Range
 *
 * @typedef {object} Report on a log's file
 * @property {boolean} valid whether all of it is: `ranges` is empty
 * @property {number} blockSize in bytes
 * @property {number} size the file's, in bytes; if the log is open, what its writer has acknowledged
 * @property {number} start of the log: what was before it has been trimmed. 0 if nothing was
 * @property {number} end of the log
 * @property {boolean} closed false: a writer has the log open, or stopped without closing it
 * @property {boolean} open a writer is known to have the log open
 * @property {number} blocks that are not trimmed, the tail included
 * @property {number} sealed valid blocks that are full
 * @property {number} checksummed how many of these have a checksum
 * @property {number} padding bytes at the ends of valid blocks
 * @property {number} corruptBlocks that are corrupt
 * @property {number} corruptBytes in these
 * @property {import('./counts').Counts} counts of records in valid blocks
 * @property {Range[]} ranges that are corrupt or torn, in the order of the file
 *
 * @typedef {(bytes: number, total: number) => void} OnProgress
 */

/**
 * @param {import('../storage/path-file').LogFile} file not open
 * @param {OnProgress} [onprogress]
 * @returns {Promise<Report>}
 */
async function verify (file, onprogress) {
  const extent = await openExtent(file)
  try {
    return await verifyExtent(extent, onprogress)
  } finally {
    await extent.io.close()
  }
}

/**
 * @param {Extent} extent
 * @param {OnProgress} [onprogress]
 * @returns {Promise<Report>}
 */
async function verifyExtent (extent, onprogress) {
  const { blockSize, size, start, end, closed, open } = extent
  const report = {
    valid: true,
    blockSize,
    size,
    start,
    end,
    closed,
    open,
    blocks: 0,
    sealed: 0,
    checksummed: 0,
    padding: 0,
    corruptBlocks: 0,
    corruptBytes: 0,
    counts: noCounts(),
    ranges: /** @type {Range[]} */ ([])
  }
  for await (const piece of pieces(extent)) {
    for (const block of piece.blocks) addBlock(report, block)
    if (onprogress) onprogress(piece.offset + piece.bytes.length - start, end - start)
  }
  if (end < size) report.ranges.push(await tornRange(extent))
  report.valid = report.ranges.length === 0
  return report
}

/**
 * @param {Report} report
 * @param {import('./blocks').ScannedBlock} block
 */
function addBlock (report, block) {
  const { buffer, problem, end } = block
  report.blocks++
  if (problem !== null) {
    report.corruptBlocks++
    report.corruptBytes += buffer.length
    addRange(report.ranges, corruptRange(block))
    return
  }
  if (block.sealed) {
    report.sealed++
    if (storedChecksum(buffer) !== 0) report.checksummed++
    report.padding += buffer.length - end
  }
  tally(report.counts, buffer, end)
}

module.exports = { verify, verifyExtent }
