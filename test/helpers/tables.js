'use strict'

// Parses tables of Markdown pages, for tests that compare them with the code.

/**
 * @param {string} page
 * @param {string} above the line under which the table is the first one
 * @returns {string[][]} its rows, the heading first
 */
function tableUnder (page, above) {
  const at = page.indexOf(`\n${above}\n`)
  if (at === -1) throw new Error(`the page has no line “${above}”`)
  const lines = page.slice(at).split('\n')
  const start = lines.findIndex(line => line.startsWith('|'))
  const end = lines.findIndex((line, i) => i > start && !line.startsWith('|'))
  const rows = lines.slice(start, end).map(line => line.split('|').slice(1, -1).map(cell => cell.trim()))
  return [rows[0], ...rows.slice(2)]
}

module.exports = { tableUnder }
