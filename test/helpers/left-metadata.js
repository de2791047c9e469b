'use strict'

// FILE.meta of a log that tests make themselves, as a writer leaves it that is killed.

const fs = require('fs')
const { tieAt } = require('../../lib/recovery/belonging')
const { formatMetadata, parseMetadata } = require('../../lib/storage/metadata-text')

/**
 * @param {Buffer} bytes of the log
 * @param {Partial<import('../../lib/storage/metadata-text').Metadata>} [more] end: the recovery point; default: the log's end
 * @returns {Promise<import('../../lib/storage/metadata-text').Metadata>}
 */
async function metadataOf (bytes, more = {}) {
  const { end = bytes.length, blockSize = 65536 } = more
  const deletions = (more.deletions ?? []).map((deletion, i) => ({ ...deletion, number: i + 1 }))
  const tie = await tieAt(async (offset, size) => bytes.subarray(offset, offset + size), end, blockSize, deletions)
  return { log: 'log', id: '0', base: 0, writer: 'left', closed: false, dropped: 0, clients: {}, next: null, start: 0, freed: 0, ...more, end, tie, blockSize, deletions }
}

/**
 * @param {string} file the log's
 * @param {Buffer} bytes of the log that it is made for
 * @param {Parameters<typeof metadataOf>[1]} [more]
 */
async function leaveMetadata (file, bytes, more) {
  const metadata = await metadataOf(bytes, more)
  fs.writeFileSync(file + '.meta', formatMetadata(metadata, metadata.end), 'latin1')
}

/**
 * @param {string} file
 * @returns {boolean} whether each writer of this log has closed it
 */
function isClosed (file) {
  const name = `${file}.meta`
  return !fs.existsSync(name) || parseMetadata(fs.readFileSync(name, 'latin1'))?.metadata.closed === true
}

module.exports = { isClosed, leaveMetadata, metadataOf }
