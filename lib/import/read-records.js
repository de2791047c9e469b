'use strict'

// The records of an old file as an async iterable.

const errors = require('../errors')
const layout = require('../format/layout')
const { FORMATS, formatOf } = require('./formats')
const { OldFile } = require('./old-file')

/** Records that are parsed at a time. */
const BATCH = 1024

/**
 * @typedef {object} OldRecord
 * @property {number} offset of the record in the file; of a line, of its first byte
 * @property {Buffer} [data] its data; for CSV, the row as a JSON object; undefined if it was deleted
 * @property {true} [deleted] it was deleted
 */

/**
 * @param {string} filename
 * @param {{ from?: string, onTorn?: (torn: import('./record-reader').Torn) => void }} options
 * @param {import('../maintenance/work').Work} work
 * @returns {AsyncGenerator<OldRecord, void, void>}
 */
async function * readRecords (filename, { from, onTorn }, work) {
  work.mustGoOn()
  const file = await OldFile.open(filename)
  try {
    const { format, blockSize } = await formatOf(file, from)
    const reader = await FORMATS[format].open(file, blockSize, 0)
    const batch = new Batch(filename)
    const onprogress = work.begin('import')
    try {
      for (let isMore = true; isMore;) {
        // also what came before the end
        isMore = await reader.next(batch)
        const { records } = batch
        batch.records = []
        yield * records
        onprogress(reader.offset - reader.start, file.size - reader.start)
      }
      if (reader.torn !== null) onTorn?.(reader.torn)
    } finally {
      await reader.stop()
    }
  } finally {
    await file.close()
  }
}

/** @typedef {import('./record-reader').Handler} Handler */

/** @implements {Handler} */
class Batch {
  /** @param {string} filename */
  constructor (filename) {
    this.filename = filename
    /** @type {OldRecord[]} */
    this.records = []
  }

  /** @type {Handler['record']} */
  record (bytes, start, end, offset, isDeleted) {
    const { records } = this
    records.push(isDeleted ? { offset, deleted: true } : { offset, data: layout.view(bytes.buffer, bytes.byteOffset + start, end - start) })
    return records.length === BATCH
  }

  /** @type {Handler['problem']} */
  problem (bytes, start, end, offset, reason) {
    throw errors.notARecord(this.filename, offset, reason)
  }

  /** @type {Handler['corrupt']} */
  corrupt (offset, size, reason) {
    throw errors.corruptOldFile(this.filename, offset, offset + size, reason)
  }
}

module.exports = { readRecords }
