'use strict'

// Deletions in a recovery point as versions before 0.1.0 wrote them: the bytes of a block, whole.

const fs = require('fs')
const { crc32 } = require('zlib')
const { CHECKSUM_SIZE, deletedData, linesOf } = require('../../lib/recovery/rewrites')

/**
 * @param {number} offset of a block in the file
 * @param {Buffer} before its bytes as they are in the file; may be longer than `after`
 * @param {Buffer} after its bytes with the data of deleted records zeroed
 */
function rewriteImage (offset, before, after) {
  const changed = linesOf(offset, after, deletedData(after)).filter(({ hasDeleted }) => hasDeleted)
  const replaces = Buffer.alloc(changed.length * CHECKSUM_SIZE)
  changed.forEach(({ start, end }, i) => replaces.writeUInt32LE(crc32(before.subarray(start, end)), i * CHECKSUM_SIZE))
  return { offset, data: after, replaces }
}

/**
 * Leaves a recovery point beside a log.
 * @param {string} file the log's
 * @param {number} offset
 * @param {Array<{ offset: number, data: Buffer, replaces?: Buffer }>} rewrites
 */
function leavePoint (file, offset, rewrites) {
  const json = JSON.stringify({
    offset,
    rewrites: rewrites.map(({ offset, data, replaces }) => ({ offset, data: data.toString('base64'), replaces: replaces?.toString('base64') })),
    id: 'left'
  })
  fs.writeFileSync(file + '.recovery-point', `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`)
}

module.exports = { leavePoint, rewriteImage }
