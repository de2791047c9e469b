'use strict'

// Rows of comma-separated values.

/**
 * @param {string | undefined} found JSON
 * @returns {string | null} null: nothing is there
 */
function cellText (found) {
  if (found === undefined || found === 'null') return null
  return found[0] === '"' ? JSON.parse(found) : found
}

/**
 * @param {Array<string | null>} cells
 * @returns {string} quoted as in RFC 4180; an empty text is "", and so is a single cell without a value: readers skip empty
 *   lines, and the row would be lost
 */
function rowOf (cells) {
  const row = cells.map(cell => cell === null ? '' : cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell).join(',')
  return row === '' ? '""' : row
}

module.exports = { cellText, rowOf }
