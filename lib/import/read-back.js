'use strict'

// Reads a log back that was just written, and compares it with what was read from the old file.

const errors = require('../errors')
const { crc32 } = require('../format/crc32')
const { pathFile } = require('../storage/path-file')
const { pieces } = require('../maintenance/blocks')
const { noCounts, tally } = require('../maintenance/counts')
const { openExtent } = require('../maintenance/extent')

/**
 * @param {string} name
 * @param {{ size: number, digest: number, records: number, bytes: number, deleted: number }} written
 * @param {boolean} keepDeleted
 * @param {import('../maintenance/work').Work} work
 * @throws flumelog:corrupt
 */
async function mustBeAsWritten (name, { size, digest, records, bytes, deleted }, keepDeleted, work) {
  const onprogress = work.begin('check')
  // an empty log is an empty file
  if (size === 0) return
  const extent = await openExtent(pathFile(name, { readOnly: true, lock: false }))
  const counts = noCounts()
  let found = 0
  try {
    for await (const piece of pieces(extent)) {
      for (const { buffer, end, problem } of piece.blocks) {
        if (problem !== null) throw errors.copyDiffers(name)
        tally(counts, buffer, end)
        found = crc32(buffer.subarray(0, end), found)
      }
      onprogress(piece.offset + piece.bytes.length, size)
    }
    const isSame = extent.end === size && found === digest && counts.records === records && counts.bytes === bytes &&
      counts.deleted === (keepDeleted ? deleted : 0)
    if (!isSame) throw errors.copyDiffers(name)
  } finally {
    await extent.io.close()
  }
}

module.exports = { mustBeAsWritten }
