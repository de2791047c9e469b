'use strict'

// Errors of imports and exports; the others are those of the log.

const { errors } = require('flumelog-random-access-file/blocks')

const { createError } = errors

/**
 * @param {string} filename of what is to be imported
 * @param {number} size in bytes
 * @param {string[]} similar formats of which its start has something
 */
const unknownFormat = (filename, size, similar) => createError('flumelog:not-a-log',
  `${filename}: ${size === 0 ? 'the file is empty' : 'not in a format that can be imported'}; ` +
  (similar.length === 0 ? 'give its format with `from`' : `it may be ${similar.join(' or ')}, corrupt or truncated: if so, give the format with \`from\``), { filename })

/**
 * @param {string} filename of what is to be imported
 * @param {string[]} formats
 */
const ambiguousFormat = (filename, formats) => createError('flumelog:invalid',
  `${filename}: could be ${formats.join(' or ')}; give its format with \`from\``, { filename })

/**
 * @param {string} filename of what is imported
 * @param {number} offset of the record in it
 * @param {number} length of the record in bytes
 * @param {number} most in bytes
 * @param {number} blockSize in bytes
 * @param {string} reason empty: its length
 * @param {boolean} large whether records can be larger than a block
 */
const cannotImport = (filename, offset, length, most, blockSize, reason, large) => createError(length > most && reason === '' ? 'flumelog:too-large' : 'flumelog:invalid',
  `${filename}: the record at offset ${offset} cannot be stored: ` +
  (reason !== '' ? reason : length === 0 ? 'it is empty' : `it has ${length} bytes; the maximum is ${most}, ${large ? 'with `large`' : `with blocks of ${blockSize}; \`large\` stores records of up to 256 MiB`}`) +
  '; `skip` puts such records into a file of their own', { filename, offset })

/**
 * @param {string} filename of what is imported
 * @param {number} start in bytes
 * @param {number} end in bytes
 * @param {string} reason what was found at the start
 */
const corruptOldFile = (filename, start, end, reason) => createError('flumelog:corrupt',
  `${filename}: corrupt from offset ${start} to ${end}: ${reason}; \`skip\` imports what is before and after it`, { filename, offset: start })

/** @param {string} filename of async-append-only-log */
const unfinishedCompaction = (filename) => createError('flumelog:invalid',
  `${filename}: a compaction was interrupted, so the file contains records twice; open it with async-append-only-log first, which completes it`, { filename })

/** @param {string} filename of the log that is to be made */
const beingImported = (filename) => createError('flumelog:locked',
  `${filename}: another process is importing into it; wait until it is done`, { filename })

/** @param {string} filename of the export */
const beingExported = (filename) => createError('flumelog:locked',
  `${filename}: another process is exporting to it; wait until it is done`, { filename })

/**
 * @param {string} filename of what is read
 * @param {number} offset in it
 * @param {string} reason
 */
const notARecord = (filename, offset, reason) => createError('flumelog:invalid',
  `${filename}: no record at offset ${offset}: ${reason}`, { filename, offset })

/**
 * @param {string} filename of a log that is exported
 * @param {number} seq
 * @param {string} reason
 */
const cannotExport = (filename, seq, reason) => createError('flumelog:invalid',
  `${filename}: the record at offset ${seq} cannot be exported: ${reason}`, { filename, offset: seq })

/** @param {string} filename of a log that is exported */
const exportTooLarge = (filename) => createError('flumelog:too-large',
  `${filename}: a file of flumelog-offset-32 cannot exceed 4 GiB; export the log to flumelog-offset-48`, { filename })

/**
 * @param {string} filename
 * @param {string} folder
 */
const oldIndexes = (filename, folder) => createError('EEXIST',
  `EEXIST: ${filename}: not imported: ${folder} has indexes of the old file, whose offsets are others; remove db2/indexes and db2/jit of ssb-db2, which builds them again`, { filename, path: folder })

/**
 * @param {string} filename of the log that is to be made
 * @param {string[]} views names of files and folders beside it
 */
const oldViews = (filename, views) => createError('EEXIST',
  `EEXIST: ${filename}: not imported: views of flumedb beside it (${views.join(', ')}) have offsets of another log; remove them, and flumedb builds them again, or import into an empty folder; \`keepIndexes\` imports nevertheless`, { filename, path: filename })

module.exports = { ...errors, unknownFormat, ambiguousFormat, cannotImport, corruptOldFile, unfinishedCompaction, beingImported, beingExported, notARecord, cannotExport, exportTooLarge, oldIndexes, oldViews }
