'use strict'

// The records of an old file as an async iterable.

const errors = require('./errors')
const { FORMATS, formatOf } = require('./formats')
const { OldFile } = require('./old-file')

/**
 * @typedef {object} OldRecord
 * @property {number} offset of the record in the file; of a line, of its first byte
 * @property {Buffer} [data] its data; for CSV, the row as a JSON object; undefined if it was deleted
 * @property {true} [deleted] it was deleted
 */

/**
 * @param {string} filename
 * @param {{ from?: string, onTorn?: (torn: import('./reader').Torn) => void }} options
 * @param {import('flumelog-random-access-file/blocks').Work} work
 * @returns {AsyncGenerator<OldRecord, void, void>}
 */
async function * readRecords (filename, { from, onTorn }, work) {
  work.throwIfStopped()
  const file = await OldFile.open(filename)
  try {
    const { format, blockSize } = await formatOf(file, from)
    const onprogress = work.begin('import')
    for await (const items of await FORMATS[format].read(file, { blockSize, large: false })) {
      for (const { offset, size, data, isDeleted, problem, corrupt, torn } of items) {
        if (problem !== undefined) throw errors.notARecord(filename, offset, problem)
        if (corrupt !== undefined) throw errors.corruptOldFile(filename, offset, offset + size, corrupt)
        if (torn !== undefined) onTorn?.({ offset, bytes: size, reason: torn })
        else yield isDeleted ? { offset, deleted: true } : { offset, data }
      }
      onprogress(items[items.length - 1]?.offset ?? 0, file.size)
    }
    onprogress(file.size, file.size)
  } finally {
    await file.close()
  }
}

module.exports = { readRecords }
