'use strict'

// Errors of this interface: its own messages and codes, since its callers test them. The others are those of the log.

const { errors } = require('flumelog-random-access-file/blocks')

const { createError, invalid } = errors

const deleted = () => createError('ERR_AAOL_DELETED_RECORD', 'Record has been deleted')

/** @param {unknown} offset */
const notANumber = (offset) => createError('ERR_AAOL_INVALID_OFFSET', `Offset ${String(offset)} is not a number`)

/** @param {number} offset */
const negative = (offset) => createError('ERR_AAOL_INVALID_OFFSET', `Offset ${offset} is negative`)

/** @param {number} offset */
const noRecord = (offset) => createError('ERR_AAOL_INVALID_OFFSET', `No record starts at offset ${offset}`)

/**
 * @param {number} offset
 * @param {number} size of the log
 */
const outOfBounds = (offset, size) => createError('ERR_AAOL_OFFSET_OUT_OF_BOUNDS', `Offset ${offset} is beyond log size ${size}`)

const tooLarge = () => createError('flumelog:too-large', 'Data to be appended is larger than block size')

/**
 * @param {string} filename
 * @param {unknown} cause
 */
const validateThrew = (filename, cause) => createError('flumelog:invalid',
  `${filename}: validateRecord threw, so the log was not opened, and nothing of it was changed; it must return true or false: ${String(cause)}`, { filename, cause, isValidateError: true })

const noArray = () => invalid('appendTransaction expects first argument to be an array')

const compacting = () => invalid('Cannot delete while compaction is in progress')

const boundedStream = () => invalid('Compaction cannot run if there are live streams configured with opts.lt or opts.lte')

/** @param {string} filename */
const mustImport = (filename) => createError('flumelog:not-a-log',
  `${filename}: this is a file of async-append-only-log; open it with the option import to import it, which keeps the old file, ` +
  `or rename it and run: flumelog import RENAMED ${filename} --keep-deleted`, { filename })

/**
 * @param {string} filename
 * @param {string} kept
 */
const importInterrupted = (filename, kept) => createError('flumelog:not-a-log',
  `${filename}: the import of ${kept} was interrupted; open the log with the option import to start it again`, { filename })

/**
 * @param {string} filename
 * @param {string} kept
 */
const keptExists = (filename, kept) => createError('EEXIST',
  `EEXIST: ${filename}: this is a file of async-append-only-log, and ${kept} is there already, from an earlier import; move one of them`, { filename, path: kept })

/** @param {string} filename */
const unfinished = (filename) => createError('flumelog:not-a-log',
  `${filename}: async-append-only-log was interrupted while it compacted this file, and has to finish that first: open it there once`, { filename })

/**
 * @param {string} filename
 * @param {string} folder
 */
const oldIndexes = (filename, folder) => createError('EEXIST',
  `EEXIST: ${filename}: not imported: ${folder} has indexes of the old file, whose offsets are others; remove db2/indexes and db2/jit of ssb-db2, which builds them again`, { filename, path: folder })

module.exports = { ...errors, deleted, notANumber, negative, noRecord, outOfBounds, tooLarge, validateThrew, noArray, compacting, boundedStream, mustImport, importInterrupted, keptExists, unfinished, oldIndexes }
