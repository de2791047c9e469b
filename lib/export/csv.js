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
 * @returns {string} quoted as in RFC 4180; an empty text is "", and so is a row with nothing in it, which would be an empty line
 */
function rowOf (cells) {
  const row = cells.map(cell => cell === null ? '' : cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell).join(',')
  return row === '' ? '""' : row
}

module.exports = { cellText, rowOf }
