'use strict'

// Checks the options of imports and exports.

const { chunk, format, layout, workFor } = require('flumelog-random-access-file/blocks')
const errors = require('./errors')
const { NAMES } = require('./formats')

/**
 * @typedef {import('flumelog-random-access-file/blocks').Work} Work
 * @typedef {import('flumelog-random-access-file/blocks').WorkOptions} WorkOptions
 * @typedef {import('./formats').Format | 'flumelog-offset'} FormatName
 *
 * @typedef {object} FromOptions
 * @property {FormatName} [from] the format of the file; with `flumelog-offset`, the number of bits is detected. Default: detected
 *
 * @typedef {object} ReadOnlyOptions
 * @property {(torn: import('./reader').Torn) => void} [onTorn] called at the end if an interrupted write has left something there
 * @typedef {FromOptions & ReadOnlyOptions & WorkOptions} ReadOptions
 *
 * @typedef {object} ImportOnlyOptions
 * @property {boolean} [keepDeleted] keep deleted records, as deleted ones of the same size; default false: they are left out
 * @property {boolean} [skip] put what cannot be stored, because it is too large, empty or corrupt, into `TARGET.skipped` (see format.md);
 *   default false: the import stops there
 * @property {boolean} [large] store records that do not fit into a block, of up to 256 MiB, in chunks: programs that open the new log need `large`,
 *   too; default false
 * @property {number} [blockSize] of the new log, in bytes; default 65536
 * @property {number} [oldBlockSize] of a file of async-append-only-log, in bytes, if it is not a usual one
 * @property {boolean} [keepIndexes] import although indexes of ssb-db2, or views of flumedb, are beside the new log; default false: `EEXIST`, since they have old offsets
 * @typedef {FromOptions & ImportOnlyOptions & WorkOptions} ImportOptions
 *
 * @typedef {object} ExportOnlyOptions
 * @property {FormatName} to the format; `flumelog-offset` is the one with 48 bits
 * @property {string[]} [fields] for CSV: paths in JSON records, such as `value.author`, one for each column
 * @typedef {ExportOnlyOptions & WorkOptions} ExportOptions
 */

const DEFAULT_BLOCK_SIZE = 65536

const readWork = workFor('readRecords', [], ['from', 'onTorn'])
const importWork = workFor('importLog', ['keepDeleted', 'skip', 'large', 'keepIndexes'], ['from', 'blockSize', 'oldBlockSize'])
const exportWork = workFor('exportLog', [], ['to', 'fields'])

/**
 * @param {ReadOptions} options
 * @returns {Work}
 */
function readOptions (options) {
  const work = readWork(options)
  const { from, onTorn } = options
  if (from !== undefined) mustBeFormat('from', from)
  if (onTorn !== undefined && typeof onTorn !== 'function') throw errors.invalid(`onTorn must be a function; it is ${format(onTorn)}`)
  return work
}

/**
 * @param {ImportOptions} options
 * @returns {{ work: Work, settings: import('./import-log').Settings }}
 */
function importOptions (options) {
  const work = importWork(options)
  const { from, keepDeleted = false, skip = false, large = false, keepIndexes = false, blockSize = DEFAULT_BLOCK_SIZE, oldBlockSize } = options
  if (from !== undefined) mustBeFormat('from', from)
  if (!Number.isInteger(blockSize) || blockSize < layout.MIN_BLOCK_SIZE || blockSize > layout.MAX_BLOCK_SIZE) {
    throw errors.invalid(`blockSize must be an integer from ${layout.MIN_BLOCK_SIZE} to ${layout.MAX_BLOCK_SIZE}; it is ${format(blockSize)}`)
  }
  if (large && blockSize < chunk.MIN_BLOCK_SIZE) throw errors.invalid(`large requires a blockSize of ${chunk.MIN_BLOCK_SIZE} or more; it is ${blockSize}`)
  mustBeOldBlockSize(oldBlockSize)
  return { work, settings: { from, keepDeleted, skip, large, keepIndexes, blockSize, oldBlockSize } }
}

/** @param {unknown} oldBlockSize */
function mustBeOldBlockSize (oldBlockSize) {
  if (oldBlockSize !== undefined && !(Number.isInteger(oldBlockSize) && Number(oldBlockSize) > 0)) throw errors.invalid(`oldBlockSize must be an integer, 1 or more; it is ${format(oldBlockSize)}`)
}

/**
 * @param {ExportOptions} options
 * @returns {Work}
 */
function exportOptions (options) {
  const work = exportWork(options)
  const { to, fields } = options
  mustBeFormat('to', to)
  if (to === 'csv' && (!Array.isArray(fields) || fields.length === 0 || !fields.every(isPath))) {
    throw errors.invalid(`fields must be an array of paths, such as ['at', 'value.author']; it is ${format(fields)}`)
  }
  if (to !== 'csv' && fields !== undefined) throw errors.invalid('fields are for csv')
  return work
}

/** @param {unknown} field */
function isPath (field) {
  return typeof field === 'string' && field.split('.').every(key => key !== '')
}

/**
 * @param {string} option
 * @param {unknown} name
 */
function mustBeFormat (option, name) {
  if (!NAMES.includes(/** @type {string} */ (name))) throw errors.invalid(`${option} must be ${NAMES.slice(0, -1).join(', ')} or ${NAMES.at(-1)}; it is ${format(name)}`)
}

module.exports = { readOptions, importOptions, exportOptions, mustBeOldBlockSize }
